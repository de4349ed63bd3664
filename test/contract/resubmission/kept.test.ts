import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import {
  aClinic,
  aPatient,
  appointmentsOn,
  aSlot,
  book,
  minutes,
  parameters,
  proposed,
  succeeded,
} from '../fixtures.ts';
import { issuesOf, medplum, resourceIn } from '../http.ts';
import { patch, read } from '../patch/fixtures.ts';
import { edit } from '../status/fixtures.ts';

const identifier = () => [{ system: 'urn:portal-a', value: randomUUID() }];

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
