import type { Appointment, AppointmentParticipant, Meta } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../../config/config.ts';
import { boundIssues, sizeBeyond, sizeProblem } from '../../../fhir/bounds.ts';
import { parseInstant } from '../../../fhir/instant.ts';
import type { Issue } from '../../../fhir/outcome/outcome.ts';
import { isObject } from '../../../fhir/resource.ts';
import type { Located } from '../request/parameters.ts';
import { type ClinicPart, elementName, participantKey } from './clinic-part.ts';

type KeptConfig = Pick<BookingConfig, 'baseUrl' | 'uris'>;

/** What a re-submission says anew in any case: it, or the service, whose word the rest of these is. */
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

/** The lists to which a re-submission adds, and by what their entries are known. */
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

/** The same of its `meta`, unless what is stored is longer already. */
const MOST_MARKS = 100;

/** The most characters that an appointment grows to by re-submissions, as JSON. */
const LONGEST = 1024 * 1024;

/** How much longer one may become that is too long already: its times and slots are others. */
const MOVED = 1024;

const entriesOf = (list: unknown): Entry[] => (Array.isArray(list) ? list.filter(isObject) : []);

const lengthOf = ({ start, end }: Appointment): number => (parseInstant(end) ?? 0) - (parseInstant(start) ?? 0);

/** What the service has set for a hold or a request does not stay with the booking. */
const passing = ['LocalHeldUntil', 'LocalHoldProlonged', 'LocalConfirmationDeadline'] as const;

const isPassing = ({ url }: Entry, config: KeptConfig): boolean =>
  passing.some((artefact) => url === artefactUri(config, artefact));

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

/** Lists of which both say something: what was sent, then what is stored besides. */
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
 * An appointment that is sent again, with what the stored one keeps: everything that was not named, and what the clinic has
 * set, named or not. Identifiers, answers and extensions are united.
 *
 * @param clinic - what binds the caller of what the clinic has set
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

/** How many tags or profiles two say together. */
const unitedCount = (name: 'tag' | 'profile', sent: Meta | undefined, stored: Meta | undefined): number =>
  new Set([...(sent?.[name] ?? []), ...(stored?.[name] ?? [])].map((one) => JSON.stringify(one))).size;

/**
 * Checks that an appointment does not grow for ever with its re-submissions, which unite what they say with what is stored.
 *
 * @param united - as `resubmitted` gives it; its `meta` is the one that was sent
 * @returns a `malformed-request` for each list that is too long, and for the whole if it is too large
 */
export function growthIssues({ value: united, path }: Located<Appointment>, stored: Appointment): Issue[] {
  const marks = (['tag', 'profile'] as const).flatMap((name): Issue[] => {
    const most = Math.max(MOST_MARKS, unitedCount(name, stored.meta, undefined));
    const count = unitedCount(name, united.meta, stored.meta);
    const expression = `${path}.meta.${name}`;
    const diagnostics = `${expression} can have at most ${most} entries, those that are stored included; it would have ${count}.`;
    return count > most ? [{ code: 'malformed-request', diagnostics, expression }] : [];
  });
  const longest = Math.max(LONGEST, JSON.stringify(stored).length + MOVED);
  const most = sizeBeyond(stored, { values: MOVED, text: MOVED, listed: MOVED });
  const tooLarge =
    sizeProblem(united, most) ??
    (JSON.stringify(united).length > longest ? `have more than ${longest} characters` : undefined);
  const diagnostics = `With what is stored already, the appointment must not ${tooLarge}: send less, or book a new one.`;
  return [
    ...boundIssues(united, unitedBounds, path),
    ...marks,
    ...(tooLarge ? [{ code: 'malformed-request', diagnostics, expression: path } as const] : []),
  ];
}

/** The participants that the clinic has added, and who therefore stay. */
export function keptParticipants(
  named: readonly AppointmentParticipant[],
  stored: Appointment,
  { participants }: ClinicPart,
): AppointmentParticipant[] {
  const known = new Set(named.map(participantKey));
  return stored.participant.filter((one) => participants.has(participantKey(one)) && !known.has(participantKey(one)));
}
