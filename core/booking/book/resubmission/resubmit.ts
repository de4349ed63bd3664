import type { Appointment, AppointmentParticipant, Meta } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../../config/config.ts';
import { boundIssues, sizeBeyond, sizeProblem } from '../../../fhir/bounds.ts';
import { parseInstant } from '../../../fhir/instant.ts';
import type { Issue } from '../../../fhir/outcome/outcome.ts';
import { idIn } from '../../../fhir/reference/reference.ts';
import { isObject } from '../../../fhir/resource.ts';
import { passingExtensions } from '../../appointment/expiry.ts';
import type { Located } from '../request/parameters.ts';
import { type ClinicPart, elementName, participantKey } from './clinic-part.ts';

type KeptConfig = Pick<BookingConfig, 'baseUrl' | 'uris'>;

/** The elements that a re-submission always sets anew: the request itself does, or else the service. */
const saidAnew: ReadonlySet<string> = new Set([
  'resourceType',
  'id',
  'meta',
  'text',
  'status',
  'cancelationReason',
  'start',
  'end',
  'slot',
  'participant',
]);

/** The lists to which a re-submission adds, and what identifies their entries. */
const keys = {
  identifier: ({ system, value }: Entry) => `${system}|${value}`,
  supportingInformation: ({ reference }: Entry, baseUrl: string) => String(reference).replace(`${baseUrl}/`, ''),
  contained: ({ id }: Entry) => String(id),
  extension: ({ url }: Entry) => String(url),
} as const satisfies Record<string, (entry: Entry, baseUrl: string) => string>;

type Entry = Readonly<Record<string, unknown>>;

/** The lists of an appointment that may grow with each re-submission, and how long they may become. */
const unitedBounds: Readonly<Record<keyof typeof keys, number>> = {
  identifier: 100,
  supportingInformation: 100,
  contained: 100,
  extension: 100,
};

/** The same for the lists of its `meta`, unless what is stored is already longer. */
const MOST_MARKS = 100;

/** The most characters to which an appointment may grow by re-submissions, as JSON. */
const LONGEST = 1024 * 1024;

/** How much longer one that is already too long may become: its times and slots change. */
const MOVED = 1024;

const entriesOf = (list: unknown): Entry[] => (Array.isArray(list) ? list.filter(isObject) : []);

const lengthOf = ({ start, end }: Appointment): number => (parseInstant(end) ?? 0) - (parseInstant(start) ?? 0);

/** What the service has set for a hold or a request is not kept in the booking. */
const isPassing = ({ url }: Entry, config: KeptConfig): boolean =>
  passingExtensions.some((artefact) => url === artefactUri(config, artefact));

function unite(
  name: keyof typeof keys,
  sent: readonly Entry[],
  stored: readonly Entry[],
  protectedKeys: ReadonlySet<string>,
  { baseUrl }: KeptConfig,
): Entry[] {
  const keyOf = (entry: Entry): string => keys[name](entry, baseUrl);
  const named = new Set(sent.map(keyOf));
  return [
    ...sent.filter((entry) => !protectedKeys.has(keyOf(entry))),
    ...stored.filter((entry) => !named.has(keyOf(entry)) || protectedKeys.has(keyOf(entry))),
  ];
}

/** The united lists: what was sent, followed by what is stored besides. */
function unitedLists(sent: Entry, stored: Entry, { extensions }: ClinicPart, config: KeptConfig) {
  const names = Object.keys(keys) as (keyof typeof keys)[];
  return names.flatMap((name): [string, unknown][] => {
    const kept = entriesOf(stored[name]).filter((entry) => name !== 'extension' || !isPassing(entry, config));
    const isProtected = name === 'extension' ? extensions : new Set<string>();
    const all = unite(name, entriesOf(sent[name]), kept, isProtected, config);
    return all.length > 0 ? [[name, all]] : [];
  });
}

/**
 * An appointment that is sent again, with what is kept of the stored one: everything that was not named, and what the clinic
 * has set, named or not. Identifiers, answers, contained resources and extensions are united.
 *
 * @param clinic - the parts set by the clinic that bind the caller
 * @returns the appointment as asked for; its participants are those that were sent
 * @see specification section 3, re-submission
 */
export function resubmitted(
  sent: Appointment,
  stored: Appointment,
  clinic: ClinicPart,
  config: KeptConfig,
): Appointment {
  const named = new Set(Object.keys(sent).map(elementName));
  const isAsLong = lengthOf(sent) === lengthOf(stored);
  const stays = ([property]: [string, unknown]): boolean => {
    const name = elementName(property);
    const isNamed = named.has(name) && !clinic.elements.has(name);
    return !saidAnew.has(name) && !Object.hasOwn(keys, name) && !isNamed && (name !== 'minutesDuration' || isAsLong);
  };
  const kept = Object.entries(stored).filter(stays);
  const lists = unitedLists({ ...sent }, { ...stored }, clinic, config);
  return { ...sent, ...Object.fromEntries([...kept, ...lists]) };
}

/** How many different tags or profiles two `meta` have together. */
const unitedCount = (name: 'tag' | 'profile', sent: Meta | undefined, stored: Meta | undefined): number =>
  new Set([...(sent?.[name] ?? []), ...(stored?.[name] ?? [])].map((one) => JSON.stringify(one))).size;

/**
 * Checks that re-submissions, each united with what is stored, do not make an appointment grow without limit.
 *
 * @param united - as `resubmitted` gives it; its `meta` is the one that was sent
 * @returns a `malformed-request` for each list that is too long, and for the whole if it is too large
 */
export function growthIssues({ value: united, path }: Located<Appointment>, stored: Appointment): Issue[] {
  const marks = (['tag', 'profile'] as const).flatMap((name): Issue[] => {
    const most = Math.max(MOST_MARKS, unitedCount(name, stored.meta, undefined));
    const count = unitedCount(name, united.meta, stored.meta);
    const expression = `${path}.meta.${name}`;
    const diagnostics = `${expression} can have at most ${most} entries, including those already stored; it would have ${count}.`;
    return count > most ? [{ code: 'malformed-request', diagnostics, expression }] : [];
  });
  const longest = Math.max(LONGEST, JSON.stringify(stored).length + MOVED);
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

/**
 * The participants who stay although the request does not name them: those whom the clinic has added, and the related
 * persons of the same patient, unless others are named.
 */
export function keptParticipants(
  named: readonly AppointmentParticipant[],
  stored: Appointment,
  { participants }: ClinicPart,
): AppointmentParticipant[] {
  const known = new Set(named.map(participantKey));
  const hasRelatives = referencesTo('RelatedPerson', named) !== '';
  const isSamePatient = referencesTo('Patient', named) === referencesTo('Patient', stored.participant);
  const isRelative = ({ actor }: AppointmentParticipant): boolean => idIn(actor, 'RelatedPerson') !== undefined;
  const stays = (one: AppointmentParticipant): boolean =>
    participants.has(participantKey(one)) || (isRelative(one) && isSamePatient && !hasRelatives);
  return stored.participant.filter((one) => stays(one) && !known.has(participantKey(one)));
}
