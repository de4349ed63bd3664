import { cancellation, parameters, proposal, subscription } from '../preparation/bodies.ts';

/** The acts of a party. */
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

export type Act = (typeof acts)[number];

/** A class of responses, by status and by a FHIRPath expression on the body. */
export interface Answers {
  readonly status: readonly number[];
  readonly that?: string;
}

/**
 * A request and the meaning of its responses. Placeholders: `{offer}` (the Slot that was found), `{start}`, `{end}`,
 * `{schedule}`, `{patient}`, `{appointment}` (the target), `{listener.url}` (the endpoint for notifications), `{mark}`
 * (identifies the request), and the names that earlier steps keep. `{...proposed}` and `{...cancelled}` are whole
 * resources that are sent back.
 */
export interface Step {
  readonly request: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly keep?: string;
  readonly done: Answers;
  /** The time is not free. Any other 4xx response claims nothing; others leave the outcome unknown. */
  readonly refused?: readonly Answers[];
}

/** A booking interface, described as data. */
export interface Adapter {
  readonly title: string;
  /** The search for bookable items: free Slots or proposed Appointments. */
  readonly find: string;
  /** The steps of each act; the first that is not done ends it. */
  readonly acts: Readonly<Partial<Record<Act, readonly Step[]>>>;
  /** FHIRPath on an Appointment: the server has ended it in favour of another one. */
  readonly gaveWay?: string;
  /** FHIRPath on an Appointment: it may overlap others. */
  readonly overbooks?: string;
  /** Whether its appointments block all lanes of a Schedule. */
  readonly everyLane?: boolean;
  readonly parts?: boolean;
  /** Releases a Slot that a client has reserved without booking. */
  readonly reset?: Step;
}

const done: Answers = { status: [200, 201, 202] };
const gone: Answers = { status: [200, 202, 204, 404, 410] };
const conflict: Answers = { status: [409, 412] };

const taken = (...codes: readonly string[]): string =>
  `issue.all(details.coding.where(${codes.map((code) => `code = '${code}'`).join(' or ')}).exists())`;

/** Statuses of Appointments that occupy their time. */
export const OPEN = ['booked', 'pending', 'proposed', 'arrived', 'checked-in'];

const isOpen = `status in (${OPEN.map((status) => `'${status}'`).join(' | ')})`;

const proposed = proposal({ start: '{start}', end: '{end}', slot: [{ reference: '{offer}' }], comment: '{mark}' });

/** A refusal "at this moment" concerns a reservation of up to 90 seconds, and claims nothing. */
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

/** Blocks that staff write directly to the FHIR server. */
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

/** The built-in adapters. */
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
    everyLane: true,
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
