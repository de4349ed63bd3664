import type { Appointment, AppointmentParticipant, Extension } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { idIn } from '../../fhir/reference.ts';
import { ownerOf } from '../../fhir/tags.ts';
import { elementName, ruleOf } from './elements.ts';

/**
 * What its requestor has sent of an appointment, of that which others may set, too: names, no content. It is stored in
 * `meta.extension`, so that a re-submission knows what the clinic has set: all the rest.
 */
export interface Submitted {
  /** Names of elements. */
  readonly elements: ReadonlySet<string>;
  /** References to participants who are no patients: the requestor alone decides who an appointment is for. */
  readonly participants: ReadonlySet<string>;
  /** Addresses of extensions. */
  readonly extensions: ReadonlySet<string>;
}

const nothing: Submitted = { elements: new Set(), participants: new Set(), extensions: new Set() };

/** The key that tells a participant from others. */
export const participantKey = ({ actor, ...rest }: AppointmentParticipant): string =>
  actor?.reference ?? JSON.stringify({ actor, ...rest });

const isPatient = ({ actor }: AppointmentParticipant): boolean => idIn(actor, 'Patient') !== undefined;

/** What can be sent of an appointment, by name; what a participant is like does not count. */
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
 * What the requestor has sent of an appointment after a change: what it changes is its own from then on, what others change
 * no longer is.
 *
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

/** What the requestor has sent of an appointment that is all its own. */
export const allOf = (appointment: Appointment): Submitted => submittedAfter(nothing, undefined, appointment, true);

/** What the requestor has sent of an appointment; `undefined` if it never wrote it. */
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
 * An appointment as it is about to be stored, with a note of what its requestor has sent of it.
 *
 * @param before - as it is stored; absent if it is new
 * @param who - id of the profile on whose behalf it is written
 * @param known - what the requestor has sent of it before; of one that it never wrote, nothing is noted
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
    // Whoever books sends a time, and nobody else changes it: the note is never empty.
    ...['start', ...elements].map((name) => ({ url: 'element', valueString: name })),
    ...[...participants].filter(isStored).map((reference) => ({ url: 'participant', valueReference: { reference } })),
    ...[...extensions].map((one) => ({ url: 'extension', valueUri: one })),
  ];
  const others = (after.meta?.extension ?? []).filter((one) => one.url !== url);
  return { ...after, meta: { ...after.meta, extension: [...others, { url, extension }] } };
}

/** The same of what somebody else has set: the requestor must not remove it by sending the appointment again. */
export const clinicPartOf = (appointment: Appointment, submitted: Submitted): Submitted =>
  forEachPart((part) => parts[part](appointment).flatMap(([name]) => (submitted[part].has(name) ? [] : name)));
