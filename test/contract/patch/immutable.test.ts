import { describe, expect, it } from '@jest/globals';
import { aPatient, aSlot, book, minutes, proposed, succeeded } from '../fixtures.ts';
import { isActionable, issuesOf } from '../http.ts';
import { aBooking, fhirPathPatch, patch, read, replacing } from './fixtures.ts';

/** What the patches of the table know of the appointment they are meant for. */
interface Known {
  readonly patient: string;
  readonly otherPatient: string;
  readonly otherSlot: string;
}

const slotValue = ({ otherSlot }: Known) => ({ valueReference: { reference: otherSlot } });
const actorValue = ({ otherPatient }: Known) => ({ valueReference: { reference: otherPatient } });
const add = (path: string, name: string, value: object) => ({
  type: { valueCode: 'add' },
  path: { valueString: path },
  name: { valueString: name },
  value,
});
const insert = (path: string, index: number, value: object) => ({
  type: { valueCode: 'insert' },
  path: { valueString: path },
  index: { valueInteger: index },
  value,
});
const remove = (path: string) => ({ type: { valueCode: 'delete' }, path: { valueString: path } });
const actor = 'Appointment.participant[0].actor';

const table: readonly (readonly [string, (known: Known) => unknown, readonly string[]])[] = [
  [
    'replace start',
    () => fhirPathPatch(replacing('Appointment.start', { valueInstant: minutes(5) })),
    ['Appointment.start'],
  ],
  ['replace end', () => fhirPathPatch(replacing('end', { valueInstant: minutes(25) })), ['Appointment.end']],
  ['delete start', () => fhirPathPatch(remove('Appointment.start')), ['Appointment.start']],
  [
    'replace a slot',
    (known) => fhirPathPatch(replacing('Appointment.slot[0]', slotValue(known))),
    ['Appointment.slot'],
  ],
  [
    'replace the reference of a slot',
    ({ otherSlot }) => fhirPathPatch(replacing('Appointment.slot.first().reference', { valueString: otherSlot })),
    ['Appointment.slot'],
  ],
  ['add a slot', (known) => fhirPathPatch(add('Appointment', 'slot', slotValue(known))), ['Appointment.slot']],
  ['insert a slot', (known) => fhirPathPatch(insert('Appointment.slot', 0, slotValue(known))), ['Appointment.slot']],
  ['delete the slot', () => fhirPathPatch(remove('Appointment.slot[0]')), ['Appointment.slot']],
  ['replace the patient', (known) => fhirPathPatch(replacing(actor, actorValue(known))), [actor]],
  [
    'replace the patient, chosen by a condition',
    ({ patient, otherPatient }) =>
      fhirPathPatch(
        replacing(`Appointment.participant.where(actor.reference = '${patient}').actor.reference`, {
          valueString: otherPatient,
        }),
      ),
    [actor],
  ],
  ['delete the actor', () => fhirPathPatch(remove(actor)), [actor]],
  [
    'a second patient',
    (known) =>
      fhirPathPatch(
        add('Appointment', 'participant', {
          part: [
            { name: 'actor', ...actorValue(known) },
            { name: 'status', valueCode: 'accepted' },
          ],
        }),
      ),
    ['Appointment.participant[1].actor'],
  ],
  [
    'the patient by identifier only',
    () => fhirPathPatch(replacing(actor, { valueReference: { type: 'Patient', identifier: { value: '1' } } })),
    [actor],
  ],
  [
    'a patient to be looked up',
    () => fhirPathPatch(replacing(`${actor}.reference`, { valueString: 'Patient?identifier=1' })),
    [actor],
  ],
  [
    'all at once: one issue for each',
    (known) =>
      fhirPathPatch(
        replacing('Appointment.start', { valueInstant: minutes(5) }),
        replacing('Appointment.end', { valueInstant: minutes(25) }),
        replacing('Appointment.slot[0]', slotValue(known)),
        replacing(actor, actorValue(known)),
        replacing('Appointment.status', { valueCode: 'cancelled' }),
      ),
    ['Appointment.slot', 'Appointment.start', 'Appointment.end', actor],
  ],
  [
    'JSON Patch: start and slot',
    ({ otherSlot }) => [
      { op: 'replace', path: '/start', value: minutes(5) },
      { op: 'replace', path: '/slot/0/reference', value: otherSlot },
    ],
    ['Appointment.slot', 'Appointment.start'],
  ],
  ['JSON Patch: copy end over start', () => [{ op: 'copy', from: '/end', path: '/start' }], ['Appointment.start']],
  [
    'JSON Patch: what the service notes of the requestor',
    () => [{ op: 'remove', path: '/meta/extension' }],
    ['Appointment.meta.extension'],
  ],
  ['JSON Patch: move the participant away', () => [{ op: 'remove', path: '/participant/0/actor' }], [actor]],
];

describe('a patch that changes an immutable element', () => {
  it.each(table)('%s: 400 immutable-element, nothing changed', async (_, body, expressions) => {
    const { schedule, patient, id, booked } = await aBooking();
    const [later, stranger] = [await aSlot(schedule, 60, 90), await aPatient()];
    const known: Known = {
      patient: `Patient/${patient.id}`,
      otherPatient: `Patient/${stranger.id}`,
      otherSlot: `Slot/${later.id}`,
    };
    const answer = await patch(id, body(known));
    expect(answer.status).toBe(400);
    expect(issuesOf(answer)).toEqual(expressions.map((expression) => `immutable-element ${expression}`));
    expect(isActionable(answer)).toBe(true);
    expect(await read(id)).toEqual(booked);
  });

  it('another order of the slots is a change', async () => {
    const { schedule, slot, patient } = await aBooking();
    const [first, second] = [await aSlot(schedule, 60, 90), await aSlot(schedule, 90, 120)];
    const body = proposed(patient, [first, second], { from: 60, to: 120 });
    const booked = succeeded('Appointment', await book(body));
    const move = {
      type: { valueCode: 'move' },
      path: { valueString: 'Appointment.slot' },
      source: { valueInteger: 1 },
      destination: { valueInteger: 0 },
    };
    const answer = await patch(booked.id ?? '', fhirPathPatch(move));
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'immutable-element Appointment.slot']);
    expect(slot.status).toBe('free');
    expect(await read(booked.id ?? '')).toEqual(booked);
  });
});
