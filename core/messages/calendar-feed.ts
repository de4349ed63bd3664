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

/** The actions on the link of a calendar feed: read its state, create a new link, delete it. */
const actions = ['look', 'make', 'end'] as const;

/** The input of `$feed`: the secret of a link, or an action of staff. */
export type CalendarFeedRequest =
  | { readonly row: string; readonly key: string }
  | { readonly schedule: string; readonly action: (typeof actions)[number]; readonly withNames: boolean };

/** Reads Parameters; `undefined` if they are invalid. */
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

/** The actor of a calendar feed. The feed contains all Schedules of that actor. */
export const calendarFeedActor = ({ id, actor }: Schedule): string =>
  actor
    .map(({ reference = '' }) => reference)
    .find((one) => /^(Practitioner|PractitionerRole|Location|Device)\//.test(one)) ??
  actor[0]?.reference ??
  `Schedule/${id}`;

/** The link of a calendar feed. */
export interface CalendarLink {
  readonly actor: string;
  /** The hash of the link's secret; `undefined` if the link was deleted. */
  readonly hash: string | undefined;
  readonly withNames: boolean;
}

const [HASH, NAMES] = ['hash', 'names'];

/** The row of a link. It contains no secret. */
export function calendarFeedRow({ actor, hash, withNames }: CalendarLink, config: PublicConfig, stored?: Task): Task {
  const more: Partial<Task> & Pick<Task, 'status'> = {
    status: hash === undefined ? 'cancelled' : 'ready',
    description: 'The secret link of a calendar feed',
    focus: { reference: actor },
    input: [
      ...(hash === undefined ? [] : [{ type: { text: HASH }, valueString: hash }]),
      { type: { text: NAMES }, valueBoolean: withNames },
    ],
  };
  return newRow('calendar-feed', more, config, stored);
}

export const calendarLinkOf = ({ focus, input, status }: Task): CalendarLink => ({
  actor: focus?.reference ?? '',
  hash: status === 'ready' ? valueIn(input, HASH)?.valueString : undefined,
  withNames: valueIn(input, NAMES)?.valueBoolean === true,
});

export const calendarFeedSearch = (actor: string, config: PublicConfig): string =>
  rowSearch(['calendar-feed'], { focus: actor }, config);

/** The period of a calendar feed around the current time, in milliseconds, and its largest number of events. */
const [BEFORE, AFTER] = [14 * DAY, 90 * DAY];
const MAX_EVENTS = 1_000;

const shown: ReadonlySet<string> = new Set(['booked', 'pending', 'arrived', 'checked-in', 'fulfilled']);

/** The search for the busy Slots of a calendar feed. */
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

/** The searches for the appointments in some Slots, a hundred Slots in each. */
export const inSlotsSearches = (slots: readonly Slot[]): string[] =>
  chunks(slots).map((some) =>
    searchUrl('Appointment', [
      ['slot', some.map(({ id }) => `Slot/${id}`).join(',')],
      ['_count', '200'],
    ]),
  );

/** The calendar event of an appointment; `undefined` without a time. */
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

/** The file of a calendar feed, the earliest event first. It depends on stored data only. */
export function calendarFeedFile(
  appointments: readonly Appointment[],
  feed: CalendarLink,
  config: BookingConfig,
): string {
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

/** The result of `$feed` for staff. */
export const calendarFeedParameters = ({ hash, withNames }: CalendarLink, link?: string): Parameters => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'active', valueBoolean: hash !== undefined },
    ...(hash === undefined ? [] : [{ name: 'names', valueBoolean: withNames }]),
    ...(link === undefined ? [] : [{ name: 'link', valueString: link }]),
  ],
});

/** The address of a calendar feed for calendar programs, on the portal. */
export const calendarFeedLink = (token: string, { messages, baseUrl }: BookingConfig): string =>
  `${messages.page ?? new URL('/portal', baseUrl).href}/calendar/${token}.ics`;
