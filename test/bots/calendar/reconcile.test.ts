import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Encounter, Extension, Patient, Reference, Slot, Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/calendar/reconcile.ts';
import { handler as syncSlots } from '../../../bots/calendar/sync-slots.ts';
import { RUN_LIMIT } from '../../../bots/lib/run-limit.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { later, withClock } from '../clock.ts';
import { config } from '../config.ts';
import { askedFor, at, type Stored, withCalendars } from './fixtures.ts';

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

const written = () => medplum().asked.filter(({ type }) => type === 'transaction');

/** Answers in the place of the server with so many resources that there is nothing to do about. */
const fullPage = (resource: object, count = 100) => ({
  response: { status: '200' },
  resource: { resourceType: 'Bundle', type: 'searchset', entry: Array.from({ length: count }, () => ({ resource })) },
});

const batchResponse = (...entry: readonly object[]) => ({
  status: 200,
  body: { resourceType: 'Bundle', type: 'batch-response', entry },
});

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

  it.each<[string, 'proposed' | 'pending', Extension[]]>([
    ['a hold', 'proposed', [until(instant(600_000))]],
    ['a request', 'pending', [confirmedBy(instant(600_000))]],
    ['a request without a deadline', 'pending', []],
  ])('is left alone before: %s', async (_, status, extension) => {
    const appointment = await medplum().appointment(status, [], { extension });
    await reconcile();
    expect(await statusOf(appointment)).toBe(status);
    expect(medplum().asked).toHaveLength(3);
  });

  it('is found however long ago it was written', async () => {
    const hold = await medplum().appointment('proposed', [await freeSlot()], { extension: [until(instant(600_000))] });
    await later(5 * 3_600_000, reconcile);
    expect(await statusOf(hold)).toBe('cancelled');
  });

  it('is looked for page by page, the oldest first', async () => {
    const page = { resourceType: 'Appointment', status: 'proposed' };
    medplum().interfere(({ entries: [entry = ''] }) =>
      entry.includes('_sort=_lastUpdated') && entry.endsWith('_offset=0') ? batchResponse(fullPage(page)) : undefined,
    );
    await reconcile();
    expect(askedFor(medplum(), 'GET Appointment?status')).toEqual(
      ['proposed', 'pending'].flatMap((status) =>
        [0, 100].map(
          (offset) => `GET Appointment?status=${status}&_sort=_lastUpdated,_id&_count=100&_offset=${offset}`,
        ),
      ),
    );
  });

  it.each([
    ['a third of the time for holds', 0, RUN_LIMIT / 3, 1, 2],
    ['the time that is left up to one half for requests', RUN_LIMIT / 3 - 1_000, 0, 2, 2],
    ['up to one half for both', RUN_LIMIT / 2, 0, 1, 0],
  ])('is looked for in %s', async (_, first, second, holds, requests) => {
    const page = { resourceType: 'Appointment', status: 'proposed' };
    const times = [first, second];
    await withClock(async (pass) => {
      medplum().interfere(({ entries: [entry = ''] }) => {
        if (!entry.startsWith('GET Appointment?status')) {
          return undefined;
        }
        pass(times.shift() ?? 0);
        return entry.endsWith('_offset=0') ? batchResponse(fullPage(page)) : undefined;
      });
      await reconcile();
    });
    expect(askedFor(medplum(), 'GET Appointment?status=proposed')).toHaveLength(second > 0 ? 2 : holds);
    expect(askedFor(medplum(), 'GET Appointment?status=pending')).toHaveLength(second > 0 ? requests : requests);
  });
});

describe('what was changed lately', () => {
  it('is nothing to be done about if it is in order', async () => {
    const slot = await freeSlot();
    const appointment = await medplum().appointment('booked', [slot]);
    await syncSlots(medplum().medplum, { input: appointment } as Parameters<typeof syncSlots>[1]);
    const before = medplum().asked.length;
    await reconcile();
    expect(
      medplum()
        .asked.slice(before)
        .map(({ type }) => type),
    ).toEqual(['batch', 'batch', 'batch']);
  });

  it.each([
    ['booked', 'busy'],
    ['pending', 'busy-tentative'],
  ] as const)('gets its slots: an appointment that is %s', async (status, expected) => {
    const slot = await freeSlot();
    await medplum().appointment(status, [slot]);
    await reconcile();
    expect(await statusOf(slot)).toBe(expected);
  });

  it('gives its slots back: an appointment that was cancelled', async () => {
    const slot = await freeSlot();
    const appointment = await medplum().appointment('booked', [slot]);
    await reconcile();
    await medplum().change<Appointment>(appointment, { status: 'cancelled' });
    await reconcile();
    expect(await statusOf(slot)).toBe('free');
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
    expect(written()).toHaveLength(1);
  });

  it('asks nothing about Tasks that are over or of something else', async () => {
    const appointment = await medplum().appointment('booked', []);
    const focus = { reference: `Appointment/${appointment.id}` };
    const code = { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'confirm' }] };
    await medplum().create<Task>({ resourceType: 'Task', status: 'completed', intent: 'order', code, focus });
    await medplum().create<Task>({ resourceType: 'Task', status: 'requested', intent: 'order', focus });
    await medplum().create<Task>({ resourceType: 'Task', status: 'requested', intent: 'order', code });
    await reconcile();
    expect(medplum().asked).toHaveLength(3);
  });

  it('ends the open appointments of a patient who is gone', async () => {
    const patient = await medplum().create<Patient>({ resourceType: 'Patient', active: false });
    const present = await medplum().create<Patient>({ resourceType: 'Patient' });
    const of = ({ id }: Patient): Partial<Appointment> => ({
      participant: [{ actor: { reference: `Patient/${id}` } as Reference<Patient>, status: 'accepted' }],
    });
    const appointment = await medplum().appointment('booked', [], of(patient));
    const other = await medplum().appointment('booked', [], of(present));
    await reconcile();
    expect([await statusOf(appointment), await statusOf(other)]).toEqual(['cancelled', 'booked']);
    expect(askedFor(medplum(), 'GET Appointment?actor')).toHaveLength(1);
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
    expect(written()).toHaveLength(1);
  });

  it('is looked for in the last hour', async () => {
    const slot = await freeSlot();
    await medplum().appointment('booked', [slot]);
    await later(3_700_000, reconcile);
    expect(await statusOf(slot)).toBe('free');
    expect(written()).toEqual([]);
    await later(3_500_000, reconcile);
    expect(await statusOf(slot)).toBe('busy');
  });

  it('is looked at page by page, the latest first', async () => {
    const types = ['Appointment', 'Patient', 'Encounter'] as const;
    for (const [index, type] of types.entries()) {
      const pages = types.map((one) =>
        one === type ? fullPage({ resourceType: one, status: 'cancelled' }) : fullPage({}, 0),
      );
      medplum().interfere(({ entries: [first = ''] }) =>
        first.includes('_sort=-_lastUpdated') && first.includes('_offset=0') ? batchResponse(...pages) : undefined,
      );
      const before = medplum().asked.length;
      await reconcile();
      const asked = medplum()
        .asked.slice(before + 2)
        .map(({ entries }) => entries[index] ?? '');
      expect(asked).toEqual([0, 100].map((offset) => expect.stringMatching(`^GET ${type}.*&_offset=${offset}(&|$)`)));
    }
  });

  it('is left to the next run when the time is over', async () => {
    await withClock(async (pass) => {
      medplum().interfere(({ entries: [first = ''] }) => {
        if (!first.includes('_sort=-_lastUpdated')) {
          return undefined;
        }
        pass(RUN_LIMIT);
        return batchResponse(
          fullPage({ resourceType: 'Appointment', status: 'cancelled' }),
          fullPage({}, 0),
          fullPage({}, 0),
        );
      });
      await reconcile();
    });
    expect(medplum().asked).toHaveLength(3);
  });

  it('is not looked at when the time is over before', async () => {
    await withClock(async (pass) => {
      medplum().interfere(({ entries: [first = ''] }) => {
        pass(first.includes('status=pending') ? RUN_LIMIT : 0);
        return undefined;
      });
      await reconcile();
    });
    expect(medplum().asked).toHaveLength(2);
  });
});

describe('what cannot be corrected', () => {
  it('is an error, after everything else', async () => {
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

  it('is an error when Medplum cannot be read', async () => {
    medplum().interfere(() => 'not-connected');
    await expect(reconcile()).rejects.toThrow(/^The FHIR server could not be read\. /);
  });
});
