/**
 * Every request of every Bot fails once, in every way in which Medplum can fail: nothing is left half done, nobody is told
 * that something was done which was not, and the same call again, or the next run, does it.
 */
import './config.ts';
import { randomUUID } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Appointment, Encounter, Resource, ResourceType, Slot, Task } from '@medplum/fhirtypes';
import { handler as book } from '../../bots/booking/book.ts';
import { handler as cancelJob } from '../../bots/booking/cancel-booking-job.ts';
import { handler as endRequests } from '../../bots/booking/end-requests.ts';
import { handler as enqueue } from '../../bots/booking/enqueue-booking.ts';
import { handler as handlePatient } from '../../bots/booking/handle-patient-change.ts';
import { handler as hold } from '../../bots/booking/hold.ts';
import { handler as patch } from '../../bots/booking/patch.ts';
import { handler as processBooking } from '../../bots/booking/process-booking.ts';
import { handler as tagEncounter } from '../../bots/booking/tag-encounter.ts';
import { handler as validateAppointment } from '../../bots/booking/validate-appointment.ts';
import { handler as publishSlots } from '../../bots/calendar/publish-slots.ts';
import { handler as reconcile } from '../../bots/calendar/reconcile.ts';
import { handler as syncSlots } from '../../bots/calendar/sync-slots.ts';
import { handler as validateSlot } from '../../bots/calendar/validate-slot.ts';
import { resolveCollisions } from '../../bots/lib/booking/collisions.ts';
import type { BotResponse, RequestFailure } from '../../bots/lib/medplum.ts';
import { followDeletions } from '../../bots/lib/notifications/events/deletions.ts';
import { handler as recordEvents } from '../../bots/notifications/record-events.ts';
import { handler as removeOldEvents } from '../../bots/notifications/remove-old-events.ts';
import { handler as restartHandshake } from '../../bots/notifications/restart-handshake.ts';
import { handler as retryDeliveries } from '../../bots/notifications/retry-deliveries.ts';
import { handler as operate } from '../../bots/notifications/subscription-operations.ts';
import { handler as writeSubscription } from '../../bots/notifications/write-subscription.ts';
import { taskOf } from '../../core/booking/jobs/booking-task.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { LEASE } from '../../core/notifications/delivery/delivery-state.ts';
import { deletionTask } from '../../core/notifications/events/event.ts';
import {
  aPatient,
  aPortal,
  aSlot,
  bookable,
  booked,
  cancelling,
  eventOf,
  extension,
  inMinutes,
  patchOf,
  proposed,
  tagsOf,
} from './booking/fixtures.ts';
import { later, withClock } from './clock.ts';
import { config, configured } from './config.ts';
import { addEvents, anAppointment, eventAbout, subscribe, toPortal } from './lib/notifications/outboxes.ts';
import { type Asked, withMedplum } from './medplum.ts';
import { administrator, eventOf as called, knownCaller } from './notifications/callers.ts';

const medplum = withMedplum();

/** Sets how long Bots wait for a transaction that may still be committed. */
function setPauses(setTimeout: () => Promise<undefined>): void {
  Object.assign(timers, { setTimeout });
  syncBuiltinESMExports();
}
const { setTimeout } = timers as { setTimeout: () => Promise<undefined> };
beforeAll(() => setPauses(async () => undefined));
afterAll(() => setPauses(setTimeout));

const server = () => medplum().medplum;
const event = (input: unknown) => eventOf(input) as never;

const types: readonly ResourceType[] = [
  ...(['Appointment', 'Slot', 'Task', 'Communication', 'Subscription', 'Encounter', 'Patient'] as const),
  ...(['Schedule', 'HealthcareService'] as const),
];

const clear = () => medplum().clear(types);

afterEach(() => {
  medplum().interfere(() => undefined);
  return clear();
});

/** What of a resource a user would see. */
function shown(resource: Resource): string {
  const elements = new Map<string, unknown>(Object.entries(resource));
  const notified = ['status', 'active', 'comment', 'start', 'end', 'priority', 'reason', 'topic'];
  const lists = ['output', 'link', 'participant', 'slot', ...(resource.resourceType === 'Slot' ? ['extension'] : [])];
  const counts = lists.map((name) => {
    const list = elements.get(name);
    return Array.isArray(list) ? list.length : 0;
  });
  return JSON.stringify([
    resource.resourceType,
    notified.map((name) => elements.get(name)),
    counts,
    resource.meta?.tag?.length,
  ]);
}

/** Rows that say how far the service is, and how often something was counted. */
const isInternal = (resource: Resource): boolean => /"code":"(quota|publish|look)/.test(JSON.stringify(resource));

const stored = async (): Promise<string[]> =>
  (await medplum().all(types))
    .filter((resource) => !isInternal(resource))
    .map(shown)
    .sort();

/** A call of a Bot whose stage is set. */
type Act = () => Promise<() => Promise<unknown>>;

const confirmTask = (focus: Appointment, minutes: number): Task => ({
  resourceType: 'Task',
  status: 'requested',
  intent: 'order',
  priority: 'routine',
  code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'confirm' }] },
  authoredOn: inMinutes(-60),
  focus: { reference: `Appointment/${focus.id}` },
  restriction: { period: { end: inMinutes(minutes) } },
});

const request = async (minutes: number) => {
  const deadline = extension('LocalConfirmationDeadline', { valueInstant: inMinutes(minutes) });
  const made = await booked(medplum(), { id: 'portal' }, { status: 'pending', extension: [deadline] });
  await medplum().create<Task>(confirmTask(made.appointment, minutes));
};

const job = async () => {
  const { portal, patient, slot } = await bookable(medplum());
  const requester = { reference: `ClientApplication/${portal.id}` };
  const of = { requestor: portal.id, requester, role: 'requestor' as const };
  return { portal, task: await medplum().create<Task>(taskOf(proposed(patient, [slot]), of, new Map(), config)) };
};

/** Calls that write in one transaction. */
const inOne: Readonly<Record<string, Act>> = {
  book: async () => {
    const { portal, patient, slot } = await bookable(medplum());
    const identifier = [{ system: 'urn:portal', value: randomUUID() }];
    return () => book(server(), eventOf(proposed(patient, [slot], { identifier }), portal));
  },
  hold: async () => {
    const { portal, patient, slot } = await bookable(medplum());
    const identifier = [{ system: 'urn:portal', value: randomUUID() }];
    return () => hold(server(), eventOf(proposed(patient, [slot], { identifier }), portal));
  },
  patch: async () => {
    const portal = await aPortal(medplum());
    const { appointment } = await booked(medplum(), portal);
    return () => patch(server(), eventOf<unknown>(patchOf(appointment.id, [cancelling]), portal));
  },
  'cancel-booking-job': async () => {
    const { portal, task } = await job();
    await medplum().change<Task>(task, { meta: tagsOf(portal) });
    const parameter = [{ name: 'id', valueId: task.id }];
    return () => cancelJob(server(), eventOf<unknown>({ resourceType: 'Parameters', parameter }, portal));
  },
  'end-requests, when one is over': async () => {
    await request(-1);
    return () => endRequests(server());
  },
  'end-requests, when one is urgent': async () => {
    await request(10);
    return () => endRequests(server());
  },
  'handle-patient-change': async () => {
    const portal = await aPortal(medplum());
    const identifier = [{ system: 'urn:kvnr', value: randomUUID() }];
    const second = await aPatient(medplum(), portal, { identifier });
    await aPatient(medplum(), portal, { identifier });
    const { body } = await medplum().send<{ profile: { id: string } }>('GET', 'auth/me');
    return () => configured({ gatewayClient: body.profile.id }, () => handlePatient(server(), event(second)));
  },
  'tag-encounter': async () => {
    const { appointment, patient } = await booked(medplum(), await aPortal(medplum()));
    const encounter = await medplum().create<Encounter>({
      resourceType: 'Encounter',
      status: 'planned',
      class: { code: 'AMB' },
      subject: { reference: `Patient/${patient.id}` },
      appointment: [{ reference: `Appointment/${appointment.id}` }],
    });
    return () => tagEncounter(server(), event(encounter));
  },
  collisions: async () => {
    const { schedule } = await booked(medplum(), await aPortal(medplum()));
    const over = await aSlot(medplum(), schedule, '09:15', '09:45', { status: 'busy' });
    return () => resolveCollisions(server(), over);
  },
  'validate-slot': async () => {
    const { schedule } = await bookable(medplum());
    const { start, end, ...over } = await aSlot(medplum(), schedule, '12:00', '12:30', { status: 'busy' });
    await medplum().fhir('DELETE', `Slot/${over.id}`);
    const [free] = await medplum().find<Slot>(`Slot?schedule=Schedule/${schedule.id}`);
    return () => validateSlot(server(), event({ ...over, start: free?.start, end: free?.end }));
  },
  'record-events': async () => {
    await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    return () => recordEvents(server(), event(appointment));
  },
  'restart-handshake': async () => {
    const { subscription } = await subscribe(medplum(), { status: 'requested', outbox: { status: 'failed' } });
    return () => restartHandshake(server(), event(subscription));
  },
  'write-subscription': async () => {
    const { id } = await subscribe(medplum(), { owner: administrator.id });
    const input = { interaction: 'update', id, resource: toPortal({ id, status: 'active', reason: 'Changed' }) };
    return () => writeSubscription(server(), called(administrator, input));
  },
  'subscription-operations': async () => {
    const outbox = { events: 2, delivered: 1, status: 'on-hold' as const, until: Date.parse('2040-01-01') };
    const { id } = await subscribe(medplum(), { outbox });
    return () => operate(server(), called(administrator, { operation: 'deliver', id }));
  },
};

/** Calls that end a job for good when Medplum does not accept the booking. */
const jobs: Readonly<Record<string, Act>> = {
  'process-booking': async () => {
    const { task } = await job();
    return () => processBooking(server(), event(task));
  },
  'process-booking, by its clock': async () => {
    await job();
    return () => later(6_000, () => processBooking(server(), event({ resourceType: 'Bot', id: 'clock' })));
  },
};

/** Calls that write one thing after the other: each of them whole. */
const inSteps: Readonly<Record<string, Act>> = {
  'sync-slots': async () => {
    const { appointment } = await booked(medplum(), await aPortal(medplum()));
    const cancelled = await medplum().change<Appointment>(appointment, { status: 'cancelled' });
    return () => syncSlots(server(), event(cancelled));
  },
  'sync-slots, a deletion': async () => {
    const { appointment } = await booked(medplum(), await aPortal(medplum()));
    await medplum().fhir('DELETE', `Appointment/${appointment.id}`);
    return () => syncSlots(server(), event({ deletedResource: appointment }));
  },
  'publish-slots, a Slot that somebody deletes': async () => {
    const { slot } = await booked(medplum(), await aPortal(medplum()));
    await medplum().fhir('DELETE', `Slot/${slot.id}`);
    return () => publishSlots(server(), event({ deletedResource: slot }));
  },
  reconcile: async () => {
    const { appointment } = await booked(medplum(), await aPortal(medplum()));
    await medplum().change<Appointment>(appointment, { status: 'cancelled' });
    return () => reconcile(server());
  },
  'follow deletions': async () => {
    await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await medplum().create<Task>(deletionTask(appointment.id, config));
    await medplum().fhir('DELETE', `Appointment/${appointment.id}`);
    return () => later(6_000, () => followDeletions(server(), Date.now() + 6_000));
  },
  'remove-old-events': async () => {
    const subscriber = await subscribe(medplum(), { outbox: { events: 1, delivered: 1 } });
    const old = { ...eventAbout(await anAppointment(medplum()), 1), timestamp: '2020-01-01T00:00:00Z' };
    await addEvents(medplum(), subscriber, old);
    return () => later(LEASE + 1_000, () => removeOldEvents(server()));
  },
  'retry-deliveries': async () => {
    await subscribe(medplum(), { outbox: { status: 'on-hold', until: 0 } });
    await anAppointment(medplum());
    return () => retryDeliveries(server());
  },
};

/** Calls each of which writes something of its own. */
const eachTime: Readonly<Record<string, Act>> = {
  'write-subscription, a new one': async () => {
    const caller = await knownCaller(medplum());
    return () => writeSubscription(server(), called(caller, { interaction: 'create', resource: toPortal() }));
  },
  'enqueue-booking': async () => {
    const { portal, patient, slot } = await bookable(medplum());
    return () => enqueue(server(), eventOf<unknown>(proposed(patient, [slot]), portal));
  },
  'validate-appointment, a deletion': async () => {
    const { appointment } = await booked(medplum(), await aPortal(medplum()), { status: 'cancelled' });
    const headers = { 'X-Medplum-Deleted-Resource': `Appointment/${appointment.id}` };
    return () => validateAppointment(server(), eventOf(appointment, undefined, headers));
  },
};

const outcome = {
  resourceType: 'OperationOutcome',
  issue: [{ severity: 'error', code: 'invalid', details: { text: 'The server does not like it.' } }],
};
const status =
  (code: number, body: object = {}) =>
  async (): Promise<BotResponse> => ({ status: code, body });
const silence = async (): Promise<RequestFailure> => 'no-answer';
const half = async ({ entries }: Asked): Promise<BotResponse> => ({
  status: 200,
  body: { resourceType: 'Bundle', entry: entries.map(() => ({ response: { status: '500' } })) },
});
const empty = status(200, { resourceType: 'Bundle', type: 'batch-response' });
/** What was asked for is done all the same. */
const lost = async ({ bundle, authorization }: Asked): Promise<RequestFailure> => {
  await medplum().fhir('POST', '', bundle, { authorization });
  return 'no-answer';
};

type Fault = (asked: Asked) => Promise<BotResponse | RequestFailure>;
const faultsOf = ({ type, entries }: Asked): Readonly<Record<string, Fault>> => ({
  'is refused': status(403),
  'is not answered': silence,
  ...(type === 'batch' && { 'fails in part': half, 'is answered with nothing': empty }),
  ...(type === 'transaction' && { 'is overtaken': status(412, { ...outcome, issue: [] }) }),
  ...(type !== 'read' &&
    entries.some((one) => !one.startsWith('GET ')) && {
      'is invalid': status(400, outcome),
      'has its answer lost': lost,
    }),
});

/** Calls a Bot; gives why it failed, by an error or by its answer. */
async function attempt(run: () => Promise<unknown>): Promise<string | undefined> {
  const { log } = console;
  console.log = () => undefined;
  try {
    const answer = (await run()) as Resource | undefined;
    return answer?.resourceType === 'OperationOutcome' ? (answer.issue[0]?.diagnostics ?? '') : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    console.log = log;
  }
}

/** The requests of a call when nothing fails, and what it leaves. */
async function rehearsal(act: Act) {
  const requests: Asked[] = [];
  const run = await act();
  const before = await stored();
  medplum().interfere((asked) => {
    requests.push(asked);
    return undefined;
  });
  expect(await attempt(run)).toBeUndefined();
  medplum().interfere(() => undefined);
  const after = await stored();
  expect(after).not.toEqual(before);
  return { before, after, requests };
}

async function expectAll(act: Act, { isOne = true, isRepeatable = true, without = '' } = {}): Promise<void> {
  const { before, after, requests } = await rehearsal(act);
  for (const [index, asked] of requests.entries()) {
    for (const [name, fault] of Object.entries(faultsOf(asked)).filter(([one]) => one !== without)) {
      await clear();
      const run = await act();
      let count = 0;
      medplum().interfere((one) => (count++ === index ? fault(one) : undefined));
      const why = await attempt(run);
      medplum().interfere(() => undefined);
      const left = await stored();
      const scene = `request ${index} (${asked.entries[0]}) ${name}`;
      if (isOne) {
        expect([scene, [before, after].map(String)]).toEqual([scene, expect.arrayContaining([String(left)])]);
      }
      if (why !== undefined && isOne && name !== 'has its answer lost' && index <= requests.findIndex(isWrite)) {
        expect([scene, left]).toEqual([scene, before]);
      }
      // Whoever is refused is told why, in a sentence.
      expect([scene, why ?? 'Done.']).toEqual([scene, expect.stringMatching(/\w{3}.*[.:)]$/s)]);
      if (isRepeatable) {
        const again = await attempt(run);
        expect([scene, again, await stored()]).toEqual([scene, undefined, after]);
      }
    }
  }
}

const isWrite = ({ type, entries }: Asked) => type !== 'read' && entries.some((one) => !one.startsWith('GET '));

describe('a request that fails once', () => {
  it.each(Object.entries(inOne))('of %s leaves all or nothing, and the next call does it', (_, act) => expectAll(act));

  it.each(Object.entries(jobs))('of %s leaves all or nothing, and the next run does it', (_, act) =>
    expectAll(act, { without: 'is invalid' }),
  );

  it.each(Object.entries(inSteps))('of %s is made up for by the next run', (_, act) =>
    expectAll(act, { isOne: false }),
  );

  it.each(Object.entries(eachTime))('of %s leaves all or nothing', (_, act) => expectAll(act, { isRepeatable: false }));
});

/** What tries as long as there is time, which stands still here, is left out. */
const { 'record-events': _events, ...others } = inOne;
const synced = Object.entries(inSteps).filter(([name]) => name.startsWith('sync-slots'));
const bounded = { ...others, ...Object.fromEntries(synced) };

it.each(Object.entries({ ...bounded, ...jobs }))(
  'others who are faster each time have %s give up in the end, with nothing done',
  async (_, act) => {
    const run = await act();
    const before = await stored();
    medplum().interfere((asked) =>
      isWrite(asked) && asked.type === 'transaction' ? { status: 412, body: { ...outcome, issue: [] } } : undefined,
    );
    const why = await withClock(() => attempt(run));
    medplum().interfere(() => undefined);
    expect(why ?? 'Left to others.').toMatch(/\w{3}.*\.$/s);
    expect(await stored()).toEqual(before);
  },
);
