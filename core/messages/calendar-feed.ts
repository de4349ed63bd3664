import type { Appointment, Parameters, Schedule, Slot, Task } from '@medplum/fhirtypes';
import type { BookingConfig } from '../config/config.ts';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant, parseInstant, timeOf } from '../fhir/instant.ts';
import { idIn, isId } from '../fhir/reference.ts';
import { isObject, parametersIn } from '../fhir/resource.ts';
import { newRow, rowSearch, valueIn } from '../rows/row.ts';
import { chunks, searchUrl } from '../rows/search.ts';
import { type CalendarFileEvent, calendarFeed } from '../time/calendar-file.ts';
import { DAY } from '../time/time-zone.ts';
import { messageTexts } from './texts.ts';

/** What can be done with the link of a calendar: seen whether there is one, made anew, ended. */
const actions = ['look', 'make', 'end'] as const;

/** What is sent to `$feed`: the secret of a link, or what staff want of the link of a calendar. */
export type CalendarFeedRequest =
  | { readonly row: string; readonly key: string }
  | { readonly schedule: string; readonly action: (typeof actions)[number]; readonly withNames: boolean };

/** Reads Parameters; `undefined` if they are something else. */
export function parseFeedRequest(input: unknown): CalendarFeedRequest | undefined {
  const valueNamed = (name: string, type: string): unknown =>
    parametersIn(input).find((one) => one.name === name)?.[type];
  const token = valueNamed('token', 'valueString');
  if (token !== undefined) {
    const [row, key = ''] = typeof token === 'string' ? token.split('.', 2) : [];
    return isId(row) && /^[0-9a-f]{64}$/.test(key) ? { row, key } : undefined;
  }
  const reference = valueNamed('schedule', 'valueReference');
  const schedule = isObject(reference) && typeof reference.reference === 'string' ? reference.reference : '';
  const action = actions.find((one) => one === valueNamed('action', 'valueCode'));
  const id = idIn({ reference: schedule }, 'Schedule');
  return id && action ? { schedule: id, action, withNames: valueNamed('names', 'valueBoolean') === true } : undefined;
}

/** Whose calendar a Schedule is: its feed has all of their Schedules. */
export const feedActor = ({ id, actor }: Schedule): string =>
  actor
    .map(({ reference = '' }) => reference)
    .find((one) => /^(Practitioner|PractitionerRole|Location|Device)\//.test(one)) ??
  actor[0]?.reference ??
  `Schedule/${id}`;

/** The link of a calendar. */
export interface CalendarLink {
  /** Whose calendar: a reference. */
  readonly actor: string;
  /** What the secret of the link becomes by hashing; `undefined` if there is no link any more. */
  readonly hash: string | undefined;
  /** Whether events name the patients. */
  readonly withNames: boolean;
}

const [HASH, NAMES] = ['hash', 'names'];

/** The row of a link. It holds no secret. */
export function feedRow({ actor, hash, withNames }: CalendarLink, config: PublicConfig, stored?: Task): Task {
  const more: Partial<Task> & Pick<Task, 'status'> = {
    status: hash === undefined ? 'cancelled' : 'ready',
    description: 'The secret link of a calendar feed',
    focus: { reference: actor },
    input: [
      ...(hash === undefined ? [] : [{ type: { text: HASH }, valueString: hash }]),
      { type: { text: NAMES }, valueBoolean: withNames },
    ],
  };
  return newRow('feed', more, config, stored);
}

/** The link that a row keeps. */
export const feedOf = ({ focus, input, status }: Task): CalendarLink => ({
  actor: focus?.reference ?? '',
  hash: status === 'ready' ? valueIn(input, HASH)?.valueString : undefined,
  withNames: valueIn(input, NAMES)?.valueBoolean === true,
});

/** The search for the row of a calendar. */
export const feedSearch = (actor: string, config: PublicConfig): string =>
  rowSearch(['feed'], { focus: actor }, config);

/** How long before and after now the events of a feed are, in milliseconds, and how many there are at most. */
const [BEFORE, AFTER] = [14 * DAY, 90 * DAY];
const MAX_EVENTS = 1_000;

/** The statuses of what stands in a calendar. */
const shown: ReadonlySet<string> = new Set(['booked', 'pending', 'arrived', 'checked-in', 'fulfilled']);

/** The search for the time that somebody has given away. */
export const takenSearch = (schedules: readonly Schedule[], now: number): string =>
  searchUrl('Slot', [
    ['schedule', schedules.map(({ id }) => `Schedule/${id}`).join(',')],
    ['status', 'busy,busy-tentative'],
    ['start', `ge${formatInstant(now - BEFORE)}`],
    ['start', `lt${formatInstant(now + AFTER)}`],
    ['_sort', 'start'],
    ['_count', String(MAX_EVENTS)],
    ['_fields', 'id,schedule,start,end,status'],
  ]);

/** The searches for what stands in these Slots, a hundred in each. */
export const inSlotsSearches = (slots: readonly Slot[]): string[] =>
  chunks(slots).map((some) =>
    searchUrl('Appointment', [
      ['slot', some.map(({ id }) => `Slot/${id}`).join(',')],
      ['_count', '200'],
    ]),
  );

function eventOf(
  appointment: Appointment,
  { withNames }: CalendarLink,
  host: string,
  language: BookingConfig['messages']['language'],
) {
  const { id = '', status, serviceType, participant, meta } = appointment;
  const time = timeOf(appointment);
  const [type] = serviceType ?? [];
  const patient = participant.find(({ actor }) => actor?.reference?.startsWith('Patient/'))?.actor?.display;
  const what = type?.text ?? type?.coding?.[0]?.display ?? messageTexts[language].title;
  const event: CalendarFileEvent | undefined = time && {
    id: `${id}@${host}`,
    ...time,
    status: status === 'pending' ? 'tentative' : 'confirmed',
    summary: [what, withNames ? patient : undefined]
      .filter((one) => one)
      .join(', ')
      .slice(0, 300),
    changed: parseInstant(meta?.lastUpdated) ?? time.start,
  };
  return event;
}

/** The file of a feed: what stands in somebody's calendar, the earliest first. It depends on nothing but what is stored. */
export function feedFile(appointments: readonly Appointment[], feed: CalendarLink, config: BookingConfig): string {
  const { language } = config.messages;
  const host = new URL(config.baseUrl).hostname;
  const events = appointments
    .filter(({ status }) => shown.has(status))
    .flatMap((appointment) => eventOf(appointment, feed, host, language) ?? [])
    .toSorted(
      (calendarFileEvent, other) =>
        calendarFileEvent.start - other.start || calendarFileEvent.id.localeCompare(other.id),
    );
  return calendarFeed(events.slice(0, MAX_EVENTS), language);
}

/** What `$feed` tells staff of a link. */
export const feedParameters = ({ hash, withNames }: CalendarLink, link?: string): Parameters => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'active', valueBoolean: hash !== undefined },
    ...(hash === undefined ? [] : [{ name: 'names', valueBoolean: withNames }]),
    ...(link === undefined ? [] : [{ name: 'link', valueString: link }]),
  ],
});

/** Where programs read a calendar: at the portal. */
export const feedLink = (token: string, { messages, baseUrl }: BookingConfig): string =>
  `${messages.page ?? new URL('/portal', baseUrl).href}/calendar/${token}.ics`;
