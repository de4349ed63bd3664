import { randomUUID } from 'node:crypto';
import { beforeAll, expect, it } from '@jest/globals';
import type { Patient, Schedule, Slot } from '@medplum/fhirtypes';
import type { Installation } from '../lib/installation.ts';
import { eventually } from '../lib/until.ts';
import { prepareInstallation } from './installation.ts';

let installation: Installation;
let fixtures: typeof import('../contract/fixtures.ts');
let http: typeof import('../contract/http.ts');
let consistent: typeof import('../contract/races/consistent.ts');

beforeAll(async () => {
  installation = await prepareInstallation({ SANDBOX_DELAY_SCALE: '0.01' });
  [fixtures, http, consistent] = await Promise.all([
    import('../contract/fixtures.ts'),
    import('../contract/http.ts'),
    import('../contract/races/consistent.ts'),
  ]);
  await installation.start();
});

/** A booking that was sent, and what was answered before the process was killed. */
interface Sent {
  readonly body: ReturnType<typeof fixtures.proposed>;
  /** Path of the job, if it was accepted to be carried out later. */
  readonly job?: string | undefined;
  /** Status of the answer; `undefined` if there was none. */
  readonly status?: number | undefined;
}

const WORKERS = 8;

/** Bookings of all kinds one after another in eight threads, until nobody answers any more. */
async function load(
  schedule: Schedule,
  slots: readonly Slot[],
  patient: Patient,
  onAnswer: () => void,
): Promise<Sent[]> {
  const sent: Sent[] = [];
  let next = 0;
  const long = await fixtures.aSlot(schedule, 1000, 1000 + 10 * slots.length);
  const bodyOf = (index: number) => {
    const identifier = [{ system: 'urn:portal-a', value: randomUUID() }];
    const from = 1000 + index * 10;
    return index % 2 === 0
      ? fixtures.proposed(patient, slots.slice(index, index + 1), { from: index * 10, to: index * 10 + 10, identifier })
      : fixtures.proposed(patient, [long], { from, to: from + 10, identifier });
  };
  const worker = async (): Promise<void> => {
    while (next < slots.length) {
      const index = next++;
      const body = bodyOf(index);
      const headers: Record<string, string> = index % 3 === 0 ? { prefer: 'respond-async' } : {};
      const response = await fixtures.book(body, 'portal-a', headers).catch(() => undefined);
      const job = response?.headers.get('content-location')?.replace(/^.*(?=\/async\/)/, '');
      sent.push({ body, job, status: response?.status });
      if (!response) {
        return;
      }
      onAnswer();
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  return sent;
}

const appointmentsOf = ({ body }: Sent) =>
  fixtures.stored('Appointment', `identifier=urn:portal-a|${body.identifier?.[0]?.value}`);

it.each([1, 7, 23])(
  'killed at the %i. answer of bookings under load: nothing is lost, nothing is there twice',
  async (nth) => {
    const [schedule, patient] = await Promise.all([fixtures.aSchedule(), fixtures.aPatient()]);
    const slots = await Promise.all(
      Array.from({ length: 60 }, (_, index) => fixtures.aSlot(schedule, index * 10, index * 10 + 10)),
    );
    let answers = 0;
    let killed: Promise<void> | undefined;
    const sent = await load(schedule, slots, patient, () => {
      answers++;
      killed ??= answers === nth ? installation.kill() : undefined;
    });
    await killed;
    await installation.start();

    for (const { job } of sent.filter((one) => one.job)) {
      const response = await eventually(() => http.request('portal-a', 'GET', job ?? '')).is(
        ({ status }) => status !== 202,
      );
      expect(response.status).toBe(200);
    }
    for (const one of sent) {
      const found = await appointmentsOf(one);
      expect(found.length).toBeLessThanOrEqual(1);
      expect(found).toHaveLength(one.status === 201 || one.job ? 1 : found.length);
    }
    expect(await consistent.inconsistencies(schedule)).toEqual([]);

    const retried = await Promise.all(sent.map(({ body }) => fixtures.book(body)));
    expect(retried.map(({ status }) => status).filter((status) => status !== 200 && status !== 201)).toEqual([]);
    for (const one of sent) {
      expect(await appointmentsOf(one)).toHaveLength(1);
    }
    expect(await consistent.inconsistencies(schedule)).toEqual([]);
  },
);
