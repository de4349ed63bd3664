import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { REPLACES } from '../../core/fhir/tags.ts';
import { eventually } from '../lib/until.ts';
import { change } from './calendar/fixtures.ts';
import {
  aClinic,
  answers,
  aPatient,
  appointmentsOn,
  aSchedule,
  aSlot,
  book,
  minutes,
  parameters,
  proposed,
  several,
  simultaneously,
  slotsOf,
  stored,
  succeeded,
} from './fixtures.ts';
import { issuesOf, medplum, refusalOf, resourceIn } from './http.ts';
import { base, config } from './installation.ts';
import { patch, read } from './patch/fixtures.ts';
import { count, policy } from './policy/fixtures.ts';
import { byHand, edit } from './status/fixtures.ts';

const identifier = () => [{ system: 'urn:portal-a', value: randomUUID() }];

/** A slot from the morning on, a part of it booked, and a free slot an hour after its beginning. */
async function aBooking({ end = 30, from = 0, to = 30 } = {}) {
  const clinic = await aClinic({}, { end: minutes(end) });
  const booked = resourceIn('Appointment', await book(proposed(clinic.patient, [clinic.slot], { from, to })));
  return { ...clinic, booked, id: booked.id ?? '' };
}

async function aMovable() {
  const booking = await aBooking();
  const later = await aSlot(booking.schedule, 60, 90);
  return { ...booking, later, move: proposed(booking.patient, [later], { id: booking.id, from: 60, to: 90 }) };
}

describe('re-submission of a known id', () => {
  it('moves the appointment: 201, same id, new version, its old slot free', async () => {
    const { schedule, slot, patient, booked, id, later, move } = await aMovable();
    const response = await book(move);
    const moved = resourceIn('Appointment', response);
    const slots = [{ reference: `Slot/${later.id}` }];
    expect([response.status, moved]).toMatchObject([201, { id, status: 'booked', start: minutes(60), slot: slots }]);
    expect(moved.meta?.versionId).not.toBe(booked.meta?.versionId);
    expect(await slotsOf(schedule)).toEqual(['free 0-30', 'busy 60-90']);
    expect((await book(proposed(patient, [slot]))).status).toBe(201);
  });

  // biome-ignore format: a row a line
  it.each<[string, { end?: number; from?: number; to?: number }, { from: number; to: number }, number, string[]]>([
    ['shortens it over its own slot', {}, { from: 0, to: 10 }, 201, ['busy 0-10', 'free 10-30']],
    ['lengthens it over the rest of its own slot', { end: 240, from: 60, to: 90 }, { from: 30, to: 120 }, 201, ['free 0-30', 'busy 30-120', 'free 120-240']],
    ['moves it within its own slot', { end: 240, from: 60, to: 90 }, { from: 90, to: 120 }, 201, ['free 0-90', 'busy 90-120', 'free 120-240']],
  ])('%s', async (_, booking, time, status, slots) => {
    const { schedule, slot, patient, id } = await aBooking(booking);
    expect((await book(proposed(patient, [slot], { id, ...time }))).status).toBe(status);
    expect(await slotsOf(schedule)).toEqual(slots);
  });

  it('lengthens it over a free slot next to its own, by the names that a search gives', async () => {
    const { schedule, slot, patient, id } = await aBooking({ end: 60, from: 20, to: 40 });
    const [, after] = await stored('Slot', `schedule=Schedule/${schedule.id}&status=free&_sort=start`);
    expect((await book(proposed(patient, after ? [slot, after] : [], { id, from: 20, to: 60 }))).status).toBe(201);
    expect(await slotsOf(schedule)).toEqual(['free 0-20', 'busy 20-60']);
  });

  it('a time of its slot that others have taken: 409', async () => {
    const { schedule, slot, patient, id } = await aBooking({ end: 60, from: 20, to: 40 });
    expect((await book(proposed(patient, [slot], { from: 40, to: 50 }))).status).toBe(201);
    const response = await book(proposed(patient, [slot], { id, from: 30, to: 50 }));
    expect(refusalOf(response)).toEqual([409, 'slot-not-free Appointment.slot[0]']);
    expect(await slotsOf(schedule)).toEqual(['free 0-20', 'busy 20-40', 'busy 40-50', 'free 50-60']);
  });

  it('a slot narrowed by the booking and freed again is whole free time once more', async () => {
    const { schedule, patient, id } = await aBooking({ end: 240, from: 60, to: 90 });
    const slot = await aSlot(schedule, 300, 330);
    expect((await book(proposed(patient, [slot], { id, from: 300, to: 330 }))).status).toBe(201);
    expect(await slotsOf(schedule)).toEqual(['free 0-240', 'busy 300-330']);
  });

  it('not available in the changed form: 409, and not one byte changed', async () => {
    const { schedule, patient, id, booked } = await aBooking();
    const taken = await aSlot(schedule, 60, 90, { status: 'busy' });
    const response = await book(proposed(patient, [taken], { id, from: 60, to: 90 }));
    expect(refusalOf(response)).toEqual([409, 'slot-not-free Appointment.slot[0]']);
    expect([await read(id), await slotsOf(schedule)]).toEqual([booked, ['busy 0-30', 'busy 60-90']]);
  });

  it.each(['cancelled', 'fulfilled', 'noshow'])('of one that is %s: 409', async (status) => {
    const { schedule, booked, id, move } = await aMovable();
    expect((await medplum('admin', 'PUT', `/Appointment/${id}`, { body: { ...booked, status } })).status).toBe(200);
    expect(refusalOf(await book(move))).toEqual([409, 'appointment-closed Appointment.id']);
    expect(await slotsOf(schedule)).toContain('free 60-90');
  });

  it("a stranger's id: a new appointment under a new id, just like an unknown one", async () => {
    const { id, booked } = await aBooking();
    const mine = await aPatient('portal-b');
    for (const given of [id, randomUUID()]) {
      const { slot } = await aClinic();
      const made = succeeded('Appointment', await book(proposed(mine, [slot], { id: given }), 'portal-b'));
      expect(made.id).not.toBe(given);
    }
    expect(await read(id)).toEqual(booked);
  });
});

describe('If-Match', () => {
  const matching = (version: string | undefined) => ({ 'if-match': `W/"${version}"` });

  it('with another version than the current one nothing is moved: 412', async () => {
    const { id, booked, move, schedule } = await aMovable();
    succeeded('Appointment', await edit(id, { patientInstruction: 'Come fasting' }));
    const response = await book(move, 'portal-a', matching(booked.meta?.versionId));
    expect(refusalOf(response)).toEqual([412, 'version-conflict Appointment.id']);
    const after = await read(id);
    expect([after.start, after.patientInstruction]).toEqual([minutes(0), 'Come fasting']);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'free 60-90']);
    expect((await book(move, 'portal-a', matching(after.meta?.versionId))).status).toBe(201);
  });

  it.each<[string, Record<string, string>, number, string]>([
    ['of what is not moved', matching('1'), 412, 'version-conflict Appointment.id'],
    ['without its quotes', { 'if-match': '1' }, 400, 'malformed-request http.If-Match'],
    ['with respond-async', { ...matching('1'), prefer: 'respond-async' }, 400, 'malformed-request http.If-Match'],
  ])('%s: %i, and nothing is booked', async (_, headers, status, issue) => {
    const { patient, slot, schedule } = await aClinic();
    expect(refusalOf(await book(proposed(patient, [slot]), 'portal-a', headers))).toEqual([status, issue]);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
  });
});

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
  const participant = [...(await read(id)).participant, nurse];
  const stored = succeeded('Appointment', await edit(id, { patientInstruction: 'Come fasting', participant }));
  return { ...clinic, id, first, stored, nurse, later: await aSlot(clinic.schedule, 60, 90) };
}

/** A move that names nothing but what must be named, as docs/portals.md shows it. */
const bare = ({ patient, later, id }: Awaited<ReturnType<typeof aTalkedAboutBooking>>): Appointment => ({
  ...{ resourceType: 'Appointment', id, status: 'proposed', start: minutes(60), end: minutes(90) },
  slot: [{ reference: `Slot/${later.id}` }],
  participant: [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' }],
});

const moved = async (body: unknown, role: 'portal-a' | 'front-desk' = 'portal-a') =>
  succeeded('Appointment', await book(body, role));

describe('a move to another patient', () => {
  it('keeps nothing that tells of the former one: comment, reason, instructions, answers, extensions', async () => {
    const booking = await aTalkedAboutBooking();
    const patient = await aPatient();
    const now = await moved(bare({ ...booking, patient: patient }));
    const { comment, reasonCode, extension = [], supportingInformation, patientInstruction } = now;
    expect({ comment, reasonCode, supportingInformation, patientInstruction }).toEqual({});
    expect(extension.map(({ url }) => url)).not.toContain(said.extension?.[0]?.url);
    expect(now).toMatchObject({ id: booking.id, identifier: booking.stored.identifier, priority: said.priority });
    const references = [`Patient/${patient.id}`, booking.nurse.actor.reference];
    expect(now.participant.map(({ actor }) => actor?.reference)).toEqual(references);
  });

  it('takes what is said anew, also where the clinic had said something', async () => {
    const booking = await aTalkedAboutBooking();
    const again = { comment: 'By the stairs', patientInstruction: 'Bring a friend' };
    expect(await moved({ ...bare({ ...booking, patient: await aPatient() }), ...again })).toMatchObject(again);
  });
});

describe('a move', () => {
  it('keeps what it does not name, of the portal and of the clinic', async () => {
    const booking = await aTalkedAboutBooking();
    const { identifier, supportingInformation, serviceType } = booking.stored;
    const now = await moved(bare(booking));
    const kept = { identifier, supportingInformation, serviceType, patientInstruction: 'Come fasting' };
    expect(now).toMatchObject({ ...said, ...kept, status: 'booked', start: minutes(60) });
    expect([supportingInformation?.length, now.participant]).toMatchObject([1, [{}, booking.nurse]]);
  });

  it('replaces what it names of the portal, not what the clinic has said until the portal has changed it again', async () => {
    const booking = await aTalkedAboutBooking();
    succeeded('Appointment', await edit(booking.id, { comment: 'By the stairs', priority: 1 }));
    expect((await patch(booking.id, [{ op: 'replace', path: '/priority', value: 2 }])).status).toBe(200);
    const named = { comment: 'On foot', priority: 3, patientInstruction: 'As you like', reasonCode: [{ text: 'New' }] };
    const result = {
      comment: 'By the stairs',
      priority: 3,
      patientInstruction: 'Come fasting',
      reasonCode: [{ text: 'New' }],
    };
    expect(await moved({ ...bare(booking), ...named })).toMatchObject(result);
  });

  it('by staff replaces what they name, and keeps the rest', async () => {
    const booking = await aTalkedAboutBooking();
    const now = await moved({ ...bare(booking), patientInstruction: 'Have breakfast' }, 'front-desk');
    expect(now).toMatchObject({ ...said, patientInstruction: 'Have breakfast', participant: [{}, {}] });
  });

  it('to other calendars has whose they are in the place of whom the clinic had named, and keeps others', async () => {
    const booking = await aTalkedAboutBooking();
    const [brandt, aksoy, moreau] = ['Brandt', 'Aksoy', 'Moreau'].map((display) => {
      return { actor: { reference: `Practitioner/${randomUUID()}`, display }, status: 'accepted' as const };
    });
    const inCalendarOf = (one: typeof brandt) => ({ actor: one ? [one.actor] : [] });
    await change('Schedule', { ...booking.schedule, ...inCalendarOf(brandt) });
    const participant = [...booking.stored.participant, ...(brandt ? [brandt] : [])];
    succeeded('Appointment', await edit(booking.id, { participant }));
    for (const [role, doctor] of [
      ['front-desk', aksoy],
      ['portal-a', moreau],
    ] as const) {
      const later = await aSlot(await aSchedule(inCalendarOf(doctor)), 60, 90);
      const now = await moved(bare({ ...booking, later }), role);
      expect(now.participant.slice(1)).toEqual([booking.nurse, doctor]);
    }
  });

  it('unites identifiers and answers; what was read back is not doubled; sent again it changes nothing', async () => {
    const booking = await aTalkedAboutBooking();
    const second = identifier();
    const body = parameters({ ...bare(booking), identifier: second }, ['patientSubmittedInformation', answers]);
    const united = await moved(body);
    expect(united.identifier).toEqual([...second, ...(booking.first.identifier ?? [])]);
    expect(united.supportingInformation).toHaveLength(2);
    const other = await aTalkedAboutBooking();
    const { meta: _, ...readBack } = other.stored;
    const { identifier: ids, extension, supportingInformation, participant } = readBack;
    const now = await moved({ ...readBack, ...bare(other), participant });
    expect(now).toMatchObject({ identifier: ids, extension, supportingInformation });
    expect(now.participant).toHaveLength(participant.length);
    const again = await book(bare(other));
    expect([again.status, again.body]).toEqual([200, now]);
  });

  it('does not let lists grow for ever: 400', async () => {
    const booking = await aTalkedAboutBooking();
    const many = () => ({ ...bare(booking), identifier: Array.from({ length: 40 }, () => identifier()).flat() });
    expect([(await book(many())).status, (await book(many())).status]).toEqual([201, 201]);
    expect(refusalOf(await book(many()))).toEqual([400, 'malformed-request Appointment.identifier']);
  });
});

describe('the first request sent again after a move', () => {
  it('books no second appointment: 200, the moved one, also when somebody else has its slot by then', async () => {
    const booking = await aTalkedAboutBooking();
    const now = await moved(bare(booking));
    const again = await book(booking.first);
    expect([again.status, again.body]).toEqual([200, now]);
    expect((await appointmentsOn(booking.slot)).filter(({ status }) => status === 'booked')).toEqual([]);
    expect((await book(proposed(booking.patient, [booking.slot]))).status).toBe(201);
    expect((await book(booking.first)).body).toEqual(now);
  });

  it('is another booking with another identifier, or for another time', async () => {
    const booking = await aTalkedAboutBooking();
    const third = await aSlot(booking.schedule, 120, 150);
    const now = await moved(bare(booking));
    const time = { identifier: booking.first.identifier ?? [], from: 120, to: 150 };
    for (const body of [{ ...booking.first, identifier: identifier() }, proposed(booking.patient, [third], time)]) {
      const answer = await book(body);
      expect([answer.status, resourceIn('Appointment', answer).id === now.id]).toEqual([201, false]);
    }
  });
});

describe('reschedule by replacement', () => {
  const replacing = (appointment: unknown, parameter: object) => ({
    resourceType: 'Parameters',
    parameter: [
      { name: 'appt-resource', resource: appointment },
      { name: 'cancelled-appt-id', ...parameter },
    ],
  });

  const at = (slot: Slot, { patient }: Awaited<ReturnType<typeof aMovable>>, from: number, to = from + 30) =>
    proposed(patient, [slot], { from, to });

  it.each<[string, (id: string) => object]>([
    ['a bare id', (id) => ({ valueUri: id })],
    ['a relative uri', (id) => ({ valueUri: `Appointment/${id}` })],
    ['an absolute uri', (id) => ({ valueUri: `${base}/Appointment/${id}` })],
    ['a Reference', (id) => ({ valueReference: { reference: `Appointment/${id}` } })],
  ])('the old one is cancelled, its slot freed, the new one points to it (%s)', async (_, parameter) => {
    const booking = await aMovable();
    const { schedule, later, id } = booking;
    const response = await book(replacing(at(later, booking, 60), parameter(id)));
    const replacement = resourceIn('Appointment', response);
    expect([response.status, replacement.id === id]).toEqual([201, false]);
    expect(replacement.extension).toEqual([{ url: REPLACES, valueReference: { reference: `Appointment/${id}` } }]);
    expect([(await read(id)).status, await slotsOf(schedule)]).toEqual(['cancelled', ['free 0-30', 'busy 60-90']]);
    const third = await aSlot(schedule, 120, 150);
    const again = await book(replacing(at(third, booking, 120), { valueUri: id }));
    expect(refusalOf(again)).toEqual([409, 'appointment-closed Parameters.parameter[1].valueUri']);
  });

  it('of several by several: each names its own, the successors are named, and a limit counts none twice', async () => {
    const schedule = await aSchedule(policy(count('maxOpenPerPatient', 3), count('maxPerPortalAndDay', 3)));
    const slots = await simultaneously(5, (index) => aSlot(schedule, index * 30, index * 30 + 30));
    const patient = await aPatient();
    const wish = (index: number) =>
      proposed(patient, slots.slice(index, index + 1), { from: index * 30, to: index * 30 + 30 });
    const old = await simultaneously(3, async (index) => succeeded('Appointment', await book(wish(index))));
    const replaced = old.map(({ id }) => ({ name: 'cancelled-appt-id', valueUri: id }));
    const { parameter } = several(wish(3), wish(4));
    const response = await book({ resourceType: 'Parameters', parameter: [...parameter, ...replaced] });
    const made = (resourceIn('Bundle', response).entry ?? []).map(({ resource }) => resource);
    const url = artefactUri(config, 'LocalReplacedBy');
    const successors = await Promise.all(
      old.map(async ({ id }) => {
        const { status, extension = [] } = await read(id ?? '');
        return [status, extension.find((one) => one.url === url)?.valueReference?.reference];
      }),
    );
    expect([response.status, made.length]).toEqual([201, 2]);
    const [first, last] = made.map((one) => `Appointment/${one?.id}`);
    expect(successors).toEqual([
      ['cancelled', first],
      ['cancelled', last],
      ['cancelled', last],
    ]);
    expect((await slotsOf(schedule)).map((slot) => slot.split(' ')[0])).toEqual([
      'free',
      'free',
      'free',
      'busy',
      'busy',
    ]);
  });

  it('of one that the same request moves: 400, at once, and nothing has changed', async () => {
    const booking = await aMovable();
    const { schedule, slot, later, id, patient } = booking;
    const third = await aSlot(schedule, 120, 150);
    const { parameter } = several(proposed(patient, [third], { from: 120, to: 150 }), {
      ...at(later, booking, 60),
      id,
    });
    const replaced = { name: 'cancelled-appt-id', valueUri: id };
    const response = await book({ resourceType: 'Parameters', parameter: [...parameter, replaced] });
    expect(refusalOf(response)).toEqual([400, 'malformed-request Parameters.parameter[2].valueUri']);
    expect([(await read(id)).status, slot.status]).toEqual(['booked', 'free']);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'free 60-90', 'free 120-150']);
  });

  it('may take the very time of the old one; if the new one cannot be booked, the old one stays', async () => {
    const booking = await aMovable();
    const { schedule, slot, booked, id } = booking;
    const taken = await aSlot(schedule, 120, 150, { status: 'busy' });
    expect((await book(replacing(at(taken, booking, 120), { valueUri: id }))).status).toBe(409);
    expect(await read(id)).toEqual(booked);
    expect((await book(replacing(at(slot, booking, 0, 20), { valueUri: id }))).status).toBe(201);
    expect(await slotsOf(schedule)).toEqual(['busy 0-20', 'free 20-30', 'free 60-90', 'busy 120-150']);
  });

  it("an unknown or a stranger's appointment: 422; one of another server, or itself: 400; nothing booked", async () => {
    const [booking, foreign, byStranger] = [await aMovable(), await aMovable(), await aClinic()];
    const { schedule, later, id } = booking;
    const own = at(later, booking, 60);
    const [unknown, malformed] = ['replaced-appointment-not-found', 'malformed-request'];
    for (const [role, body, valueUri, status, issue] of [
      ['portal-a', own, randomUUID(), 422, unknown],
      ['portal-b', proposed(byStranger.patient, [byStranger.slot]), foreign.id, 422, unknown],
      ['portal-a', own, `https://other.example/Appointment/${id}`, 400, malformed],
      ['portal-a', { ...own, id }, id, 400, malformed],
    ] as const) {
      const response = await book(replacing(body, { valueUri }), role);
      expect(response.status).toBe(status);
      expect(issuesOf(response)).toContain(`${issue} Parameters.parameter[1].valueUri`);
    }
    expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'free 60-90']);
    expect(await read(foreign.id)).toEqual(foreign.booked);
  });
});

describe('retry by Appointment.identifier', () => {
  it('the same slots, time and patient: 200 with the existing appointment, unchanged', async () => {
    const { slot, patient } = await aClinic();
    const tag = [{ system: `${config.profileBase}/CodeSystem/LocalBookingAnswer`, code: 'existing' }];
    const body = proposed(patient, [slot], { identifier: identifier(), meta: { tag } });
    const first = await book(body);
    const second = await book({ ...body, start: '2031-01-06T09:00:00+01:00' });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect([second.body, second.headers.get('etag')]).toEqual([first.body, first.headers.get('etag')]);
    expect(await read(resourceIn('Appointment', first).id ?? '')).toEqual(first.body);
    expect(await appointmentsOn(slot)).toHaveLength(1);
  });

  it('while it is pending: 202 with the existing appointment', async () => {
    const { slot, patient } = await aClinic(byHand);
    const body = proposed(patient, [slot], { identifier: identifier() });
    const [first, second] = [await book(body), await book(body)];
    expect([first.status, second.status, second.body]).toEqual([202, 202, first.body]);
  });

  it('of a move, after the clinic has confirmed it: 200, still confirmed', async () => {
    const { schedule, slot, patient } = await aClinic(byHand);
    const later = await aSlot(schedule, 60, 90);
    const { id = '' } = resourceIn('Appointment', await book(proposed(patient, [slot])));
    const move = proposed(patient, [later], { id, from: 60, to: 90, identifier: identifier() });
    expect((await book(move)).status).toBe(202);
    expect((await edit(id, { status: 'booked' })).status).toBe(200);
    for (const [body, status, state] of [
      [move, 200, 'booked'],
      [{ ...move, comment: 'By the lift, please' }, 202, 'pending'],
    ] as const) {
      const response = await book(body);
      expect([response.status, resourceIn('Appointment', response).status]).toEqual([status, state]);
    }
  });

  it('many at the same moment: one booking, and all responses name it', async () => {
    const { slot, patient } = await aClinic();
    const body = proposed(patient, [slot], { identifier: identifier() });
    const all = await simultaneously(12, () => book(body));
    expect(all.map(({ status }) => status).sort()).toEqual([...Array.from({ length: 11 }, () => 200), 201]);
    expect(new Set(all.map((response) => resourceIn('Appointment', response).id)).size).toBe(1);
    expect(await appointmentsOn(slot)).toHaveLength(1);
  });

  it('with the patient handed over again: no second patient', async () => {
    const { slot, patient } = await aClinic();
    const given = [randomUUID()];
    const appointment = { ...proposed(patient, [slot], { identifier: identifier() }), participant: undefined };
    const body = parameters(appointment, ['patient', { resourceType: 'Patient', name: [{ family: 'Retry', given }] }]);
    expect([(await book(body)).status, (await book(body)).status]).toEqual([201, 200]);
    expect(await stored('Patient', `given=${given}`)).toHaveLength(1);
  });

  it('of what was cancelled meanwhile, for another time or by another requestor it is another booking', async () => {
    const { slot, patient } = await aClinic({}, { end: '2031-01-06T12:00:00Z' });
    const body = proposed(patient, [slot], { identifier: identifier() });
    const { id = '' } = resourceIn('Appointment', await book(body));
    const mine = await aPatient('portal-b');
    const byOther = await book({ ...proposed(mine, [slot]), identifier: body.identifier }, 'portal-b');
    expect(byOther.status).toBe(409);
    expect((await book({ ...body, start: minutes(60), end: minutes(90) })).status).toBe(201);
    expect((await edit(id, { status: 'cancelled' })).status).toBe(200);
    const again = await eventually(() => book(body)).is(({ status }) => status !== 409);
    expect([again.status, resourceIn('Appointment', again).id === id]).toEqual([201, false]);
  });
});
