import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/config/config.ts';
import { until } from '../lib/until.ts';
import {
  aClinic,
  aPatient,
  appointmentsOn,
  aSlot,
  book,
  minutes,
  parameters,
  proposed,
  simultaneously,
  slotsOf,
  stored,
  succeeded,
} from './fixtures.ts';
import { issuesOf, medplum, request, resourceIn } from './http.ts';
import { base, config } from './installation.ts';
import { patch, read } from './patch/fixtures.ts';
import { byHand, edit } from './status/fixtures.ts';

const identifier = () => [{ system: 'urn:portal-a', value: randomUUID() }];

describe('known id', () => {
  async function aBooking(end = 30, { from = 0, to = 30 } = {}) {
    const clinic = await aClinic({}, { end: minutes(end) });
    const booked = resourceIn('Appointment', await book(proposed(clinic.patient, [clinic.slot], { from, to })));
    return { ...clinic, booked, id: booked.id ?? '' };
  }

  describe('re-submission of a known id', () => {
    it('moves the appointment: 201, same id, new version, its old slot free', async () => {
      const { schedule, slot, patient, booked, id } = await aBooking();
      const later = await aSlot(schedule, 60, 90);
      const answer = await book(proposed(patient, [later], { id, from: 60, to: 90 }));
      const moved = resourceIn('Appointment', answer);
      expect(answer.status).toBe(201);
      expect(moved).toMatchObject({
        id,
        status: 'booked',
        start: minutes(60),
        slot: [{ reference: `Slot/${later.id}` }],
      });
      expect(moved.meta?.versionId).not.toBe(booked.meta?.versionId);
      expect(await slotsOf(schedule)).toEqual(['free 0-30', 'busy 60-90']);
      expect((await book(proposed(patient, [slot]))).status).toBe(201);
    });

    it('shortens it over its own slot', async () => {
      const { schedule, slot, patient, id } = await aBooking();
      expect((await book(proposed(patient, [slot], { id, to: 10 }))).status).toBe(201);
      expect(await slotsOf(schedule)).toEqual(['busy 0-10', 'free 10-30']);
    });

    it('lengthens it over a free slot next to its own, by the names that a search gives', async () => {
      const { schedule, slot, patient, id } = await aBooking(60, { from: 20, to: 40 });
      const found = await stored('Slot', `schedule=Schedule/${schedule.id}&status=free&_sort=start`);
      const [, after] = found;
      expect(await slotsOf(schedule)).toEqual(['free 0-20', 'busy 20-40', 'free 40-60']);
      const answer = await book(proposed(patient, after ? [slot, after] : [], { id, from: 20, to: 60 }));
      expect(answer.status).toBe(201);
      expect(await slotsOf(schedule)).toEqual(['free 0-20', 'busy 20-60']);
    });

    it('a time of its slot that others have taken: 409', async () => {
      const { schedule, slot, patient, id } = await aBooking(60, { from: 20, to: 40 });
      expect((await book(proposed(patient, [slot], { from: 40, to: 50 }))).status).toBe(201);
      const answer = await book(proposed(patient, [slot], { id, from: 30, to: 50 }));
      expect([answer.status, ...issuesOf(answer)]).toEqual([409, 'slot-not-free Appointment.slot[0]']);
      expect(await slotsOf(schedule)).toEqual(['free 0-20', 'busy 20-40', 'busy 40-50', 'free 50-60']);
    });

    it('lengthens it over the rest of its own slot', async () => {
      const { schedule, slot, patient, id } = await aBooking(240, { from: 60, to: 90 });
      expect(await slotsOf(schedule)).toEqual(['free 0-60', 'busy 60-90', 'free 90-240']);
      expect((await book(proposed(patient, [slot], { id, from: 30, to: 120 }))).status).toBe(201);
      expect(await slotsOf(schedule)).toEqual(['free 0-30', 'busy 30-120', 'free 120-240']);
    });

    it('a slot narrowed by the booking and freed again is whole free time once more', async () => {
      const { schedule, patient, id } = await aBooking(240, { from: 60, to: 90 });
      const other = await aSlot(schedule, 300, 330);
      expect((await book(proposed(patient, [other], { id, from: 300, to: 330 }))).status).toBe(201);
      expect(await slotsOf(schedule)).toEqual(['free 0-240', 'busy 300-330']);
    });

    it('not available in the changed form: 409, and not one byte changed', async () => {
      const { schedule, patient, id, booked } = await aBooking();
      const taken = await aSlot(schedule, 60, 90, { status: 'busy' });
      const answer = await book(proposed(patient, [taken], { id, from: 60, to: 90 }));
      expect([answer.status, ...issuesOf(answer)]).toEqual([409, 'slot-not-free Appointment.slot[0]']);
      expect((await request('portal-a', 'GET', `/Appointment/${id}`)).body).toEqual(booked);
      expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'busy 60-90']);
    });

    it('may change the patient', async () => {
      const { slot, id } = await aBooking();
      const other = await aPatient();
      const answer = await book(proposed(other, [slot], { id }));
      expect(answer.status).toBe(201);
      expect(resourceIn('Appointment', answer).participant[0]?.actor?.reference).toBe(`Patient/${other.id}`);
    });

    it.each(['cancelled', 'fulfilled', 'noshow'])('of one that is %s: 409', async (status) => {
      const { schedule, patient, booked, id } = await aBooking();
      const later = await aSlot(schedule, 60, 90);
      const closed = await medplum('admin', 'PUT', `/Appointment/${id}`, { body: { ...booked, status } });
      expect(closed.status).toBe(200);
      const answer = await book(proposed(patient, [later], { id, from: 60, to: 90 }));
      expect([answer.status, ...issuesOf(answer)]).toEqual([409, 'appointment-closed Appointment.id']);
      expect(await slotsOf(schedule)).toContain('free 60-90');
    });

    it("a stranger's id: a new appointment under a new id, just like an unknown one", async () => {
      const { id, booked } = await aBooking();
      const mine = await aPatient('portal-b');
      for (const given of [id, randomUUID()]) {
        const { slot } = await aClinic();
        const answer = await book(proposed(mine, [slot], { id: given }), 'portal-b');
        expect(answer.status).toBe(201);
        expect(resourceIn('Appointment', answer).id).not.toBe(given);
      }
      expect((await request('portal-a', 'GET', `/Appointment/${id}`)).body).toEqual(booked);
    });
  });
});

/** An appointment, and how it would be moved by an hour. */
async function aMove() {
  const clinic = await aClinic();
  const later = await aSlot(clinic.schedule, 60, 90);
  const booked = succeeded('Appointment', await book(proposed(clinic.patient, [clinic.slot])));
  const body: Appointment = {
    ...proposed(clinic.patient, [later], { from: 60, to: 90 }),
    id: booked.id ?? '',
  };
  return { ...clinic, booked, body };
}

const matching = (version: string | undefined) => ({ 'if-match': `W/"${version}"` });

it('with the current version in If-Match an appointment is moved', async () => {
  const { booked, body, schedule } = await aMove();
  const answer = await book(body, 'portal-a', matching(booked.meta?.versionId));
  expect([answer.status, succeeded('Appointment', answer).id]).toEqual([201, booked.id]);
  expect(await slotsOf(schedule)).toEqual(['free 0-30', 'busy 60-90']);
});

it('with another version it is not: 412, and nothing has changed', async () => {
  const { booked, body, schedule } = await aMove();
  succeeded('Appointment', await edit(booked.id ?? '', { patientInstruction: 'Come fasting' }));
  const answer = await book(body, 'portal-a', matching(booked.meta?.versionId));
  expect([answer.status, issuesOf(answer)]).toEqual([412, ['version-conflict Appointment.id']]);
  const after = await read(booked.id ?? '');
  expect([after.start, after.patientInstruction]).toEqual([minutes(0), 'Come fasting']);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'free 60-90']);
  expect((await book(body, 'portal-a', matching(after.meta?.versionId))).status).toBe(201);
});

it('of an appointment that is not moved: 412, and nothing is booked', async () => {
  const { patient, slot, schedule } = await aClinic();
  const answer = await book(proposed(patient, [slot]), 'portal-a', matching('1'));
  expect([answer.status, issuesOf(answer)]).toEqual([412, ['version-conflict Appointment.id']]);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});

it.each([
  ['without its quotes', { 'if-match': '1' }],
  ['together with respond-async', { 'if-match': 'W/"1"', prefer: 'respond-async' }],
])('%s: 400, and nothing is booked', async (_, headers) => {
  const { patient, slot, schedule } = await aClinic();
  const answer = await book(proposed(patient, [slot]), 'portal-a', headers);
  expect([answer.status, issuesOf(answer)]).toEqual([400, ['malformed-request http.If-Match']]);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});

const answers = {
  resourceType: 'QuestionnaireResponse',
  status: 'completed',
  text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Allergies: none</div>' },
  item: [{ linkId: '1', text: 'Allergies', answer: [{ valueString: 'none' }] }],
};

const said: Partial<Appointment> = {
  comment: 'By the lift, please',
  reasonCode: [{ text: 'Follow-up' }],
  priority: 5,
  extension: [{ url: 'https://portal.example.org/channel', valueCode: 'app' }],
};

/** An appointment about which portal and clinic have said something, and a free slot an hour later. */
async function aTalkedAboutBooking() {
  const clinic = await aClinic();
  const first = proposed(clinic.patient, [clinic.slot], { ...said, identifier: identifier() });
  const body = parameters(first, ['patientSubmittedInformation', answers]);
  const { id = '' } = succeeded('Appointment', await book(body));
  const joy = { resourceType: 'Practitioner', name: [{ family: 'Joy' }] };
  const practitioner = succeeded('Practitioner', await medplum('front-desk', 'POST', '/Practitioner', { body: joy }));
  const nurse = { actor: { reference: `Practitioner/${practitioner.id}` }, status: 'accepted' as const };
  const { participant } = await read(id);
  const edited = await edit(id, { patientInstruction: 'Come fasting', participant: [...participant, nurse] });
  const stored = succeeded('Appointment', edited);
  return { ...clinic, id, first, stored, nurse, later: await aSlot(clinic.schedule, 60, 90) };
}

/** A move that names nothing but what must be named, as docs/portals.md shows it. */
const bare = ({ patient, later, id }: Awaited<ReturnType<typeof aTalkedAboutBooking>>): Appointment => ({
  resourceType: 'Appointment',
  id,
  status: 'proposed',
  start: minutes(60),
  end: minutes(90),
  slot: [{ reference: `Slot/${later.id}` }],
  participant: [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' }],
});

describe('for another patient', () => {
  it('nothing is kept that tells of the former one: comment, reason, instructions, answers, extensions', async () => {
    const booking = await aTalkedAboutBooking();
    const other = await aPatient();
    const moved = succeeded('Appointment', await book(bare({ ...booking, patient: other })));
    const { comment, reasonCode, extension = [], supportingInformation, patientInstruction } = moved;
    expect({ comment, reasonCode, supportingInformation, patientInstruction }).toEqual({});
    expect(extension.map(({ url }) => url)).not.toContain(said.extension?.[0]?.url);
    expect(moved).toMatchObject({ id: booking.id, identifier: booking.stored.identifier, priority: said.priority });
    expect(moved.participant.map(({ actor }) => actor?.reference)).toEqual([
      `Patient/${other.id}`,
      booking.nurse.actor.reference,
    ]);
  });

  it('what is said anew is said of the new one, also where the clinic had said something', async () => {
    const booking = await aTalkedAboutBooking();
    const other = await aPatient();
    const anew = {
      ...bare({ ...booking, patient: other }),
      comment: 'By the stairs',
      patientInstruction: 'Bring a friend',
    };
    expect(succeeded('Appointment', await book(anew))).toMatchObject({
      comment: 'By the stairs',
      patientInstruction: 'Bring a friend',
    });
  });
});

describe('a move', () => {
  it('keeps what it does not name, of the portal and of the clinic', async () => {
    const booking = await aTalkedAboutBooking();
    const moved = succeeded('Appointment', await book(bare(booking)));
    const { identifier, supportingInformation, serviceType } = booking.stored;
    expect(moved).toMatchObject({
      ...said,
      status: 'booked',
      identifier,
      supportingInformation,
      serviceType,
      patientInstruction: 'Come fasting',
      start: minutes(60),
    });
    expect(supportingInformation).toHaveLength(1);
    expect(moved.participant).toHaveLength(2);
    expect(moved.participant[1]).toMatchObject(booking.nurse);
  });

  it('replaces what it names of the portal, and not what the clinic has said', async () => {
    const booking = await aTalkedAboutBooking();
    const body = { ...bare(booking), comment: 'On foot', patientInstruction: 'Come as you like' };
    const moved = succeeded('Appointment', await book(body));
    expect(moved).toMatchObject({ comment: 'On foot', patientInstruction: 'Come fasting', priority: 5 });
  });

  it('replaces what the clinic has changed only once the portal has changed it again', async () => {
    const booking = await aTalkedAboutBooking();
    succeeded('Appointment', await edit(booking.id, { comment: 'By the stairs', priority: 1 }));
    expect((await patch(booking.id, [{ op: 'replace', path: '/priority', value: 2 }])).status).toBe(200);
    const body = { ...bare(booking), comment: 'On foot', priority: 3 };
    expect(succeeded('Appointment', await book(body))).toMatchObject({ comment: 'By the stairs', priority: 3 });
  });

  it('by staff replaces what they name, and keeps the rest', async () => {
    const booking = await aTalkedAboutBooking();
    const body = { ...bare(booking), patientInstruction: 'Have breakfast' };
    const moved = succeeded('Appointment', await book(body, 'front-desk'));
    expect(moved).toMatchObject({ ...said, patientInstruction: 'Have breakfast' });
    expect(moved.participant).toHaveLength(2);
  });

  it('unites identifiers and answers', async () => {
    const booking = await aTalkedAboutBooking();
    const second = identifier();
    const body = parameters({ ...bare(booking), identifier: second }, ['patientSubmittedInformation', answers]);
    const moved = succeeded('Appointment', await book(body));
    expect(moved.identifier).toEqual([...second, ...(booking.first.identifier ?? [])]);
    expect(moved.supportingInformation).toHaveLength(2);
  });

  it('with what the portal has read back: nothing is doubled', async () => {
    const booking = await aTalkedAboutBooking();
    const { meta: _, ...stored } = booking.stored;
    const moved = succeeded(
      'Appointment',
      await book({ ...stored, ...bare(booking), participant: stored.participant }),
    );
    const { identifier, extension, supportingInformation, participant } = booking.stored;
    expect(moved).toMatchObject({ identifier, extension, supportingInformation });
    expect(moved.participant).toHaveLength(participant.length);
  });

  it('sent again, after its answer was lost, changes nothing: 200', async () => {
    const booking = await aTalkedAboutBooking();
    const moved = succeeded('Appointment', await book(bare(booking)));
    const again = await book(bare(booking));
    expect([again.status, resourceIn('Appointment', again)]).toEqual([200, moved]);
  });

  it('does not let lists grow for ever: 400', async () => {
    const booking = await aTalkedAboutBooking();
    const many = () => Array.from({ length: 40 }, () => identifier()).flat();
    expect((await book({ ...bare(booking), identifier: many() })).status).toBe(201);
    expect((await book({ ...bare(booking), identifier: many() })).status).toBe(201);
    const refused = await book({ ...bare(booking), identifier: many() });
    expect([refused.status, ...issuesOf(refused)]).toEqual([400, 'malformed-request Appointment.identifier']);
  });
});

describe('the first request sent again after a move', () => {
  it('books no second appointment: 200, the moved one', async () => {
    const booking = await aTalkedAboutBooking();
    const moved = succeeded('Appointment', await book(bare(booking)));
    const again = await book(booking.first);
    expect([again.status, resourceIn('Appointment', again)]).toEqual([200, moved]);
    expect((await appointmentsOn(booking.slot)).filter(({ status }) => status === 'booked')).toEqual([]);
  });

  it('also when somebody else has its slot by then', async () => {
    const booking = await aTalkedAboutBooking();
    const moved = succeeded('Appointment', await book(bare(booking)));
    expect((await book(proposed(booking.patient, [booking.slot]))).status).toBe(201);
    const again = await book(booking.first);
    expect([again.status, resourceIn('Appointment', again).id]).toEqual([200, moved.id]);
  });

  it('is another booking with another identifier', async () => {
    const booking = await aTalkedAboutBooking();
    succeeded('Appointment', await book(bare(booking)));
    const other = await book({ ...booking.first, identifier: identifier() });
    expect([other.status, resourceIn('Appointment', other).id === booking.id]).toEqual([201, false]);
  });

  it('for another time, with the same identifier, is another booking', async () => {
    const booking = await aTalkedAboutBooking();
    const [third] = [await aSlot(booking.schedule, 120, 150)];
    succeeded('Appointment', await book(bare(booking)));
    const other = await book(
      proposed(booking.patient, [third], { identifier: booking.first.identifier, from: 120, to: 150 }),
    );
    expect([other.status, resourceIn('Appointment', other).id === booking.id]).toEqual([201, false]);
  });
});

describe('replacement', () => {
  const REPLACES = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Appointment.replaces';

  const replacing = (appointment: unknown, parameter: object) => ({
    resourceType: 'Parameters',
    parameter: [
      { name: 'appt-resource', resource: appointment },
      { name: 'cancelled-appt-id', ...parameter },
    ],
  });

  async function aBooking() {
    const clinic = await aClinic();
    const later = await aSlot(clinic.schedule, 60, 90);
    const booked = resourceIn('Appointment', await book(proposed(clinic.patient, [clinic.slot])));
    return { ...clinic, later, booked, id: booked.id ?? '' };
  }

  describe('reschedule by replacement', () => {
    it.each<[string, (id: string) => object]>([
      ['a bare id', (id) => ({ valueUri: id })],
      ['a relative uri', (id) => ({ valueUri: `Appointment/${id}` })],
      ['an absolute uri', (id) => ({ valueUri: `${base}/Appointment/${id}` })],
      ['a Reference', (id) => ({ valueReference: { reference: `Appointment/${id}` } })],
    ])('the old one is cancelled, its slot freed, the new one points to it (%s)', async (_, parameter) => {
      const { schedule, patient, later, id } = await aBooking();
      const answer = await book(replacing(proposed(patient, [later], { from: 60, to: 90 }), parameter(id)));
      const replacement = resourceIn('Appointment', answer);
      expect(answer.status).toBe(201);
      expect(replacement.id).not.toBe(id);
      expect(replacement.extension).toEqual([{ url: REPLACES, valueReference: { reference: `Appointment/${id}` } }]);
      expect(resourceIn('Appointment', await request('portal-a', 'GET', `/Appointment/${id}`)).status).toBe(
        'cancelled',
      );
      expect(await slotsOf(schedule)).toEqual(['free 0-30', 'busy 60-90']);
    });

    it('may take the very time of the old one', async () => {
      const { schedule, slot, patient, id } = await aBooking();
      const answer = await book(replacing(proposed(patient, [slot], { to: 20 }), { valueUri: id }));
      expect(answer.status).toBe(201);
      expect(await slotsOf(schedule)).toEqual(['busy 0-20', 'free 20-30', 'free 60-90']);
    });

    it('both or neither: if the new one cannot be booked, the old one stays', async () => {
      const { schedule, patient, booked, id } = await aBooking();
      const taken = await aSlot(schedule, 120, 150, { status: 'busy' });
      const answer = await book(replacing(proposed(patient, [taken], { from: 120, to: 150 }), { valueUri: id }));
      expect(answer.status).toBe(409);
      expect((await request('portal-a', 'GET', `/Appointment/${id}`)).body).toEqual(booked);
      expect(await slotsOf(schedule)).toContain('busy 0-30');
    });

    it("an unknown or a stranger's appointment: 422, nothing booked", async () => {
      const foreign = await aBooking();
      const { schedule, patient, later } = await aBooking();
      const byStranger = await aClinic();
      for (const [role, id, body] of [
        ['portal-a', randomUUID(), proposed(patient, [later], { from: 60, to: 90 })],
        ['portal-b', foreign.id, proposed(byStranger.patient, [byStranger.slot])],
      ] as const) {
        const answer = await book(replacing(body, { valueUri: id }), role);
        expect(answer.status).toBe(422);
        expect(issuesOf(answer)).toContain('replaced-appointment-not-found Parameters.parameter[1].valueUri');
      }
      expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'free 60-90']);
      expect((await request('portal-a', 'GET', `/Appointment/${foreign.id}`)).body).toEqual(foreign.booked);
    });

    it('one of another server, or itself: 400', async () => {
      const { patient, later, id } = await aBooking();
      const body = proposed(patient, [later], { from: 60, to: 90 });
      for (const [appointment, valueUri] of [
        [body, `https://other.example/Appointment/${id}`],
        [{ ...body, id }, id],
      ] as const) {
        const answer = await book(replacing(appointment, { valueUri }));
        expect([answer.status, ...issuesOf(answer)]).toEqual([
          400,
          'malformed-request Parameters.parameter[1].valueUri',
        ]);
      }
    });

    it('one that was replaced cannot be replaced again: 409', async () => {
      const { schedule, patient, later, id } = await aBooking();
      await book(replacing(proposed(patient, [later], { from: 60, to: 90 }), { valueUri: id }));
      const third = await aSlot(schedule, 120, 150);
      const answer = await book(replacing(proposed(patient, [third], { from: 120, to: 150 }), { valueUri: id }));
      expect([answer.status, ...issuesOf(answer)]).toEqual([
        409,
        'appointment-closed Parameters.parameter[1].valueUri',
      ]);
    });
  });
});

describe('retry by Appointment.identifier', () => {
  it('the same slots, time and patient: 200 with the existing appointment, unchanged', async () => {
    const { slot, patient } = await aClinic();
    const body = proposed(patient, [slot], { identifier: identifier() });
    const first = await book(body);
    const second = await book({ ...body, start: '2031-01-06T09:00:00+01:00' });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('etag')).toBe(first.headers.get('etag'));
    expect((await request('portal-a', 'GET', `/Appointment/${resourceIn('Appointment', first).id}`)).body).toEqual(
      first.body,
    );
    expect(await appointmentsOn(slot)).toHaveLength(1);
  });

  it('a new booking is answered 201 whatever tags it carries', async () => {
    const { slot, patient } = await aClinic();
    const tag = [{ system: `${config.profileBase}/CodeSystem/LocalBookingAnswer`, code: 'existing' }];
    expect((await book(proposed(patient, [slot], { meta: { tag } }))).status).toBe(201);
  });

  it('of a move, after the clinic has confirmed it: 200, still confirmed', async () => {
    const { schedule, slot, patient } = await aClinic(byHand);
    const later = await aSlot(schedule, 60, 90);
    const { id } = resourceIn('Appointment', await book(proposed(patient, [slot])));
    const move = proposed(patient, [later], { ...(id && { id }), from: 60, to: 90, identifier: identifier() });
    expect((await book(move)).status).toBe(202);
    expect((await edit(id ?? '', { status: 'booked' })).status).toBe(200);
    const again = await book(move);
    expect([again.status, resourceIn('Appointment', again).status]).toEqual([200, 'booked']);
    const changed = await book({ ...move, comment: 'By the lift, please' });
    expect([changed.status, resourceIn('Appointment', changed).status]).toEqual([202, 'pending']);
  });

  it('many at the same moment: one booking, and all responses name it', async () => {
    const { slot, patient } = await aClinic();
    const body = proposed(patient, [slot], { identifier: identifier() });
    const answers = await simultaneously(12, () => book(body));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array.from({ length: 11 }, () => 200), 201]);
    expect(new Set(answers.map((answer) => resourceIn('Appointment', answer).id)).size).toBe(1);
    expect(await appointmentsOn(slot)).toHaveLength(1);
  });

  it('while it is pending: 202 with the existing appointment', async () => {
    const extension = [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: 'manual' }];
    const { slot, patient } = await aClinic({ extension });
    const body = proposed(patient, [slot], { identifier: identifier() });
    const [first, second] = [await book(body), await book(body)];
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body).toEqual(first.body);
  });

  it('with the patient handed over again: no second patient', async () => {
    const { slot } = await aClinic();
    const value = randomUUID();
    const patient = { resourceType: 'Patient', name: [{ family: 'Retry', given: [value] }] };
    const body = parameters(
      { ...proposed({ resourceType: 'Patient' }, [slot], { identifier: identifier() }), participant: undefined },
      ['patient', patient],
    );
    const [first, second] = [await book(body), await book(body)];
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(await stored('Patient', `given=${value}`)).toHaveLength(1);
  });

  it('of what was cancelled meanwhile is another booking', async () => {
    const { slot, patient } = await aClinic();
    const body = proposed(patient, [slot], { identifier: identifier() });
    const { id = '' } = resourceIn('Appointment', await book(body));
    expect((await edit(id, { status: 'cancelled' })).status).toBe(200);
    const again = await until(
      () => book(body),
      ({ status }) => status !== 409,
    );
    expect([again.status, resourceIn('Appointment', again).id === id]).toEqual([201, false]);
  });

  it('for another time or by another requestor it is another booking', async () => {
    const { slot, patient } = await aClinic({}, { end: '2031-01-06T12:00:00Z' });
    const body = proposed(patient, [slot], { identifier: identifier() });
    expect((await book(body)).status).toBe(201);
    const mine = await aPatient('portal-b');
    const byOther = await book({ ...proposed(mine, [slot], { identifier: body.identifier ?? [] }) }, 'portal-b');
    expect(byOther.status).toBe(409);
    expect((await book({ ...body, start: '2031-01-06T09:00:00Z', end: '2031-01-06T09:30:00Z' })).status).toBe(201);
  });
});
