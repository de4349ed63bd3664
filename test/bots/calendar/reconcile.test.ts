import '../config.ts';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Encounter, Extension, Patient, Reference, Slot, Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/calendar/reconcile.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { later, nextMoment, withClock } from '../clock.ts';
import { config, configured } from '../config.ts';
import { at, type Stored, withCalendars } from './fixtures.ts';

const medplum = withCalendars();

const reconcile = () => handler(medplum().medplum);

const instant = (fromNow: number): string => new Date(Date.now() + fromNow).toISOString();

const until = (valueInstant: string): Extension => ({ url: artefactUri(config, 'LocalHeldUntil'), valueInstant });

const confirmedBy = (valueInstant: string): Extension => ({
  url: artefactUri(config, 'LocalConfirmationDeadline'),
  valueInstant,
});

const freeSlot = async (from = '09:00', to = '09:30') => medplum().slot(await medplum().schedule(), 'free', from, to);

const statusOf = async ({ resourceType, id }: Appointment | Slot | Task) =>
  (await medplum().read<Appointment | Slot | Task>(`${resourceType}/${id}`))?.status;

/** The row that says how far it has come. */
const rows = () => medplum().find<Task>(`Task?code=${artefactUri(config, 'LocalTask')}|reconcile`);
const reached = async () => Date.parse((await rows())[0]?.input?.[0]?.valueInstant ?? '');
const forget = async () => {
  for (const { id } of await rows()) {
    await medplum().fhir('DELETE', `Task/${id}`);
  }
};

describe('what is over by itself', () => {
  it.each<[string, 'proposed' | 'pending', Extension]>([
    ['a hold', 'proposed', until(instant(-1_000))],
    ['a request', 'pending', confirmedBy(instant(-1_000))],
  ])('is ended: %s', async (_, status, extension) => {
    const appointment = await medplum().appointment(status, [await freeSlot()], { extension: [extension] });
    // Nobody has changed it for long.
    await later(0, reconcile);
    expect(await statusOf(appointment)).toBe('cancelled');
  });
});

describe('what was changed lately', () => {
  it.each([
    ['booked', 'busy'],
    ['pending', 'busy-tentative'],
  ] as const)('gets its slots: an appointment that is %s', async (status, expected) => {
    const slot = await freeSlot();
    await medplum().appointment(status, [slot]);
    await reconcile();
    expect(await statusOf(slot)).toBe(expected);
  });

  it('is not offered where it is taken already: a new free slot', async () => {
    const schedule = await medplum().schedule();
    await medplum().slot(schedule, 'busy-unavailable', '09:00', '10:00');
    await nextMoment();
    await later(30_000, reconcile);
    const offer = await medplum().slot(schedule, 'free', '09:30', '10:30');
    await later(31_000, reconcile);
    expect(await medplum().read<Slot>(`Slot/${offer.id}`)).toMatchObject({ status: 'free', start: at('10:00') });
  });

  it('closes the Task of a request that waits no more', async () => {
    const appointment = await medplum().appointment('booked', []);
    const waiting = await medplum().appointment('pending', [], { extension: [confirmedBy(instant(600_000))] });
    const code = { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'confirm' }] };
    const task = (status: Task['status'], { id }: Stored<Appointment>, more: Partial<Task> = {}) =>
      medplum().create<Task>({
        resourceType: 'Task',
        status,
        intent: 'order',
        code,
        focus: { reference: `Appointment/${id}` },
        restriction: { period: { end: waiting.extension?.[0]?.valueInstant } },
        ...more,
      });
    const own = await task('requested', appointment);
    const other = await task('requested', waiting);
    await task('requested', waiting, { code: { coding: [{ code: 'other' }] } });
    await task('completed', waiting);
    await reconcile();
    expect([await statusOf(own), await statusOf(other)]).toEqual(['completed', 'requested']);
  });

  it('ends the open appointments of patients who are gone', async () => {
    const inactive = await medplum().create<Patient>({ resourceType: 'Patient', active: false });
    const deleted = await medplum().create<Patient>({ resourceType: 'Patient' });
    const present = await medplum().create<Patient>({ resourceType: 'Patient' });
    const of = ({ id }: Patient): Partial<Appointment> => ({
      participant: [{ actor: { reference: `Patient/${id}` } as Reference<Patient>, status: 'accepted' }],
    });
    const appointments: Appointment[] = [];
    for (const patient of [inactive, deleted, present]) {
      appointments.push(await medplum().appointment('booked', [], of(patient)));
    }
    await medplum().fhir('DELETE', `Patient/${deleted.id}`);
    await reconcile();
    expect(await Promise.all(appointments.map(statusOf))).toEqual(['cancelled', 'cancelled', 'booked']);
  });

  it('makes a patient one whom two bookings have made', async () => {
    const identifier = [{ system: 'urn:kvnr', value: randomUUID() }];
    const meta = { tag: [requestorTag('portal', config)] };
    const patient: Patient = { resourceType: 'Patient', meta, identifier };
    const same = [await medplum().create<Patient>(patient), await medplum().create<Patient>(patient)];
    const { body } = await medplum().send<{ profile: { id: string } }>('GET', 'auth/me');
    await configured({ gatewayClient: body.profile.id }, reconcile);
    const records = await Promise.all(same.map(({ id }) => medplum().read<Patient>(`Patient/${id}`)));
    expect(records.filter((one) => one?.active !== false)).toHaveLength(1);
  });

  it('shows encounters to those who have booked them', async () => {
    const patient = await medplum().create<Patient>({ resourceType: 'Patient' });
    const subject = { reference: `Patient/${patient.id}` } as Reference<Patient>;
    const tag = [requestorTag('portal', config)];
    const appointment = await medplum().appointment('booked', [], {
      meta: { tag },
      participant: [{ actor: subject, status: 'accepted' }],
    });
    const encounter = (more: Partial<Encounter>) =>
      medplum().create<Encounter>({
        resourceType: 'Encounter',
        status: 'planned',
        class: { code: 'AMB' },
        subject,
        appointment: [{ reference: `Appointment/${appointment.id}` }],
        ...more,
      });
    const untagged = await encounter({});
    await encounter({ meta: { tag } });
    await reconcile();
    expect((await medplum().read<Encounter>(`Encounter/${untagged.id}`))?.meta?.tag).toEqual(tag);
  });
});

it('where the clock was ahead, what fails then is looked at again', async () => {
  await forget();
  await later(3_600_000, reconcile);
  const slot = await freeSlot();
  await medplum().appointment('booked', [slot]);
  medplum().interfere(({ entries }) =>
    entries.includes(`PUT Slot/${slot.id}`) ? { status: 500, body: {} } : undefined,
  );
  await expect(reconcile()).rejects.toThrow();
  medplum().interfere(() => undefined);
  await later(600_000, reconcile);
  expect(await statusOf(slot)).toBe('busy');
});

it('of more changes than one run has time for the next run reads on', async () => {
  await forget();
  await reconcile();
  for (let count = 0; count < 100; count++) {
    await medplum().appointment('booked', []);
  }
  const last = await freeSlot();
  await medplum().appointment('booked', [last]);
  await withClock(async (skip) => {
    skip(2 * 3_600_000);
    let pages = 0;
    medplum().interfere(({ entries }) => {
      skip(entries.some((one) => one.startsWith('GET Appointment?_lastUpdated')) && ++pages === 2 ? 7_000 : 0);
      return undefined;
    });
    await reconcile();
  });
  medplum().interfere(() => undefined);
  await later(2 * 3_600_000 + 60_000, reconcile);
  expect(await statusOf(last)).toBe('busy');
});

it('what cannot be corrected is an error, after everything else', async () => {
  const hold = await medplum().appointment('proposed', [], { extension: [until(instant(-1_000))] });
  const [bad, good] = [await freeSlot(), await freeSlot('10:00', '10:30')];
  const late = await medplum().appointment('booked', [bad]);
  await medplum().appointment('booked', [good], { start: at('10:00'), end: at('10:30') });
  medplum().interfere(({ type, entries }) =>
    type === 'transaction' && entries.some((one) => one.includes(bad.id) || one.includes(hold.id))
      ? 'not-connected'
      : undefined,
  );
  await expect(reconcile()).rejects.toThrow(
    [
      `Error: The slots of Appointment/${hold.id} could not be written (failed).`,
      `Error: The slots of Appointment/${late.id} could not be written (failed).`,
    ].join('\n'),
  );
  expect(await statusOf(good)).toBe('busy');
});

describe('how far it has come', () => {
  it('stays where something failed, for an hour', async () => {
    await forget();
    await reconcile();
    const slot = await freeSlot();
    await medplum().appointment('booked', [slot]);
    const before = await reached();
    medplum().interfere((asked) =>
      asked.entries.includes(`PUT Slot/${slot.id}`) ? { status: 500, body: {} } : undefined,
    );
    await expect(later(600_000, reconcile)).rejects.toThrow();
    expect(await reached()).toBe(before);
    await expect(later(2 * 3_600_000, reconcile)).rejects.toThrow();
    expect(await reached()).toBeGreaterThan(before);
  });

  it.each<[string, number]>([
    ['', 0],
    [' (and a hold that is over cannot be ended)', 500],
  ])('leaves out nothing where a run has no time for all, however long ago it was%s', async (_, status) => {
    await forget();
    const hold = await medplum().appointment('proposed', [], { extension: [until(instant(600_000))] });
    await reconcile();
    for (let count = 0; count < 100; count++) {
      await medplum().appointment('booked', []);
    }
    const slot = await freeSlot();
    await medplum().appointment('booked', [slot]);
    await withClock(async (skip) => {
      skip(2 * 3_600_000);
      medplum().interfere(({ entries }) => {
        skip(entries.some((one) => one.startsWith('GET Encounter?')) ? 7_000 : 0);
        return status > 0 && entries.includes(`PUT Appointment/${hold.id}`) ? { status, body: {} } : undefined;
      });
      await (status > 0 ? expect(reconcile()).rejects.toThrow(hold.id) : reconcile());
    });
    medplum().interfere(() => undefined);
    await later(2 * 3_600_000 + 60_000, reconcile);
    expect(await statusOf(slot)).toBe('busy');
  });
});
