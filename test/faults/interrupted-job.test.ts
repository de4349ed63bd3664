import { beforeAll, expect, it } from '@jest/globals';
import type { Installation } from '../lib/installation.ts';
import { until } from '../lib/until.ts';
import { prepareInstallation } from './installation.ts';
import {
  about,
  type Fault,
  type FaultyProxy,
  faults,
  isRead,
  isTransaction,
  once,
  type Passing,
  startProxy,
} from './proxy.ts';

let installation: Installation;
let proxy: FaultyProxy;
let fixtures: typeof import('../contract/fixtures.ts');
let http: typeof import('../contract/http.ts');
let consistent: typeof import('../contract/races/consistent.ts');

beforeAll(async () => {
  proxy = await startProxy();
  installation = await prepareInstallation({ SANDBOX_BOT_BASE_URL: proxy.url, SANDBOX_DELAY_SCALE: '0.02' });
  proxy.target = installation.medplumUrl;
  [fixtures, http, consistent] = await Promise.all([
    import('../contract/fixtures.ts'),
    import('../contract/http.ts'),
    import('../contract/races/consistent.ts'),
  ]);
  await installation.start();
});

/** The jobs of this file that are over, by their ids, which are those of their Tasks. */
const over: string[] = [];

/** The requests of the Bot that carries a job out, in their order; those that are over may still be looked at. */
const isTaskRead = ({ body }: Passing): boolean =>
  body.includes('"url":"Task?_id=') && !over.some((id) => body.includes(id));
const isBooking = (passing: Passing): boolean => isTransaction(passing) && passing.body.includes('Appointment');
const isStoring = (passing: Passing): boolean => isTransaction(passing) && passing.body.includes('"requested"');
const isCarryingOut = (passing: Passing): boolean => isBooking(passing) && !isStoring(passing);

type Clinic = Awaited<ReturnType<typeof fixtures.aClinic>>;

/** Hands a booking in and gives the path of its job. */
async function submit({ patient, slot }: Clinic): Promise<string> {
  const answer = await fixtures.book(fixtures.proposed(patient, [slot]), 'portal-a', { prefer: 'respond-async' });
  expect(answer.status).toBe(202);
  return (answer.headers.get('content-location') ?? '').replace(/^.*(?=\/async\/)/, '');
}

const ended = (path: string) =>
  until(
    () => http.request('portal-a', 'GET', path),
    ({ status }) => status !== 202,
  );

/** Lets an accepted job come to the point that is meant, and holds its request there. */
function holdAt({ slot }: Clinic, fault: Fault, isMeant: (passing: Passing) => boolean): Promise<void> {
  const reached = Promise.withResolvers<void>();
  const hold: Fault = async (forward, socket) => {
    await fault(forward, socket);
    reached.resolve();
  };
  const isOfJob = (passing: Passing): boolean =>
    isJobRunning && isMeant(passing) && (isTaskRead(passing) || about(slot, isMeant)(passing));
  let isJobRunning = false;
  const choose = once(hold, isOfJob);
  proxy.choose = (passing) => {
    isJobRunning ||= isTaskRead(passing);
    return choose(passing);
  };
  return reached.promise;
}

const withhold: Fault = async () => undefined;

it.each<[string, Fault, (passing: Passing) => boolean]>([
  ['before it has read its Task', withhold, isTaskRead],
  ['before it has read what it depends on', withhold, isRead],
  ['before its transaction arrives', withhold, isCarryingOut],
  ['after its transaction, before the answer', faults.silent, isCarryingOut],
])('killed %s: after the restart the job runs to its end, once', async (_, fault, isMeant) => {
  const clinic = await fixtures.aClinic();
  const reached = holdAt(clinic, fault, isMeant);
  const path = await submit(clinic);
  await reached;
  await installation.kill();
  proxy.choose = () => undefined;
  await installation.start();
  const answer = await ended(path);
  over.push(path.slice('/async/'.length));
  expect(answer.status).toBe(200);
  expect(await fixtures.appointmentsOn(clinic.slot)).toMatchObject([{ id: http.resourceIn('Appointment', answer).id }]);
  expect(await consistent.inconsistencies(clinic.schedule)).toEqual([]);
});

it('its transaction fails, or its answer is lost: the clock starts the job again, and it books once', async () => {
  const wanted = [faults.cut, faults.lost, faults[500], faults[429]];
  const clinics = await Promise.all(wanted.map(() => fixtures.aClinic()));
  const isOver = new Set<number>();
  proxy.choose = (passing) => {
    const index = clinics.findIndex(({ slot }) => isCarryingOut(passing) && passing.body.includes(`Slot/${slot.id}`));
    const fault = isOver.has(index) ? undefined : wanted[index];
    if (fault) {
      isOver.add(index);
    }
    return fault;
  };
  const paths = await Promise.all(clinics.map((clinic) => submit(clinic)));
  const answers = await Promise.all(paths.map((path) => ended(path)));
  expect(isOver.size).toBe(wanted.length);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (const { slot } of clinics) {
    expect(await fixtures.appointmentsOn(slot)).toHaveLength(1);
  }
  expect(await consistent.inconsistencies(...clinics.map(({ schedule }) => schedule))).toEqual([]);
});
