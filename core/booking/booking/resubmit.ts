import type { Appointment, AppointmentParticipant, CodeableConcept, Meta, Schedule } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { boundIssues, sizeBeyond, sizeProblem } from '../../fhir/bounds.ts';
import { parseInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { idIn, serviceIdOf } from '../../fhir/reference.ts';
import { isObject } from '../../fhir/resource.ts';
import { REPLACES } from '../../fhir/tags.ts';
import { inOtherCalendars } from '../appointment/actors.ts';
import {
  elementName,
  participantKey,
  ruleOf,
  type Submitted,
  unitedBounds,
  unitedElements,
} from '../appointment/elements.ts';
import { passingExtensions } from '../appointment/expiry.ts';
import type { Located } from '../request/parameters.ts';

type Entry = Readonly<Record<string, unknown>>;

/** The maximum length of the lists in `meta`, unless the stored ones are already longer. */
const MAX_MARKS = 100;

/** The maximum size to which re-submissions may grow an appointment, in characters of JSON. */
const MAX_LENGTH = 1024 * 1024;

/** The growth allowed beyond a stored size over the limit, in characters: a move changes times and slots. */
const MOVED = 1024;

const entriesOf = (list: unknown): Entry[] => (Array.isArray(list) ? list.filter(isObject) : []);

const lengthOf = ({ start, end }: Appointment): number => (parseInstant(end) ?? 0) - (parseInstant(start) ?? 0);

/** A booking drops the extensions that the service has set for a hold or a request. */
const isOfHoldOrRequest = ({ url }: Entry, config: PublicConfig): boolean =>
  passingExtensions.some((artefact) => url === artefactUri(config, artefact));

/** The entries of one list: the submitted ones, then stored ones with other keys. Protected ones stay as stored. */
function unitedEntries(
  name: string,
  sent: readonly Entry[],
  stored: readonly Entry[],
  protectedKeys: ReadonlySet<string>,
  { baseUrl }: PublicConfig,
): Entry[] {
  const keyOf = (entry: Entry): string => ruleOf(name).unitedBy?.(entry, baseUrl) ?? '';
  const named = new Set(sent.map(keyOf));
  return [
    ...sent.filter((entry) => !protectedKeys.has(keyOf(entry))),
    ...stored.filter((entry) => !named.has(keyOf(entry)) || protectedKeys.has(keyOf(entry))),
  ];
}

/** Whether a service type was derived from the slots, not submitted. It is not kept when the slots change. */
const isDerived = (type: CodeableConcept): boolean =>
  serviceIdOf(type) !== undefined && (type.coding?.every(({ userSelected }) => userSelected === false) ?? false);

/** An appointment without derived service types: a requestor that sends back what it has read asks for none. */
function withoutDerived({ serviceType, ...others }: Appointment): Appointment {
  const types = serviceType?.filter((concept) => !isDerived(concept));
  return { ...others, ...(types?.length && { serviceType: types }) };
}

/** The stored appointment without personal elements. They must be sent again for another patient. */
function withoutPerson(stored: Appointment, clinic: Submitted, { uris }: PublicConfig): [Entry, Submitted] {
  const kept: Record<string, unknown> = { ...stored };
  for (const name of Object.keys(kept).filter((one) => ruleOf(one).isPersonal)) {
    delete kept[name];
  }
  const keptUrls = new Set<string>([...Object.values(uris), REPLACES, ...clinic.extensions]);
  const extension = (stored.extension ?? []).filter(({ url }) => keptUrls.has(url));
  return [
    { ...kept, extension },
    { ...clinic, elements: new Set([...clinic.elements].filter((name) => !ruleOf(name).isPersonal)) },
  ];
}

function unitedLists(sent: Entry, stored: Entry, { extensions }: Submitted, config: PublicConfig) {
  return unitedElements.flatMap((name): [string, unknown][] => {
    const kept = entriesOf(stored[name]).filter((entry) => name !== 'extension' || !isOfHoldOrRequest(entry, config));
    const isProtected = name === 'extension' ? extensions : new Set<string>();
    const all = unitedEntries(name, entriesOf(sent[name]), kept, isProtected, config);
    return all.length > 0 ? [[name, all]] : [];
  });
}

/**
 * Unites a re-submission with the stored appointment. It keeps all elements that were not sent, and all parts set by
 * the clinic. Identifiers, QuestionnaireResponses, contained resources and extensions are united. For another patient,
 * personal elements are dropped.
 * @param before - the stored appointment
 * @param part - the parts set by the clinic that bind the caller
 * @param isSamePatient - whether the patients stay the same
 * @returns the requested appointment, with the submitted participants
 * @see specification section 3, re-submission
 */
export function resubmitted(
  asked: Appointment,
  before: Appointment,
  part: Submitted,
  isSamePatient: boolean,
  config: PublicConfig,
): Appointment {
  const [sent, known] = [withoutDerived(asked), { ...withoutDerived(before) }];
  const [stored, clinic] = isSamePatient ? [known, part] : withoutPerson(known, part, config);
  const named = new Set(Object.keys(sent).map(elementName));
  const isAsLong = lengthOf(sent) === lengthOf(before);
  const stays = ([property]: [string, unknown]): boolean => {
    const name = elementName(property);
    const { isSetAnew, unitedBy, isLength } = ruleOf(name);
    const isNamed = named.has(name) && !clinic.elements.has(name);
    return !isSetAnew && !unitedBy && !isNamed && (!isLength || isAsLong);
  };
  const kept = Object.entries(stored).filter(stays);
  const lists = unitedLists({ ...sent }, stored, clinic, config);
  return { ...sent, ...Object.fromEntries([...kept, ...lists]) };
}

const unitedCount = (name: 'tag' | 'profile', sent: Meta | undefined, stored: Meta | undefined): number =>
  new Set([...(sent?.[name] ?? []), ...(stored?.[name] ?? [])].map((one) => JSON.stringify(one))).size;

/**
 * Limits the growth of an appointment by re-submissions that are united with the stored one.
 * @param united - the result of `resubmitted`; its `meta` is the submitted one
 * @returns a `malformed-request` for each list that is too long, and for the whole if it is too large
 */
export function sizeIssues({ value: united, path }: Located<Appointment>, stored: Appointment): Issue[] {
  const marks = (['tag', 'profile'] as const).flatMap((name): Issue[] => {
    const most = Math.max(MAX_MARKS, unitedCount(name, stored.meta, undefined));
    const count = unitedCount(name, united.meta, stored.meta);
    const expression = `${path}.meta.${name}`;
    const diagnostics = `${expression} can have at most ${most} entries, including those already stored; it would have ${count}.`;
    return count > most ? [{ code: 'malformed-request', diagnostics, expression }] : [];
  });
  const longest = Math.max(MAX_LENGTH, JSON.stringify(stored).length + MOVED);
  const most = sizeBeyond(stored, { values: MOVED, text: MOVED, listed: MOVED });
  const tooLarge =
    sizeProblem(united, most) ??
    (JSON.stringify(united).length > longest ? `have more than ${longest} characters` : undefined);
  const diagnostics = `Together with what is already stored, the appointment must not ${tooLarge}: send less, or book a new one.`;
  return [
    ...boundIssues(united, unitedBounds, path),
    ...marks,
    ...(tooLarge ? [{ code: 'malformed-request', diagnostics, expression: path } as const] : []),
  ];
}

const referencesTo = (type: 'Patient' | 'RelatedPerson', participants: readonly AppointmentParticipant[]): string =>
  participants
    .flatMap(({ actor }) => idIn(actor, type) ?? [])
    .sort()
    .join();

/** Whether a re-submission is for the same patients. A hold may have had none yet. */
export function isForSamePatient(named: readonly AppointmentParticipant[], { participant }: Appointment): boolean {
  const former = referencesTo('Patient', participant);
  return former === '' || former === referencesTo('Patient', named);
}

/**
 * The participants who stay although the request does not name them. The clinic has added them, or they replace such
 * participants in another Schedule. Related persons of the same patient stay unless others are named.
 * @param left - the Schedules that the appointment leaves
 * @param joined - its new Schedules
 */
export function keptParticipants(
  named: readonly AppointmentParticipant[],
  stored: Appointment,
  { participants }: Submitted,
  left: readonly Schedule[],
  joined: readonly Schedule[],
): AppointmentParticipant[] {
  const known = new Set(named.map(participantKey));
  const hasRelatives = referencesTo('RelatedPerson', named) !== '';
  const isSamePatient = isForSamePatient(named, stored);
  const isRelative = ({ actor }: AppointmentParticipant): boolean => idIn(actor, 'RelatedPerson') !== undefined;
  const stays = (participant: AppointmentParticipant): boolean =>
    participants.has(participantKey(participant)) || (isRelative(participant) && isSamePatient && !hasRelatives);
  const isUnnamed = (participant: AppointmentParticipant): boolean => !known.has(participantKey(participant));
  const kept = stored.participant.filter((participant) => stays(participant) && isUnnamed(participant));
  return inOtherCalendars(kept, left, joined).filter(isUnnamed);
}
