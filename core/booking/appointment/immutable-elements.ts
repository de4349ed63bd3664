import type { Appointment, AppointmentParticipant, Element, Reference } from '@medplum/fhirtypes';
import { parseInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { formatReference, parseReference } from '../../fhir/reference/reference.ts';
import { parseActor } from './actors.ts';

/** FHIR's JSON keeps the extensions of a primitive element in a separate property. */
type WithInstantExtensions = Appointment & { readonly _start?: Element; readonly _end?: Element };

const immutable = (expression: string, diagnostics: string): Issue => ({
  code: 'immutable-element',
  diagnostics: `${diagnostics} To move the appointment, send it to $book with its id.`,
  expression,
});

/** A reference in a canonical spelling, for comparison; a reference to something outside this service stays unchanged. */
function spelledOut(reference: Reference | undefined, type: 'Slot' | 'Patient', baseUrl: string): string {
  const read = parseReference(reference?.reference, baseUrl, [type]);
  return read ? formatReference(read) : JSON.stringify(reference?.reference ?? reference ?? null);
}

function slotIssues(stored: Appointment, result: Appointment, baseUrl: string): Issue[] {
  const [before, after] = [stored, result].map(({ slot }) =>
    (slot ?? []).map((reference) => spelledOut(reference, 'Slot', baseUrl)).join(),
  );
  return before === after ? [] : [immutable('Appointment.slot', 'The slots of an appointment cannot be changed.')];
}

function timeIssues(stored: WithInstantExtensions, result: WithInstantExtensions): Issue[] {
  return (['start', 'end'] as const).flatMap((name) => {
    const isSame = stored[name] === result[name] || parseInstant(stored[name]) === parseInstant(result[name]);
    const isReadable = stored[name] === result[name] || parseInstant(result[name]) !== undefined;
    const extension = `_${name}` as const;
    const isAnnotated = JSON.stringify(stored[extension]) !== JSON.stringify(result[extension]);
    return isSame && isReadable && !isAnnotated
      ? []
      : [immutable(`Appointment.${name}`, `The ${name} of an appointment cannot be changed.`)];
  });
}

/** Whether an actor is a patient, or could be read as one: by its type, its contained resource, or any address. */
function isPatient({ actor }: AppointmentParticipant, { contained }: Appointment): boolean {
  const reference = actor?.reference ?? '';
  const inside = reference.startsWith('#')
    ? Array.isArray(contained) && contained.some((one) => one?.resourceType === 'Patient' && `#${one.id}` === reference)
    : false;
  return actor?.type === 'Patient' || /(^|\/)Patient[/?]|^urn:/i.test(reference) || inside;
}

/** A patient as a participant names it: everything but the spelling of the reference counts. */
function actorKey({ actor }: AppointmentParticipant, baseUrl: string): string {
  const { display, identifier, type } = actor ?? {};
  return JSON.stringify([spelledOut(actor, 'Patient', baseUrl), display, identifier, type]);
}

/** The patients of an appointment, each with its position among the participants. */
function patientsOf(appointment: Appointment, baseUrl: string): { key: string; position: number }[] {
  return (appointment.participant ?? []).flatMap((participant, position) =>
    isPatient(participant, appointment) ? [{ key: actorKey(participant, baseUrl), position }] : [],
  );
}

function patientIssues(stored: Appointment, result: Appointment, baseUrl: string): Issue[] {
  const before = patientsOf(stored, baseUrl);
  const added = patientsOf(result, baseUrl);
  const removed = before.filter(({ key }) => {
    const index = added.findIndex((candidate) => candidate.key === key);
    return index < 0 || added.splice(index, 1).length === 0;
  });
  const positions = [...new Set([...removed, ...added].map(({ position }) => position))].sort((a, b) => a - b);
  return positions.map((position) =>
    immutable(`Appointment.participant[${position}].actor`, 'The patients of an appointment cannot be changed.'),
  );
}

/**
 * Compares what would be stored with what is stored: slots (their order counts), start and end as moments, and the actors
 * that are patients, with display, identifier and type. How a change came about does not matter, nor does another spelling
 * of the same moment or reference.
 *
 * @param stored - the appointment as it is
 * @param result - the appointment as it would be
 * @param baseUrl - public base address of this service, without a slash at its end
 * @returns an `immutable-element` for each element that differs
 * @see specification 4.5
 */
export function immutableIssues(stored: Appointment, result: Appointment, baseUrl: string): Issue[] {
  return [
    ...slotIssues(stored, result, baseUrl),
    ...timeIssues(stored, result),
    ...patientIssues(stored, result, baseUrl),
  ];
}

/**
 * Gives the immutable elements and the participants of a result the spelling in which they are stored.
 *
 * @param result - one that has no `immutableIssues`
 */
export function inStoredSpelling(stored: Appointment, result: Appointment, baseUrl: string): Appointment {
  const participant = (result.participant ?? []).map((one) => {
    const actor = parseActor(one.actor?.reference, baseUrl);
    return actor ? { ...one, actor: { ...one.actor, reference: formatReference(actor) } } : one;
  });
  return {
    ...result,
    ...(stored.slot && { slot: stored.slot }),
    ...(stored.start && { start: stored.start }),
    ...(stored.end && { end: stored.end }),
    participant,
  };
}
