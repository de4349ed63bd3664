import type { Appointment, AppointmentParticipant, Extension } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { idIn } from '../../fhir/reference.ts';
import { ownerOf } from '../../fhir/tags.ts';
import { elementName, ruleOf } from './elements.ts';

/**
 * The names of the parts of an appointment that its requestor has sent, without content. They are stored in
 * `meta.extension`, so that a re-submission knows that the clinic has set the rest.
 */
export interface Submitted {
  readonly elements: ReadonlySet<string>;
  /** References to participants other than patients. The patients are always the requestor's. */
  readonly participants: ReadonlySet<string>;
  readonly extensions: ReadonlySet<string>;
}

const nothing: Submitted = { elements: new Set(), participants: new Set(), extensions: new Set() };

/** The key of a participant: its reference or, without one, all of its content. */
export const participantKey = ({ actor, ...rest }: AppointmentParticipant): string =>
  actor?.reference ?? JSON.stringify({ actor, ...rest });

const isPatient = ({ actor }: AppointmentParticipant): boolean => idIn(actor, 'Patient') !== undefined;

/** The parts of an appointment by name. For participants, only the reference counts. */
const parts: Readonly<
  Record<keyof Submitted, (appointment: Appointment) => (readonly [name: string, content: unknown])[]>
> = {
  elements: (appointment) =>
    Object.entries(appointment).flatMap(([property, content]) => {
      const { isSetAnew, unitedBy } = ruleOf(property);
      return isSetAnew || unitedBy ? [] : [[elementName(property), content] as const];
    }),
  participants: ({ participant = [] }) =>
    participant.filter((one) => !isPatient(one)).map((one) => [participantKey(one), undefined] as const),
  extensions: ({ extension = [] }) => extension.map((one) => [one.url, one] as const),
};

const forEachPart = (names: (part: keyof Submitted) => readonly string[]): Submitted => ({
  elements: new Set(names('elements')),
  participants: new Set(names('participants')),
  extensions: new Set(names('extensions')),
});

/**
 * The requestor's parts after a change. Parts that the requestor changes become the requestor's; parts that others
 * change no longer are.
 * @param before - absent if the appointment is new
 */
function submittedAfter(known: Submitted, before: Appointment | undefined, after: Appointment, isRequestors: boolean) {
  return forEachPart((part) => {
    const former = new Set((before ? parts[part](before) : []).map((one) => JSON.stringify(one)));
    const present = parts[part](after);
    const changed = new Set(present.flatMap((one) => (former.has(JSON.stringify(one)) ? [] : one[0])));
    const isOwn = (name: string): boolean => (changed.has(name) ? isRequestors : known[part].has(name));
    return present.map(([name]) => name).filter(isOwn);
  });
}

/** All parts of an appointment, as sent by its requestor. */
export const allOf = (appointment: Appointment): Submitted => submittedAfter(nothing, undefined, appointment, true);

/** The parts that the requestor has sent; `undefined` if the requestor never wrote the appointment. */
export function submittedOf({ meta }: Appointment, config: PublicConfig): Submitted | undefined {
  const url = artefactUri(config, 'LocalSubmittedElements');
  const mark = meta?.extension?.find((extension) => extension.url === url);
  const valuesAt = (part: string, value: (extension: Extension) => string | undefined): string[] =>
    (mark?.extension ?? []).flatMap((extension) => (extension.url === part ? (value(extension) ?? []) : []));
  return (
    mark && {
      elements: new Set(valuesAt('element', ({ valueString }) => valueString)),
      participants: new Set(valuesAt('participant', ({ valueReference }) => valueReference?.reference)),
      extensions: new Set(valuesAt('extension', ({ valueUri }) => valueUri)),
    }
  );
}

/**
 * Adds to an appointment the note of the parts that its requestor has sent.
 * @param before - the stored appointment; absent if it is new
 * @param who - id of the profile on whose behalf it is written
 * @param known - the requestor's parts before; without them, another party's write adds no note
 */
export function withSubmitted(
  after: Appointment,
  before: Appointment | undefined,
  who: string,
  config: PublicConfig,
  known: Submitted | undefined = before ? submittedOf(before, config) : nothing,
): Appointment {
  const isRequestors = ownerOf(after, config) === who;
  if (!known && !isRequestors) {
    return after;
  }
  const url = artefactUri(config, 'LocalSubmittedElements');
  const { elements, participants, extensions } = submittedAfter(known ?? nothing, before, after, isRequestors);
  const isStored = (key: string): boolean => after.participant.some(({ actor }) => actor?.reference === key);
  const extension: Extension[] = [
    // A booking always has a time that only the requestor sends, so the note is never empty.
    ...['start', ...elements].map((name) => ({ url: 'element', valueString: name })),
    ...[...participants].filter(isStored).map((reference) => ({ url: 'participant', valueReference: { reference } })),
    ...[...extensions].map((one) => ({ url: 'extension', valueUri: one })),
  ];
  const others = (after.meta?.extension ?? []).filter((one) => one.url !== url);
  return { ...after, meta: { ...after.meta, extension: [...others, { url, extension }] } };
}

/** The parts that the clinic has set. A re-submission by the requestor must not remove them. */
export const clinicPartOf = (appointment: Appointment, submitted: Submitted): Submitted =>
  forEachPart((part) => parts[part](appointment).flatMap(([name]) => (submitted[part].has(name) ? [] : name)));
