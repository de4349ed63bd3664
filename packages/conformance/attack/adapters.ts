import { cancellation, parameters, proposal, subscription } from '../preparation/bodies.ts';

/** What an actor may do at a calendar. */
export const acts = [
  'book',
  'hold',
  'move',
  'replace',
  'cancel',
  'read',
  'block',
  'unblock',
  'subscribe',
  'unsubscribe',
] as const;

/** One of these. */
export type Act = (typeof acts)[number];

/** Answers, told by status and by a FHIRPath expression that holds for the body. */
export interface Answers {
  readonly status: readonly number[];
  readonly that?: string;
}

/**
 * A request and what its answers mean; texts have placeholders: `{offer}` (the Slot that was found), `{start}`, `{end}`,
 * `{schedule}`, `{patient}`, `{appointment}` (what the act is about), `{listener.url}` (where notifications are sent), `{mark}` (a text that says which request it was), what
 * earlier steps keep, and `{...proposed}` and `{...cancelled}`: what was found, as a resource to
 * be sent back.
 */
export interface Step {
  readonly request: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly keep?: string;
  /** It was carried out. */
  readonly done: Answers;
  /** It was refused because the time is taken. Any other answer from 400 to 499 claims nothing; all others leave open what happened. */
  readonly refused?: readonly Answers[];
}

/** An interface through which appointments are booked, as data. */
export interface Adapter {
  readonly title: string;
  /** How offers are found: a Bundle of free Slots, or of Appointments that are proposed. */
  readonly find: string;
  /** The steps of each act, one after the other, as far as they are done. */
  readonly acts: Readonly<Partial<Record<Act, readonly Step[]>>>;
  /** Of an Appointment (FHIRPath): the server has ended it, and says that it gave way to another one. */
  readonly gaveWay?: string;
  /** Of an Appointment (FHIRPath): it is meant to overlap others. */
  readonly overbooks?: string;
  /** Whether what it books takes time from every place of a calendar, as a block does. */
  readonly everyPlace?: boolean;
  /** Whether it books parts of Slots. */
  readonly parts?: boolean;
  /** How a Slot is made free that a client has taken without coming further. */
  readonly reset?: Step;
}

const done: Answers = { status: [200, 201, 202] };
const gone: Answers = { status: [200, 202, 204, 404, 410] };
const conflict: Answers = { status: [409, 412] };

/** Every issue has one of these codes. */
const taken = (...codes: readonly string[]): string =>
  `issue.all(details.coding.where(${codes.map((code) => `code = '${code}'`).join(' or ')}).exists())`;

/** Statuses that have their time. */
export const OPEN = ['booked', 'pending', 'proposed', 'arrived', 'checked-in'];

const isOpen = `status in (${OPEN.map((status) => `'${status}'`).join(' | ')})`;

const proposed = proposal({ start: '{start}', end: '{end}', slot: [{ reference: '{offer}' }], comment: '{mark}' });

/** The service says of some refusals that the time is being taken at this moment: that claims nothing, for up to 90 seconds. */
const slotTaken: readonly Answers[] = [
  {
    status: [409],
    that: `${taken('slot-not-free', 'schedule-overbooked')} and issue.diagnostics.where(contains('at this moment')).empty()`,
  },
];

const operation = (name: string, body: unknown): readonly Step[] => [
  { request: `POST /Appointment/$${name}`, body, keep: 'appointment', done, refused: slotTaken },
];

const read: readonly Step[] = [{ request: 'GET /{appointment}', done: { status: [200], that: isOpen } }];

const jsonPatch = { 'content-type': 'application/json-patch+json' };

/** How staff write at a FHIR server that keeps the calendar itself. */
const blocking = {
  block: [
    {
      request: 'POST /Slot',
      body: {
        resourceType: 'Slot',
        schedule: { reference: '{schedule}' },
        status: 'busy-unavailable',
        start: '{start}',
        end: '{end}',
        comment: '{mark}',
      },
      keep: 'appointment',
      done,
      refused: [conflict],
    },
  ],
  unblock: [{ request: 'DELETE /{appointment}', done: gone }],
} as const satisfies Adapter['acts'];

const stored = {
  resourceType: 'Appointment',
  status: 'booked',
  start: '{start}',
  end: '{end}',
  slot: [{ reference: '{offer}' }],
  comment: '{mark}',
  participant: [{ actor: { reference: '{patient}' }, status: 'accepted' }],
};

const searchSlots = '/Slot?schedule={schedule}&status=free&_count=200';

/** The interfaces that the attack knows. */
export const adapters = {
  isik: {
    title: "this interface, and ISiK Terminplanung's: $book, $hold, PATCH",
    find: searchSlots,
    parts: true,
    acts: {
      book: operation('book', proposed),
      hold: operation('hold', proposed),
      move: operation('book', { ...proposed, id: '{appointment.id}' }),
      replace: operation('book', parameters(proposed, { name: 'cancelled-appt-id', valueUri: '{appointment}' })),
      cancel: [{ request: 'PATCH /{appointment}', body: cancellation, done }],
      read,
      subscribe: [
        { request: 'POST /Subscription', body: subscription('appointment-update'), keep: 'appointment', done },
      ],
      unsubscribe: [{ request: 'DELETE /{appointment}', done: gone }],
    },
    gaveWay: "cancelationReason.coding.where(code = 'slot-not-free').exists()",
  },
  staff: {
    title: 'staff who write Appointments and Slots past the interface',
    find: searchSlots,
    acts: {
      book: [
        {
          request: 'POST /Appointment',
          body: stored,
          keep: 'appointment',
          done,
          refused: [{ status: [400, 409], that: taken('slot-not-free', 'schedule-overbooked') }],
        },
      ],
      cancel: [
        {
          request: 'PATCH /{appointment}',
          headers: jsonPatch,
          body: [{ op: 'replace', path: '/status', value: 'cancelled' }],
          done,
        },
      ],
      read,
      ...blocking,
    },
    gaveWay: "cancelationReason.coding.where(code = 'slot-not-free').exists()",
    overbooks: "extension.where(url.endsWith('LocalOverbooking')).exists()",
  },
  medplum: {
    title: "Medplum's own scheduling: $find, $book, $cancel",
    everyPlace: true,
    find: '/Appointment/$find?schedule={schedule}&service-type-reference={service}&start={from}&end={to}&_count=100',
    acts: {
      book: [
        {
          request: 'POST /Appointment/$book',
          body: { resourceType: 'Parameters', parameter: [{ name: 'appointment', resource: '{...proposed}' }] },
          keep: 'appointment',
          done,
          refused: [
            { status: [400, 409], that: "issue.details.text = 'Requested time slot is not available'" },
            { status: [400, 409], that: taken('slot-not-free', 'schedule-overbooked') },
          ],
        },
      ],
      cancel: [{ request: 'POST /{appointment}/$cancel', done }],
      read,
      ...blocking,
    },
  },
} as const satisfies Readonly<Record<string, Adapter>>;
