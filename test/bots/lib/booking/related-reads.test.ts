import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient, Slot, Task } from '@medplum/fhirtypes';
import {
  completeRelated,
  readForChange,
  readRelatedAppointment,
  readRelatedSlots,
  readSurvivors,
} from '../../../../bots/lib/booking/related-reads.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import {
  aPatient,
  aPortal,
  aSchedule,
  aService,
  aSlot,
  asks,
  booked,
  only,
  proposed,
  refused,
  unavailable,
} from '../../booking/fixtures.ts';
import { config } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';

const medplum = withMedplum();

const setting = async (more: Parameters<typeof booked>[2] = {}) => booked(medplum(), await aPortal(medplum()), more);

const idsOf = (resources: Iterable<{ readonly id?: string }>) => [...resources].map(({ id }) => id);

describe('an appointment', () => {
  const taskOf = (appointment: Appointment, status: Task['status']) =>
    medplum().create<Task>({
      resourceType: 'Task',
      status,
      intent: 'order',
      code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'confirm' }] },
      focus: { reference: `Appointment/${appointment.id}` },
    });

  it('is read with its slots, patients and open Tasks at once, and with the Schedules if they are needed', async () => {
    const service = await aService(medplum());
    const schedule = await aSchedule(medplum(), { actor: [{ reference: `HealthcareService/${service.id}` }] });
    const { appointment, patient, slot } = await setting({ schedule });
    const task = await taskOf(appointment, 'requested');
    await taskOf(appointment, 'completed');
    const found = await readRelatedAppointment(medplum().medplum, appointment.id ?? '', { withCalendars: true });
    expect(found.appointment?.id).toBe(appointment.id);
    expect(idsOf(found.slots)).toEqual([slot.id]);
    expect([...found.patients.keys()]).toEqual([patient.id]);
    expect(idsOf(found.tasks)).toEqual([task.id]);
    expect(new Set(idsOf(found.calendars))).toEqual(new Set([schedule.id, service.id]));
    expect(medplum().asked).toMatchObject([{ type: 'batch', authorization: 'Bearer admin' }]);
    expect((await readRelatedAppointment(medplum().medplum, appointment.id ?? '')).calendars).toEqual([]);
  });

  it('that was never there has nothing, whatever its id looks like', async () => {
    const found = await readRelatedAppointment(medplum().medplum, 'a&_count=5');
    expect(found).toEqual({ appointment: undefined, slots: [], patients: new Map(), tasks: [], calendars: [] });
    expect(medplum().asked[0]?.entries.slice(0, 3)).toEqual([
      'GET Appointment?_id=a%26_count%3D5',
      'GET Slot?_has:Appointment:slot:_id=a%26_count%3D5&_count=1000',
      'GET Patient?_has:Appointment:patient:_id=a%26_count%3D5&_count=1000',
    ]);
  });
});

describe('what another version of an appointment names', () => {
  const none = { slots: [], patients: new Map<string, Patient>() };

  it('is read in one, as far as it is not known', async () => {
    const portal = await aPortal(medplum());
    const { appointment, patient, slot, schedule } = await booked(medplum(), portal);
    const [other, further] = [await aPatient(medplum(), portal), await aSlot(medplum(), schedule, '10:00', '10:30')];
    const changed: Appointment = {
      ...appointment,
      slot: [{ reference: `Slot/${slot.id}` }, { reference: `Slot/${further.id}` }],
      participant: [
        ...appointment.participant,
        { actor: { reference: `${config.baseUrl}/Patient/${other.id}` }, status: 'accepted' },
      ],
    };
    const known = { slots: [slot], patients: new Map([[patient.id ?? '', patient]]) };
    const all = await completeRelated(medplum().medplum, changed, known);
    expect(idsOf(all.slots)).toEqual([slot.id, further.id]);
    expect([...all.patients.keys()]).toEqual([patient.id, other.id]);
    expect(medplum().asked.map(({ entries }) => entries)).toEqual([
      [`GET Slot?_id=${further.id}&_count=1000`, `GET Patient?_id=${other.id}&_count=1000`],
    ]);
  });

  it('is all read if nothing is known', async () => {
    const portal = await aPortal(medplum());
    const { appointment, patient, slot, schedule } = await booked(medplum(), portal);
    const [other, further] = [await aPatient(medplum(), portal), await aSlot(medplum(), schedule, '10:00', '10:30')];
    const all = await completeRelated(
      medplum().medplum,
      {
        ...appointment,
        slot: [{ reference: `Slot/${slot.id}` }, { reference: `Slot/${further.id}` }],
        participant: [...appointment.participant, { actor: { reference: `Patient/${other.id}` }, status: 'accepted' }],
      },
      none,
    );
    expect(new Set(idsOf(all.slots))).toEqual(new Set([slot.id, further.id]));
    expect(new Set(all.patients.keys())).toEqual(new Set([patient.id, other.id]));
  });

  it('is not read if all of it is known', async () => {
    const { appointment, patient, slot } = await setting();
    const known = { slots: [slot], patients: new Map([[patient.id ?? '', patient]]) };
    expect(await completeRelated(medplum().medplum, appointment, known)).toEqual(known);
    expect(medplum().asked).toEqual([]);
  });

  it('is absent if it was deleted', async () => {
    const { appointment, slot } = await setting();
    await medplum().fhir('DELETE', `Slot/${slot.id}`);
    const found = await completeRelated(medplum().medplum, appointment, none);
    expect(found.slots).toEqual([]);
    expect(found.patients.size).toBe(1);
  });
});

describe('the survivors of merges', () => {
  const merged = async (into: Patient | undefined, id = 'portal') => {
    const patient = await aPatient(medplum(), { id });
    return medplum().change<Patient>(patient, {
      active: false,
      link: [{ type: 'replaced-by', other: { reference: `Patient/${into?.id}` } }],
    });
  };

  it('are read until nobody is missing', async () => {
    const last = await aPatient(medplum(), { id: 'portal' });
    const middle = await merged(last);
    const first = await merged(middle);
    const all = await readSurvivors(medplum().medplum, new Map([[first.id ?? '', first]]));
    expect([...all.keys()]).toEqual([first.id, middle.id, last.id]);
    expect(medplum().asked.map(({ entries }) => entries)).toEqual([
      [`GET Patient?_id=${middle.id}&_count=1000`],
      [`GET Patient?_id=${last.id}&_count=1000`],
    ]);
  });

  it('that were deleted are asked for once', async () => {
    const gone = await aPatient(medplum(), { id: 'portal' });
    const first = await merged(gone);
    await medplum().fhir('DELETE', `Patient/${gone.id}`);
    const all = await readSurvivors(medplum().medplum, new Map([[first.id ?? '', first]]));
    expect([...all.keys()]).toEqual([first.id]);
    expect(medplum().asked).toHaveLength(1);
  });

  it('are nobody of patients who were not merged', async () => {
    const patient = await aPatient(medplum(), { id: 'portal' });
    const known = new Map([[patient.id, patient]]);
    expect(await readSurvivors(medplum().medplum, known)).toBe(known);
    expect(medplum().asked).toEqual([]);
  });
});

describe('a change', () => {
  it('is compared with what is stored, and the patients that it names', async () => {
    const portal = await aPortal(medplum());
    const { appointment } = await booked(medplum(), portal);
    const other = await aPatient(medplum(), portal);
    const found = await readForChange(medplum().medplum, proposed(other, [], { id: appointment.id }));
    expect(found.stored).toMatchObject({ id: appointment.id, status: 'booked' });
    expect([...found.patients.keys()]).toEqual([other.id]);
    expect(medplum().asked).toHaveLength(1);
  });

  it('of a new appointment without patients finds nothing', async () => {
    const found = await readForChange(medplum().medplum, {
      resourceType: 'Appointment',
      status: 'booked',
      participant: [],
    });
    expect(found).toEqual({ stored: undefined, patients: new Map() });
    expect(medplum().asked.map(({ entries }) => entries)).toEqual([['GET Appointment?_id=']]);
  });
});

describe('what the slots of an appointment depend on', () => {
  const related = (appointment: Appointment, own: readonly Slot[]) =>
    readRelatedSlots(medplum().medplum, appointment, own);

  const gone = async (slot: Slot) => {
    await medplum().fhir('DELETE', `Slot/${slot.id}`);
  };

  it('is what was split off from them, and who uses it', async () => {
    const { appointment, slot, schedule, patient } = await setting({ status: 'cancelled' });
    const identifier = [{ system: artefactUri(config, 'LocalSlotOrigin'), value: slot.id }];
    const part = await aSlot(medplum(), schedule, '09:30', '10:00', { identifier });
    const other = await medplum().create<Appointment>(proposed(patient, [slot], { status: 'booked' }));
    const found = await related(appointment, [slot]);
    expect(new Set(idsOf(found.fragments.slots))).toEqual(new Set([slot.id, part.id]));
    expect(found.fragments.uses).toEqual(new Map([[slot.id, 'confirmed']]));
    expect(found.lost).toEqual([]);
    expect([other.status, found.neverOffered, found.setByHand]).toEqual(['booked', new Set(), new Set()]);
    expect(medplum().asked).toHaveLength(1);
  });

  it('is nothing of an appointment without slots', async () => {
    const { appointment, slot } = await setting();
    const none = { fragments: { slots: [], uses: new Map() }, lost: [] };
    expect(await related({ ...appointment, slot: [] }, [slot])).toEqual(none);
    expect(medplum().asked).toEqual([]);
  });

  it('is what slots were that were deleted while they were taken', async () => {
    const { appointment, slot } = await setting();
    await gone(slot);
    const found = await related(appointment, []);
    expect(found.lost).toMatchObject([{ id: slot.id, status: 'busy' }]);
    expect(medplum().asked[0]).toMatchObject({ type: 'batch', entries: [`GET Slot/${slot.id}/_history`] });
  });

  it.each([
    [
      'were never there',
      async (slot: Slot): Promise<Slot> => ({ ...slot, id: '00000000-0000-4000-8000-000000000000' }),
    ],
    [
      'were never offered',
      async ({ schedule }: Slot) => {
        const made = await aSlot(
          medplum(),
          { ...(await aSchedule(medplum())), id: schedule.reference?.split('/')[1] },
          '10:00',
          '10:30',
          {
            status: 'busy',
          },
        );
        await gone(made);
        return made;
      },
    ],
    [
      'were free when they were deleted',
      async ({ schedule }: Slot) => {
        const made = await aSlot(
          medplum(),
          { ...(await aSchedule(medplum())), id: schedule.reference?.split('/')[1] },
          '10:00',
          '10:30',
        );
        await gone(made);
        return made;
      },
    ],
  ])('is nothing of slots that %s', async (_, change) => {
    const { appointment, slot } = await setting();
    const { id } = await change(slot);
    const found = await related({ ...appointment, slot: [{ reference: `Slot/${id}` }] }, []);
    expect(found).toEqual({ fragments: { slots: [], uses: new Map() }, lost: [] });
  });

  /** A slot that was never offered, of an appointment that is over. */
  async function handMade(status: Appointment['status']) {
    const { schedule, patient } = await setting();
    const slot = await aSlot(medplum(), schedule, '10:00', '10:30', { status: 'busy' });
    const held = await medplum().create<Appointment>(proposed(patient, [slot], { status: 'booked' }));
    return { slot, appointment: status === 'booked' ? held : await medplum().change(held, { status }) };
  }

  it('is whether they were ever offered, and whether staff have taken them since', async () => {
    const { slot, appointment } = await handMade('cancelled');
    expect(await related(appointment, [slot])).toMatchObject({
      neverOffered: new Set([slot.id]),
      setByHand: new Set(),
    });
    const again = await medplum().change(slot, { comment: 'Room 5' });
    expect(await related(appointment, [again])).toMatchObject({ setByHand: new Set([slot.id]) });
  });

  it('is told of each slot by itself', async () => {
    const { slot, appointment } = await handMade('cancelled');
    const schedule = { resourceType: 'Schedule', id: slot.schedule.reference?.split('/')[1], actor: [] } as const;
    const free = await aSlot(medplum(), { ...schedule, actor: [] }, '11:00', '11:30');
    const offered = await medplum().change<Slot>(free, { status: 'busy' });
    const both = { ...appointment, slot: [...(appointment.slot ?? []), { reference: `Slot/${offered.id}` }] };
    expect(await related(both, [slot, offered])).toMatchObject({
      neverOffered: new Set([slot.id]),
      setByHand: new Set([offered.id]),
    });
    const { lost } = await related({ ...both, status: 'booked' }, [slot]);
    expect(lost.map(({ id }) => id)).toEqual([offered.id]);
  });

  it('is decided by what was read last', async () => {
    const { slot, appointment } = await handMade('cancelled');
    await medplum().change(slot, { comment: 'Room 5' });
    expect(await related(appointment, [slot])).toMatchObject({ setByHand: new Set([slot.id]) });
  });

  it('is not asked for slots that stay taken, or that another appointment holds', async () => {
    const { slot, appointment } = await handMade('booked');
    await related(appointment, [slot]);
    await related({ ...appointment, id: 'another', status: 'cancelled' }, [slot]);
    expect(medplum().asked.filter(asks(/_history/))).toEqual([]);
  });

  it('asks for no history if no slot is taken by hand', async () => {
    const { schedule, patient } = await setting();
    const slot = await aSlot(medplum(), schedule, '10:00', '10:30');
    const appointment = await medplum().create<Appointment>(proposed(patient, [slot], { status: 'cancelled' }));
    expect(await related(appointment, [slot])).toMatchObject({ neverOffered: new Set(), setByHand: new Set() });
    expect(medplum().asked).toHaveLength(1);
  });

  it.each([
    ['the searches', asks(/Slot\?identifier/), unavailable, 'The FHIR server could not be read (lost).'],
    ['the searches', asks(/Slot\?identifier/), refused, 'The FHIR server could not be read (failed).'],
    [
      'one search',
      asks(/Slot\?identifier/),
      () => ({ status: 200, body: { resourceType: 'Bundle', entry: [{ response: { status: '500' } }] } }),
      'The FHIR server could not be searched (status 500).',
    ],
    ['a history', asks(/Appointment\/.*_history/), refused, 'The FHIR server could not be read.'],
  ] as const)('is no decision without %s (%#)', async (_, isMeant, answer, message) => {
    const { slot, appointment } = await handMade('cancelled');
    medplum().interfere(only(isMeant, answer));
    await expect(related(appointment, [slot])).rejects.toThrow(message);
  });

  it('is no decision without the histories of deleted slots', async () => {
    const { appointment, slot } = await setting();
    await gone(slot);
    medplum().interfere(unavailable);
    await expect(related(appointment, [])).rejects.toThrow('The FHIR server could not be read (lost).');
  });
});
