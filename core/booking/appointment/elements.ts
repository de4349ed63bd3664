import type { Appointment, AppointmentParticipant, Extension, Reference, Schedule } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { type Bounds, boundIssues } from '../../fhir/bounds.ts';
import { parseInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { formatReference, idIn, parseReference, withStoredReferences } from '../../fhir/reference.ts';
import { canonicalJson, isObject, isSameJson, isSameToken } from '../../fhir/resource.ts';
import { ownerOf, type ReservedEntry, reservedEntries } from '../../fhir/tags.ts';
import type { Changer } from './status.ts';

type Members = Readonly<Record<string, unknown>>;

/**
 * The rules of one element of an Appointment. An element without rules may have any value, and a re-submission replaces
 * it.
 */
interface ElementRule {
  readonly isRequired?: true;
  /** The most entries: each may cost a read or a write. A list united by re-submissions may have twice as many. */
  readonly most?: number;
  /** The only party that may change the element once it is stored: the server, people in Medplum, or `$book`. */
  readonly changedBy?: 'server' | 'medplum' | 'book';
  /** The form for comparison, where only `$book` may change the element. */
  readonly compared?: (value: unknown, baseUrl: string) => unknown;
  /** Whether a re-submission drops the stored value, because the request or the service sets it again. */
  readonly isSetAnew?: true;
  /** Whether a re-submission keeps the stored value only if the length of time stays the same. */
  readonly isLength?: true;
  /** The key of an entry. A re-submission adds entries, and replaces stored ones with the same key. */
  readonly unitedBy?: (entry: Members, baseUrl: string) => string;
  /** Whether the element describes a person. It is dropped when the appointment gets another patient. */
  readonly isPersonal?: true;
}

export const MAX_SLOTS = 50;

const moment = (value: unknown): unknown => parseInstant(value) ?? value;

const slots = (value: unknown, baseUrl: string): unknown[] =>
  (Array.isArray(value) ? value : []).map((one) => canonicalReference(one, 'Slot', baseUrl));

/** The rules of all elements of an Appointment. Every other rule about elements is derived from this table. */
const elements: Readonly<Record<string, ElementRule>> = {
  resourceType: { changedBy: 'server', isSetAnew: true },
  id: { changedBy: 'server', isSetAnew: true },
  meta: { isSetAnew: true },
  text: { isSetAnew: true },
  contained: { most: 50, unitedBy: ({ id }) => String(id), isPersonal: true },
  extension: { most: 50, unitedBy: ({ url }) => String(url) },
  identifier: { most: 50, unitedBy: ({ system, value }) => `${system}|${value}` },
  status: { isRequired: true, isSetAnew: true },
  cancelationReason: { isSetAnew: true },
  reasonCode: { isPersonal: true },
  reasonReference: { isPersonal: true },
  description: { isPersonal: true },
  supportingInformation: {
    most: 50,
    unitedBy: ({ reference }, baseUrl) => String(reference).replace(`${baseUrl}/`, ''),
    isPersonal: true,
  },
  slot: { most: MAX_SLOTS, changedBy: 'book', compared: slots, isSetAnew: true },
  start: { isRequired: true, changedBy: 'book', compared: moment, isSetAnew: true },
  end: { isRequired: true, changedBy: 'book', compared: moment, isSetAnew: true },
  minutesDuration: { isLength: true },
  comment: { isPersonal: true },
  patientInstruction: { isPersonal: true },
  basedOn: { isPersonal: true },
  participant: { isRequired: true, most: 50, isSetAnew: true },
};

/** The rules of the elements of its `meta`. Only the server may change those that are not listed. */
const metaElements: Readonly<Record<string, ElementRule>> = {
  tag: {},
  profile: {},
  security: { changedBy: 'medplum' },
  extension: { changedBy: 'medplum' },
};

const server: ElementRule = { changedBy: 'server' };

/** Removes the underscore: FHIR's JSON keeps the extensions of a primitive element in a separate property. */
export const elementName = (property: string): string => property.replace(/^_/, '');

export function ruleOf(property: string): ElementRule {
  const name = elementName(property);
  return (Object.hasOwn(elements, name) && elements[name]) || {};
}

const namesWhere = (holds: (rule: ElementRule) => unknown): string[] =>
  Object.keys(elements).filter((name) => holds(ruleOf(name)));

const bookedElements = namesWhere(({ changedBy }) => changedBy === 'book');

/** The elements that `$book` needs. */
export const requiredElements = namesWhere(({ isRequired }) => isRequired);

export const unitedElements = namesWhere(({ unitedBy }) => unitedBy);

/** The maximum lengths of an appointment's lists. */
export const appointmentBounds: Bounds = Object.fromEntries(
  Object.entries(elements).flatMap(([name, { most }]) => (most === undefined ? [] : [[name, most]])),
);

/** The maximum lengths of lists that were united by re-submissions. */
export const unitedBounds: Bounds = Object.fromEntries(
  unitedElements.map((name) => [name, 2 * (appointmentBounds[name] ?? 0)]),
);

/**
 * Checks the lists of an appointment that is being changed. A list that is already longer may stay that long.
 * @param result - of any content
 * @returns a `malformed-request` for each list that has grown beyond its bound
 */
export function grownListIssues(stored: Appointment, result: unknown): Issue[] {
  const known: Members = { ...stored };
  const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);
  const bounds = Object.entries(appointmentBounds).map(([name, most]) => [name, Math.max(most, lengthOf(known[name]))]);
  return boundIssues(result, Object.fromEntries(bounds), 'Appointment');
}

function differingNames(one: unknown, other: unknown): string[] {
  const [before, after]: Members[] = [one, other].map((value) => (isObject(value) ? value : {}));
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names].filter((name) => !isSameJson(before?.[name], after?.[name]));
}

const immutable = (expression: string, diagnostics: string): Issue => ({
  code: 'immutable-element',
  diagnostics: `${diagnostics} To move the appointment, send it to $book with its id.`,
  expression,
});

const unchangeable = (name: string): Issue =>
  immutable(`Appointment.${name}`, `The ${name} of an appointment cannot be changed.`);

/**
 * Finds changes by a patch that only the server or people in Medplum may make: to id, security labels and version, and
 * to elements of its slots other than the references. `immutableIssues` compares the references.
 * @param result - of any content
 * @returns a `patch-invalid` or an `immutable-element` for each
 */
export function unpatchableIssues(stored: Appointment, result: Members): Issue[] {
  const changed = [
    ...differingNames(stored, result).map((name) => [name, ruleOf(name)] as const),
    ...differingNames(stored.meta, result.meta).map(
      (name) => [`meta.${name}`, metaElements[elementName(name)] ?? server] as const,
    ),
  ];
  const besides = ({ slot }: Members) =>
    (Array.isArray(slot) ? slot : []).map((one: unknown) => isObject(one) && { ...one, reference: undefined });
  const slotIssues = isSameJson(besides({ ...stored }), besides(result)) ? [] : [unchangeable('slot')];
  const others = changed.flatMap(([name, { changedBy }]): Issue[] => {
    const expression = `Appointment.${name}`;
    if (changedBy === 'server') {
      const diagnostics = `${name} of an appointment is set by the server and cannot be patched.`;
      return [{ code: 'patch-invalid', diagnostics, expression }];
    }
    const diagnostics = `${name} of an appointment cannot be patched.`;
    return changedBy === 'medplum' ? [{ code: 'immutable-element', diagnostics, expression }] : [];
  });
  return [...slotIssues, ...others];
}

/**
 * A reference in a canonical spelling, for comparison. A reference to something outside this service stays unchanged.
 */
function canonicalReference(reference: Reference | undefined, type: 'Slot' | 'Patient', baseUrl: string): string {
  const read = parseReference(reference?.reference, baseUrl, [type]);
  return read ? formatReference(read) : JSON.stringify(reference?.reference ?? reference ?? null);
}

/** Whether an actor is a patient, or could be read as one: by its type, its contained resource, or any address. */
function isPatient({ actor }: AppointmentParticipant, { contained }: Appointment): boolean {
  const reference = actor?.reference ?? '';
  const inside = reference.startsWith('#')
    ? Array.isArray(contained) &&
      contained.some((resource) => resource?.resourceType === 'Patient' && `#${resource.id}` === reference)
    : false;
  return actor?.type === 'Patient' || /(^|\/)Patient[/?]|^urn:/i.test(reference) || inside;
}

/** The key of a patient among participants: reference in canonical spelling, display, identifier and type. */
function actorKey({ actor }: AppointmentParticipant, baseUrl: string): string {
  const { display, identifier, type } = actor ?? {};
  return JSON.stringify([canonicalReference(actor, 'Patient', baseUrl), display, identifier, type]);
}

function patientsOf(appointment: Appointment, baseUrl: string): { key: string; position: number }[] {
  return (appointment.participant ?? []).flatMap((participant, position) =>
    isPatient(participant, appointment) ? [{ key: actorKey(participant, baseUrl), position }] : [],
  );
}

/** An `immutable-element` at each position where a patient was added, removed or changed. */
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
 * Finds changes to elements that only `$book` may change: slots (their order counts), start and end as moments, and the
 * patients with display, identifier and type. Another spelling of the same moment or reference is not a change.
 * @param stored - the appointment as it is
 * @param result - the appointment as it would be
 * @param baseUrl - public base address of this service, without a slash at its end
 * @returns an `immutable-element` for each element that differs
 * @see specification 4.5
 */
export function immutableIssues(stored: Appointment, result: Appointment, baseUrl: string): Issue[] {
  const form = (one: Members, name: string) => [ruleOf(name).compared?.(one[name], baseUrl), one[`_${name}`]];
  return [
    ...bookedElements
      .filter((name) => !isSameJson(form({ ...stored }, name), form({ ...result }, name)))
      .map(unchangeable),
    ...patientIssues(stored, result, baseUrl),
  ];
}

/** Whether an appointment would get another time or other Slots. */
export const isMoved = (stored: Appointment, result: Appointment, baseUrl: string): boolean =>
  immutableIssues(stored, { ...result, participant: stored.participant }, baseUrl).length > 0;

/** Refuses a change of patients in Medplum: a `patient-mismatch` for each that differs. */
export const otherPatientIssues = (stored: Appointment, result: Appointment, baseUrl: string): Issue[] =>
  patientIssues(stored, result, baseUrl).map(({ expression }) => ({
    code: 'patient-mismatch',
    diagnostics: 'The patients of an appointment cannot be changed: cancel it, and book another one.',
    ...(expression !== undefined && { expression }),
  }));

/**
 * Finds actors who would leave an appointment although its Slots stay in their Schedule. The Schedule of the new actor
 * would still show that time as free.
 * @param calendars - the Schedules that it takes time from
 * @returns a `slot-mismatch` for each actor that is no longer named
 */
export function leftCalendarIssues(stored: Appointment, result: Appointment, calendars: readonly Schedule[]): Issue[] {
  const named = new Set(result.participant.map(({ actor }) => actor?.reference));
  const owners = new Set(calendars.flatMap(({ actor }) => actor.flatMap(({ reference }) => reference ?? [])));
  return stored.participant.flatMap(({ actor: { reference = '', display } = {} }, index) =>
    owners.has(reference) && !named.has(reference)
      ? [
          {
            code: 'slot-mismatch' as const,
            diagnostics: `The Slots of the appointment take the time of ${display ?? reference}: name Slots of the other calendar, too.`,
            expression: `Appointment.participant[${index}].actor`,
          },
        ]
      : [],
  );
}

/**
 * Gives the immutable elements and the references of a result the spelling in which they are stored. Elements that do
 * not change keep their stored spelling.
 * @param result - one without `immutableIssues`
 */
export function inStoredSpelling(stored: Appointment, result: Appointment, baseUrl: string): Appointment {
  const after: Members = { ...result };
  const isFixed = ([name, value]: [string, unknown]): boolean =>
    bookedElements.includes(name) || isSameJson(value, after[name]);
  const fixed = Object.entries(stored).filter(isFixed);
  return { ...withStoredReferences(result, baseUrl), ...Object.fromEntries(fixed) };
}

const keyOf = ({ path, entry }: ReservedEntry): string => canonicalJson([path, entry]);

/** The entries without a counterpart among others. Each of the others is the counterpart of one entry only. */
function missingFrom(entries: readonly ReservedEntry[], others: readonly ReservedEntry[]): ReservedEntry[] {
  const rest = others.map(keyOf);
  return entries.filter((entry) => {
    const index = rest.indexOf(keyOf(entry));
    return index < 0 || rest.splice(index, 1).length === 0;
  });
}

/**
 * Finds changes to entries that only the service may set: its tags, extensions, identifiers and codes, including the
 * tags of owner and origin. The letter case of systems is ignored. The clinic may omit the service's notes (author of a
 * change, submitted elements) and its codes, because the clinic gives its own reasons.
 * @param stored - the appointment as it is
 * @param result - the appointment as it would be
 * @returns an `immutable-element` for each element that differs
 */
export function reservedIssues(
  stored: Appointment,
  result: Appointment,
  changer: Changer,
  config: PublicConfig,
): Issue[] {
  const [before = [], after = []] = [stored, result].map((appointment) =>
    reservedEntries(appointment, 'Appointment', config),
  );
  const notes = [artefactUri(config, 'LocalChangedBy'), artefactUri(config, 'LocalSubmittedElements')];
  const isLeftOut = ({ entry }: ReservedEntry): boolean =>
    changer === 'staff' && notes.some((one) => isSameToken(String(entry.system ?? entry.url), one));
  const isCode = ({ path }: ReservedEntry): boolean => changer === 'staff' && path.endsWith('.coding');
  const removed = missingFrom(before, after).filter((entry) => !isLeftOut(entry));
  const changed = [...removed, ...missingFrom(after, before)].filter((entry) => !isCode(entry));
  return [...new Set(changed.map(({ path }) => path))].map((expression) => ({
    code: 'immutable-element',
    diagnostics: `Only the service may set or change ${expression}.`,
    expression,
  }));
}

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

const isStoredPatient = ({ actor }: AppointmentParticipant): boolean => idIn(actor, 'Patient') !== undefined;

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
    participant.filter((one) => !isStoredPatient(one)).map((one) => [participantKey(one), undefined] as const),
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
