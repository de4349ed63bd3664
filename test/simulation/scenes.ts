import type { Act, Booking } from './acts.ts';
import type { Calendar } from './clinic.ts';

/** A few short acts that are played in all orders. */
export interface Scene {
  readonly name: string;
  readonly calendars: Readonly<Record<string, Calendar>>;
  /** What has happened before. */
  readonly before?: readonly Act[];
  /** For each actor, what it does one after the other. */
  readonly acts: readonly (readonly Act[])[];
  /** How many actors may die, or answers be lost, in one play. */
  readonly faults?: number;
}

/** Half hours on the half hour, and those that overlap. */
const plain: Calendar = { hours: '09:00-11:00', duration: 30, grid: 30 };
const dense: Calendar = { ...plain, grid: 15 };
const buffered: Calendar = { ...plain, before: 10, after: 10 };
const twoPlaces: Calendar = { ...plain, capacity: 2 };
const byHand: Calendar = { offers: [['09:00-09:30', '09:30-10:00']] };
const byHandBuffered: Calendar = { ...byHand, duration: 30, grid: 15, before: 10, after: 10 };
const long: Calendar = { offers: [['09:00-10:00']] };
const longBuffered: Calendar = { ...long, duration: 15, grid: 5, before: 0, after: 10 };

/** The calendars of random runs. */
export const calendars: Readonly<Record<string, Calendar>> = {
  'published, on the half hour': plain,
  'published, overlapping': dense,
  'published, with time around appointments': { ...buffered, grid: 15 },
  'published, two places': { ...dense, capacity: 2 },
  'published, two places with time after appointments': { ...dense, capacity: 2, after: 10 },
  'published, by request': { ...dense, confirmation: 'manual' },
  'published, offered to those who wait': { ...plain, refill: true },
  'made by hand': byHand,
  'made by hand, with time around appointments': byHandBuffered,
  'made by hand, two places': {
    offers: [
      ['09:00-09:30', '09:30-10:30'],
      ['09:00-09:30', '09:30-10:00'],
    ],
  },
  'published, two calendars of one visit': { ...dense, visit: true },
  'made by hand, long': long,
  'made by hand, long, with time after appointments': longBuffered,
};

const a = (time: string, more: Partial<Booking> = {}): Act => ({ does: 'book', time, ...more });
const b = (time: string, more: Partial<Booking> = {}): Act => a(time, { portal: 'B', ...more });

const refilled: Calendar = { ...plain, refill: true };

const join = (time: string, as: string, more: { portal?: 'A' | 'B'; standing?: string; visit?: true } = {}): Act => ({
  does: 'join',
  time,
  as,
  ...more,
});

/** What comes before random runs: where freed time is offered, one of two who wait has an offer. */
export const waiting = ({ refill }: Calendar): readonly Act[] =>
  refill
    ? [
        b('09:00-09:30', { as: 'x' }),
        a('09:30-10:00', { as: 'y' }),
        join('09:00-11:00', 'w'),
        join('09:00-10:00', 'v', { portal: 'B' }),
        { does: 'cancel', portal: 'B', what: 'x' },
      ]
    : [];

/** Somebody waits (`w`), and is offered the first time. */
const offered: readonly Act[] = [
  b('09:00-09:30', { as: 'x' }),
  join('09:00-10:00', 'w'),
  { does: 'cancel', portal: 'B', what: 'x' },
];

/** The same, instead of an appointment that stands until then (`s`). */
const replacing: readonly Act[] = [
  b('09:00-09:30', { as: 'x' }),
  a('10:00-10:30', { as: 's' }),
  join('09:00-10:00', 'w', { standing: 's' }),
  { does: 'cancel', portal: 'B', what: 'x' },
];

/** The second calendar may take the place of the first. */
const withSubstitute: Scene['calendars'] = { c: plain, s: { ...plain, serviceOf: 'c' } };

/** All of the time of an absence of this length is booked: what follows a block has nothing to withdraw. */
const bothBooked: readonly Act[] = [a('09:00-09:30', { in: ['c'], as: 'x' }), a('09:30-10:00', { in: ['c'], as: 'y' })];

const absence = (silence: 'keep' | 'cancel' | 'move', time = '09:00-11:00'): Act => ({
  does: 'absence',
  time,
  in: ['c'],
  instead: ['s'],
  silence,
});

/** The Bot that looks after absences runs by the clock. */
const carriedOut: Act = { does: 'clock', only: 'end-requests' };

const inTwo: Scene['calendars'] = { c: { ...plain, visit: true }, d: { ...plain, visit: true } };

/** Both steps of a visit cannot take place. */
const bothAbsent = (silence: 'keep' | 'cancel' | 'move'): Act => ({
  does: 'absence',
  time: '09:00-10:00',
  in: ['c', 'd'],
  silence,
});

const inTwoRefilled: Scene['calendars'] = { c: { ...refilled, visit: true }, d: { ...refilled, visit: true } };

/** Two who wait for a visit in the first hour. */
const bothWaitForVisits: readonly Act[] = [
  join('09:00-10:00', 'x', { visit: true }),
  join('09:00-10:00', 'y', { portal: 'B', visit: true }),
];

/** One time, which is drawn. */
const drawn: Calendar = { ...plain, hours: '09:00-09:30', drawUntil: '06:00:30' };
const ask = (portal: 'A' | 'B'): Act => ({ does: 'ask', time: '09:00-09:30', portal });

type Step = readonly [time: string, calendar: string];

/** A visit named `v`: its steps are `v`, `v2` … */
const visit = (...steps: readonly Step[]): Extract<Act, { does: 'visit' }> => ({
  does: 'visit',
  steps: steps.map(([time, name]) => ({ time, in: [name] })),
  as: 'v',
});
const visitB = (...steps: readonly Step[]): Act => ({ ...visit(...steps), portal: 'B', as: 'w' });

export const scenes: readonly Scene[] = [
  // One offer and its neighbours
  { name: 'two portals book the same slot', calendars: { c: plain }, acts: [[a('09:00-09:30')], [b('09:00-09:30')]] },
  {
    name: 'two portals book overlapping slots',
    calendars: { c: dense },
    acts: [[a('09:00-09:30')], [b('09:15-09:45')]],
  },
  {
    name: 'two portals book neighbours of a third slot',
    calendars: { c: dense },
    acts: [[a('09:00-09:30')], [b('09:30-10:00')], [a('09:15-09:45')]],
  },
  {
    name: 'two portals book a slot that is made by hand',
    calendars: { c: byHand },
    acts: [[a('09:00-09:30')], [b('09:00-09:30')]],
  },
  {
    name: 'two portals name the schedule only',
    calendars: { c: dense },
    acts: [[a('09:00-09:30', { by: 'schedule' })], [b('09:15-09:45', { by: 'schedule' })]],
  },
  {
    name: 'a hold and a booking of overlapping slots',
    calendars: { c: dense },
    acts: [[{ does: 'hold', time: '09:00-09:30' }], [b('09:15-09:45')]],
  },
  {
    name: 'a hold and a booking of the same slot',
    calendars: { c: plain },
    acts: [[{ does: 'hold', time: '09:00-09:30' }], [b('09:00-09:30')]],
  },
  {
    name: 'two holds of the same slot',
    calendars: { c: byHand },
    acts: [[{ does: 'hold', time: '09:00-09:30' }], [{ does: 'hold', portal: 'B', time: '09:00-09:30' }]],
  },
  // Parts of slots
  {
    name: 'a part of a published slot, its rest, and the neighbour',
    calendars: { c: dense },
    acts: [[a('09:00-09:05', { slot: '09:00-09:30' }), a('09:05-09:30')], [b('09:15-09:45')]],
  },
  {
    name: 'two parts of one slot',
    calendars: { c: long },
    acts: [[a('09:00-09:30')], [b('09:30-10:00')]],
  },
  {
    name: 'overlapping parts of one slot',
    calendars: { c: long },
    acts: [[a('09:00-09:30')], [b('09:20-09:50')]],
  },
  {
    name: 'a part of a slot whose service needs time after it',
    calendars: { c: longBuffered },
    acts: [[a('09:00-09:15')], [b('09:30-09:45')]],
  },
  {
    name: 'a part is cancelled while its neighbour is booked',
    calendars: { c: long },
    before: [a('09:00-09:20', { as: 'x' })],
    acts: [[{ does: 'cancel', what: 'x' }], [b('09:20-09:40')]],
  },
  {
    name: 'a cancelled slot is booked in part at once',
    calendars: { c: dense },
    before: [a('09:00-09:30', { as: 'x' })],
    acts: [[{ does: 'cancel', what: 'x' }, b('09:00-09:20', { slot: '09:00-09:30' })]],
  },
  // Time around appointments
  {
    name: 'hand-made neighbours that need time between them',
    calendars: { c: byHandBuffered },
    acts: [[a('09:00-09:30')], [b('09:30-10:00')]],
  },
  {
    name: 'published neighbours that need time between them',
    calendars: { c: { ...buffered, grid: 15 } },
    acts: [[a('09:15-09:45')], [b('09:45-10:15')]],
  },
  {
    name: 'a booking with time around it is cancelled while its neighbour is booked',
    calendars: { c: { ...buffered, grid: 15 } },
    before: [a('09:15-09:45', { as: 'x' })],
    acts: [[{ does: 'cancel', what: 'x' }], [b('10:15-10:45')]],
  },
  {
    name: 'one booking after the other, with time around them',
    calendars: { c: { ...buffered, grid: 15 } },
    acts: [[a('09:15-09:45'), { does: 'clock' }, b('10:00-10:30')]],
  },
  {
    name: 'staff cancel a booking with time around it',
    calendars: { c: { ...buffered, grid: 15 } },
    before: [a('09:15-09:45', { as: 'x' })],
    acts: [[{ does: 'staff-cancel', what: 'x' }]],
  },
  // Several places
  {
    name: 'two places at once',
    calendars: { c: twoPlaces },
    acts: [[a('09:00-09:30')], [b('09:00-09:30')]],
  },
  {
    name: 'two places with time after each appointment',
    calendars: { c: { ...twoPlaces, after: 10 } },
    acts: [[a('09:00-09:30')], [b('09:00-09:30')]],
  },
  {
    name: 'two places with overlapping slots',
    calendars: { c: { ...dense, capacity: 2 } },
    acts: [[a('09:00-09:30')], [b('09:15-09:45')], [a('09:15-09:45')]],
  },
  {
    name: 'two hand-made places with time after each appointment',
    calendars: { c: { offers: [['09:00-09:30', '09:30-10:00'], ['09:00-09:30']], duration: 30, grid: 15, after: 10 } },
    acts: [[a('09:00-09:30')], [b('09:00-09:30')]],
  },
  // Several calendars
  {
    name: 'surgeon and room, and the room alone',
    calendars: { surgeon: plain, room: { ...plain, serviceOf: 'surgeon' } },
    acts: [[a('09:00-09:30', { in: ['surgeon', 'room'] })], [b('09:00-09:30', { in: ['room'] })]],
  },
  {
    name: 'two pairs crosswise',
    calendars: { surgeon: plain, room: { ...plain, serviceOf: 'surgeon' } },
    acts: [[a('09:00-09:30', { in: ['surgeon', 'room'] })], [b('09:00-09:30', { in: ['room', 'surgeon'] })]],
  },
  // Moves and cancellations
  {
    name: 'a cancelled slot is booked at once',
    calendars: { c: dense },
    before: [a('09:00-09:30', { as: 'x' })],
    acts: [[{ does: 'cancel', what: 'x' }, b('09:00-09:30')]],
  },
  {
    name: 'a neighbour is booked while a booking is cancelled',
    calendars: { c: dense },
    before: [a('09:00-09:30', { as: 'x' })],
    acts: [[{ does: 'cancel', what: 'x' }], [b('09:30-10:00')]],
  },
  {
    name: 'a move and a booking of where it goes',
    calendars: { c: dense },
    before: [a('09:00-09:30', { as: 'x' })],
    acts: [[{ does: 'move', what: 'x', time: '09:30-10:00' }], [b('09:45-10:15')]],
  },
  {
    name: 'a move and the cancellation of the same booking',
    calendars: { c: dense },
    before: [a('09:00-09:30', { as: 'x' })],
    acts: [[{ does: 'move', what: 'x', time: '10:00-10:30' }], [{ does: 'cancel', what: 'x' }]],
  },
  {
    name: 'a replacement and the cancellation of what it replaces',
    calendars: { c: dense },
    before: [a('09:00-09:30', { as: 'x' })],
    acts: [[{ does: 'replace', what: 'x', time: '10:00-10:30' }], [{ does: 'cancel', what: 'x' }]],
  },
  {
    name: 'two bookings change places',
    calendars: { c: plain },
    before: [a('09:00-09:30', { as: 'x' }), a('10:00-10:30', { as: 'y' })],
    acts: [
      [{ does: 'move', what: 'x', time: '09:30-10:00' }, b('09:00-09:30')],
      [{ does: 'move', what: 'y', time: '10:30-11:00' }],
    ],
  },
  // Holds and requests
  {
    name: 'a hold ends',
    calendars: { c: dense },
    acts: [
      [
        { does: 'hold', time: '09:00-09:30' },
        { does: 'pass', minutes: 11 },
      ],
    ],
  },
  {
    name: 'a hold ends while it is accepted',
    calendars: { c: dense },
    before: [{ does: 'hold', time: '09:00-09:30', as: 'x' }],
    acts: [[{ does: 'accept', what: 'x' }], [{ does: 'pass', minutes: 11 }, b('09:00-09:30', { slot: '09:00-09:30' })]],
  },
  {
    name: 'a hold ends, and the clock tidies up while others book',
    calendars: { c: dense },
    before: [{ does: 'hold', time: '09:00-09:30', as: 'x' }],
    acts: [[{ does: 'pass', minutes: 11 }, { does: 'clock' }], [b('09:30-10:00')]],
  },
  {
    name: 'staff confirm a request that its portal cancels',
    calendars: { c: { ...dense, confirmation: 'manual' } },
    before: [a('09:00-09:30', { as: 'x' })],
    acts: [[{ does: 'confirm', what: 'x' }], [{ does: 'cancel', what: 'x' }]],
  },
  // Staff in Medplum
  {
    name: 'staff write an appointment on a published slot that a portal books',
    calendars: { c: plain },
    acts: [[{ does: 'write', time: '09:00-09:30', slot: '09:00-09:30' }], [b('09:00-09:30')]],
  },
  {
    name: 'staff write an appointment on a hand-made slot that a portal books',
    calendars: { c: byHand },
    acts: [[{ does: 'write', time: '09:00-09:30', slot: '09:00-09:30' }], [b('09:00-09:30')]],
  },
  {
    name: 'staff write an appointment that is longer than its slot',
    calendars: { c: plain },
    acts: [[{ does: 'write', time: '10:00-11:00', slot: '10:00-10:30' }], [b('10:30-11:00')]],
  },
  {
    name: 'staff write an appointment that names the practitioner only',
    calendars: { c: plain },
    acts: [[{ does: 'write', time: '10:00-11:00' }], [b('10:30-11:00')]],
  },
  {
    name: 'staff write two appointments side by side where nothing is offered, with time after them',
    calendars: { c: longBuffered },
    acts: [[{ does: 'write', time: '09:45-10:15' }], [{ does: 'write', time: '10:15-10:45' }]],
  },
  {
    name: 'two of the staff write an appointment on one slot',
    calendars: { c: plain },
    acts: [
      [{ does: 'write', time: '09:00-09:30', slot: '09:00-09:30' }],
      [{ does: 'write', time: '09:00-09:30', slot: '09:00-09:30' }],
    ],
  },
  {
    name: 'staff overbook a slot on purpose',
    calendars: { c: plain },
    before: [a('09:00-09:30')],
    acts: [[{ does: 'write', time: '09:00-09:30', slot: '09:00-09:30', overbooks: true }], [b('09:30-10:00')]],
  },
  {
    name: 'staff store a cancelled appointment on a slot that a portal has booked',
    calendars: { c: plain },
    before: [a('09:00-09:30')],
    acts: [[{ does: 'write', time: '09:00-09:30', slot: '09:00-09:30', status: 'cancelled' }]],
  },
  {
    name: 'staff store a cancelled appointment on a busy slot',
    calendars: { c: plain },
    before: [{ does: 'block', time: '09:00-09:30' }],
    acts: [[{ does: 'write', time: '09:00-09:30', slot: '09:00-09:30', status: 'cancelled' }]],
  },
  {
    name: 'staff write an appointment into a block, and another after it',
    calendars: { c: longBuffered },
    before: [{ does: 'block', time: '09:15-09:45' }],
    acts: [[{ does: 'write', time: '09:15-09:45', slot: '09:15-09:45' }], [{ does: 'write', time: '09:45-10:15' }]],
  },
  {
    name: 'staff block time that a portal books',
    calendars: { c: dense },
    acts: [[{ does: 'block', time: '09:10-09:20', status: 'busy-unavailable' }], [b('09:15-09:45')]],
  },
  {
    name: 'staff block time of hand-made slots that a portal books',
    calendars: { c: byHand },
    acts: [[{ does: 'block', time: '09:20-09:40' }], [b('09:30-10:00')]],
  },
  {
    name: 'staff take a block away while a portal books beside it',
    calendars: { c: dense },
    before: [{ does: 'block', time: '09:30-10:00', as: 'x' }],
    acts: [[{ does: 'unblock', what: 'x' }], [b('09:00-09:30')]],
  },
  {
    name: 'staff set a free slot busy that a portal books',
    calendars: { c: dense },
    acts: [[{ does: 'occupy', time: '09:00-09:30' }], [b('09:15-09:45')]],
  },
  {
    name: 'staff set a slot busy from a page of before a portal requested it, and the portal moves',
    calendars: { c: { ...plain, confirmation: 'manual' } },
    acts: [
      [{ does: 'occupy', time: '10:00-10:30' }],
      [a('10:00-10:30', { as: 'x' }), { does: 'move', what: 'x', time: '09:00-09:30' }],
    ],
  },
  {
    name: 'staff delete a free slot that a portal books',
    calendars: { c: byHand },
    acts: [[{ does: 'remove', time: '09:00-09:30' }], [b('09:00-09:30')]],
  },
  {
    name: 'staff cancel what a portal moves',
    calendars: { c: dense },
    before: [a('09:00-09:30', { as: 'x' })],
    acts: [[{ does: 'staff-cancel', what: 'x' }], [{ does: 'move', what: 'x', time: '10:00-10:30' }]],
  },
  // Medplum's own scheduling
  {
    name: "Medplum's $book and a portal",
    calendars: { c: dense },
    acts: [[{ does: 'native-book', time: '09:00-09:30' }], [b('09:15-09:45')]],
  },
  {
    name: "Medplum's $hold and a portal, with time around appointments",
    calendars: { c: { ...buffered, grid: 15 } },
    acts: [[{ does: 'native-hold', time: '09:15-09:45' }], [b('09:45-10:15')]],
  },
  {
    name: "Medplum's $hold, and staff set the slot busy",
    calendars: { c: plain },
    acts: [[{ does: 'native-hold', time: '09:00-09:30' }], [{ does: 'occupy', time: '09:00-09:30' }]],
  },
  {
    name: "Medplum's $cancel and a portal",
    calendars: { c: dense },
    before: [{ does: 'native-book', time: '09:00-09:30', as: 'x' }],
    acts: [[{ does: 'native-cancel', what: 'x' }], [b('09:30-10:00')]],
  },
  {
    name: "Medplum's $book and two places",
    calendars: { c: twoPlaces },
    acts: [[{ does: 'native-book', time: '09:00-09:30' }], [b('09:00-09:30')]],
  },
  {
    name: "Medplum's $book of surgeon and room, and the room alone",
    calendars: { surgeon: plain, room: { ...plain, serviceOf: 'surgeon' } },
    acts: [
      [{ does: 'native-book', time: '09:00-09:30', in: ['surgeon', 'room'] }],
      [b('09:00-09:30', { in: ['room'] })],
    ],
  },
  {
    name: "Medplum's $book and $hold",
    calendars: { c: plain },
    acts: [[{ does: 'native-book', time: '09:00-09:30' }], [{ does: 'native-hold', time: '09:00-09:30' }]],
  },
  {
    name: "Medplum's $confirm of a hold that Medplum cancels",
    calendars: { c: plain },
    before: [{ does: 'native-hold', time: '09:00-09:30', as: 'x' }],
    acts: [[{ does: 'native-confirm', what: 'x' }], [{ does: 'native-cancel', what: 'x' }], [b('09:30-10:00')]],
  },
  {
    name: "Medplum's $book, and a portal before anything has followed",
    calendars: { c: dense },
    acts: [[{ does: 'native-book', time: '09:00-09:30' }, { does: 'pass', minutes: 1 }, b('09:15-09:45')]],
  },
  {
    name: "Medplum's $hold, and a portal before anything has followed",
    calendars: { c: dense },
    acts: [[{ does: 'native-hold', time: '09:00-09:30' }, { does: 'pass', minutes: 1 }, b('09:15-09:45')]],
  },
  // Nights
  {
    name: 'over midnight',
    calendars: { c: { ...dense, hours: '23:00-25:00' } },
    acts: [[a('23:45-24:15')], [{ does: 'native-book', time: '24:00-24:30' }]],
  },
  {
    name: 'the night in spring that lacks an hour',
    calendars: { c: { ...dense, hours: '00:00-03:00', date: '2027-03-28', zone: 'Europe/Berlin' } },
    before: [a('00:45-01:15', { as: 'x' })],
    acts: [[{ does: 'cancel', what: 'x' }], [b('01:15-01:45')]],
  },
  {
    name: 'the night in autumn that has an hour twice',
    calendars: { c: { ...dense, hours: '23:00-27:00', date: '2027-10-30', zone: 'Europe/Berlin' } },
    before: [a('24:30-25:00', { as: 'x' })],
    acts: [[{ does: 'move', what: 'x', time: '25:30-26:00' }], [b('25:15-25:45')]],
  },
  // Actors that die, and answers that are lost
  {
    name: 'faults: two portals book overlapping slots',
    calendars: { c: dense },
    faults: 1,
    acts: [[a('09:00-09:30')], [b('09:15-09:45')]],
  },
  {
    name: 'faults: a booking with time around it, and its cancellation',
    calendars: { c: { ...buffered, grid: 15 } },
    faults: 1,
    acts: [[a('09:15-09:45', { as: 'x' }), { does: 'cancel', what: 'x' }]],
  },
  {
    name: 'faults: a move',
    calendars: { c: dense },
    before: [a('09:00-09:30', { as: 'x' })],
    faults: 1,
    acts: [[{ does: 'move', what: 'x', time: '10:00-10:30' }]],
  },
  {
    name: 'faults: a replacement',
    calendars: { c: plain },
    before: [a('09:00-09:30', { as: 'x' })],
    faults: 1,
    acts: [[{ does: 'replace', what: 'x', time: '10:00-10:30', as: 'y' }]],
  },
  {
    name: 'faults: a hold that is accepted',
    calendars: { c: dense },
    faults: 1,
    acts: [
      [
        { does: 'hold', time: '09:00-09:30', as: 'x' },
        { does: 'accept', what: 'x' },
      ],
    ],
  },
  {
    name: 'faults: a hold that is given up',
    calendars: { c: dense },
    faults: 1,
    acts: [
      [
        { does: 'hold', time: '09:00-09:30', as: 'x' },
        { does: 'cancel', what: 'x' },
      ],
    ],
  },
  {
    name: 'faults: surgeon and room',
    calendars: { surgeon: plain, room: { ...plain, serviceOf: 'surgeon' } },
    faults: 1,
    acts: [[a('09:00-09:30', { in: ['surgeon', 'room'], as: 'x' }), { does: 'cancel', what: 'x' }]],
  },
  {
    name: 'faults: staff block time',
    calendars: { c: dense },
    faults: 1,
    acts: [[{ does: 'block', time: '09:30-10:00' }]],
  },
  {
    name: "faults: Medplum's $book",
    calendars: { c: { ...buffered, grid: 15 } },
    faults: 1,
    acts: [[{ does: 'native-book', time: '09:15-09:45' }]],
  },
  {
    name: 'faults: staff block time and open it again',
    calendars: { c: dense },
    faults: 1,
    acts: [
      [
        { does: 'block', time: '09:30-10:00', as: 'x' },
        { does: 'unblock', what: 'x' },
      ],
    ],
  },
  {
    name: 'faults: staff block time of hand-made slots and open it again',
    calendars: { c: byHand },
    faults: 1,
    acts: [
      [
        { does: 'block', time: '09:20-09:40', as: 'x' },
        { does: 'unblock', what: 'x' },
      ],
    ],
  },
  {
    name: 'faults: staff write an appointment and cancel it',
    calendars: { c: dense },
    faults: 1,
    acts: [
      [
        { does: 'write', time: '09:00-09:30', slot: '09:00-09:30', as: 'x' },
        { does: 'staff-cancel', what: 'x' },
      ],
    ],
  },
  {
    name: 'faults: staff write an appointment that names no Slot',
    calendars: { c: plain },
    faults: 1,
    acts: [[{ does: 'write', time: '09:15-09:45' }]],
  },
  {
    name: 'faults: staff confirm a request',
    calendars: { c: { ...dense, confirmation: 'manual' } },
    before: [a('09:00-09:30', { as: 'x' })],
    faults: 1,
    acts: [[{ does: 'confirm', what: 'x' }]],
  },
  {
    name: "faults: Medplum's $book and $cancel",
    calendars: { c: { ...buffered, grid: 15 } },
    faults: 1,
    acts: [
      [
        { does: 'native-book', time: '09:15-09:45', as: 'x' },
        { does: 'native-cancel', what: 'x' },
      ],
    ],
  },
  {
    name: 'faults: opening hours change',
    calendars: { c: plain },
    faults: 1,
    acts: [[{ does: 'open', hours: '09:30-11:00' }]],
  },
  {
    name: "staff write on a slot that a portal books and Medplum's $cancel deletes",
    calendars: { c: plain },
    acts: [
      [a('09:30-10:00', { as: 'z' }), { does: 'native-cancel', what: 'z' }],
      [{ does: 'write', time: '09:30-10:00', slot: '09:30-10:00' }],
    ],
  },
  {
    name: 'staff set a slot busy that a portal books and moves',
    calendars: { c: dense },
    acts: [
      [{ does: 'occupy', time: '10:15-10:45' }],
      [b('10:15-10:45', { as: 'y' }), { does: 'move', portal: 'B', what: 'y', time: '09:45-10:15' }],
    ],
  },
  {
    name: 'staff write an appointment and a block, with time around appointments',
    calendars: { c: { ...buffered, grid: 15 } },
    acts: [[{ does: 'block', time: '09:00-09:20' }], [{ does: 'write', time: '09:15-09:45', slot: '09:15-09:45' }]],
  },
  {
    name: 'staff write two overlapping appointments at one of two places',
    calendars: { c: { ...dense, capacity: 2 } },
    acts: [
      [{ does: 'write', time: '09:00-09:30', slot: '09:00-09:30' }],
      [{ does: 'write', time: '09:15-09:45', slot: '09:15-09:45' }],
    ],
  },
  {
    name: 'staff take a time and write an appointment into it, at one of two places',
    calendars: { c: { ...dense, capacity: 2 } },
    acts: [[{ does: 'occupy', time: '09:00-09:30' }], [{ does: 'write', time: '09:15-09:45', slot: '09:15-09:45' }]],
  },
  {
    name: 'two of the staff take one Slot in Medplum, and one cancels at once',
    calendars: { c: plain },
    acts: [
      [{ does: 'native-book', time: '10:00-10:30', as: 'y' }],
      [
        { does: 'write', time: '10:00-10:30', slot: '10:00-10:30', as: 'x' },
        { does: 'staff-cancel', what: 'x' },
      ],
    ],
  },
  // Those who wait
  {
    name: 'waitlist: freed time is offered while another portal books it',
    calendars: { c: refilled },
    before: [b('09:00-09:30', { as: 'x' }), join('09:00-11:00', 'w')],
    acts: [[{ does: 'cancel', portal: 'B', what: 'x' }], [b('09:00-09:30', { by: 'schedule' })]],
  },
  {
    name: 'waitlist: freed time is offered while staff take it in Medplum and are refused',
    calendars: { c: refilled },
    before: [...waiting(refilled)],
    acts: [
      [{ does: 'block', time: '10:15-10:45' }],
      [
        { does: 'cancel', what: 'y' },
        { does: 'native-hold', time: '09:30-10:00' },
      ],
    ],
  },
  {
    name: 'Medplum cancels, and somebody writes an appointment there while the clock publishes, without a Slot',
    calendars: { c: refilled },
    before: [...waiting(refilled)],
    acts: [
      [{ does: 'native-cancel', what: 'y' }, { does: 'write', time: '09:30-10:00' }, { does: 'clock' }],
      [b('09:30-10:00', { by: 'schedule' })],
    ],
  },
  {
    name: 'waitlist: two times are freed for one who waits',
    calendars: { c: refilled },
    before: [b('09:00-09:30', { as: 'x' }), b('09:30-10:00', { as: 'y' }), join('09:00-10:00', 'w')],
    acts: [
      [{ does: 'cancel', portal: 'B', what: 'x' }],
      [{ does: 'cancel', portal: 'B', what: 'y' }, { does: 'clock' }],
    ],
  },
  {
    name: 'waitlist: an offer is accepted while its time runs out and another portal books',
    calendars: { c: refilled },
    before: [...offered, join('09:00-10:00', 'v', { portal: 'B' })],
    acts: [[{ does: 'take', what: 'w' }], [{ does: 'pass', minutes: 1_500 }, b('09:00-09:30', { by: 'schedule' })]],
  },
  {
    name: 'waitlist: an offer is accepted and declined',
    calendars: { c: refilled },
    before: [...offered, join('09:00-10:00', 'v', { portal: 'B' })],
    acts: [[{ does: 'take', what: 'w' }], [{ does: 'decline', what: 'w' }]],
  },
  {
    name: 'waitlist: an offer is accepted while what it replaces is cancelled or moved',
    calendars: { c: refilled },
    before: replacing,
    acts: [[{ does: 'take', what: 'w' }], [{ does: 'cancel', what: 's' }]],
  },
  {
    name: 'waitlist: whoever is offered a time leaves',
    calendars: { c: refilled },
    before: offered,
    acts: [[{ does: 'take', what: 'w' }], [{ does: 'cancel', what: 'w' }]],
  },
  {
    name: 'waitlist: faults: freed time is offered, declined, and offered again',
    calendars: { c: refilled },
    faults: 1,
    before: [b('09:00-09:30', { as: 'x' }), join('09:00-10:00', 'w'), join('09:00-10:00', 'v', { portal: 'B' })],
    acts: [
      [
        { does: 'cancel', portal: 'B', what: 'x' },
        { does: 'decline', what: 'w' },
        { does: 'take', portal: 'B', what: 'v' },
      ],
    ],
  },
  {
    name: 'waitlist: faults: an accepted offer frees what it replaces, for the next',
    calendars: { c: refilled },
    faults: 1,
    before: [...replacing, join('09:00-11:00', 'v', { portal: 'B' })],
    acts: [
      [
        { does: 'take', what: 'w' },
        { does: 'take', portal: 'B', what: 'v' },
      ],
    ],
  },
  // Absences
  {
    name: 'absence: staff give what it offers to somebody else, and nobody is kept from theirs',
    calendars: { c: plain },
    before: [a('09:30-10:00', { as: 'y' })],
    acts: [
      [{ does: 'absence', time: '09:00-10:00', silence: 'keep' }],
      [{ does: 'write', time: '10:00-10:30', slot: '10:00-10:30' }],
    ],
  },
  {
    name: 'absence: announced and confirmed while portals book into it',
    calendars: withSubstitute,
    before: [a('09:00-09:30', { in: ['c'], as: 'x' })],
    acts: [[absence('keep')], [a('09:30-10:00', { in: ['c'] })], [b('10:00-10:30', { in: ['c'] })]],
  },
  {
    name: 'absence: what it offers is booked, or its time is blocked',
    calendars: withSubstitute,
    before: [a('09:00-09:30', { in: ['c'], as: 'x' })],
    acts: [[absence('cancel')], [b('09:00-09:30', { in: ['s'] })], [{ does: 'block', time: '09:30-10:00', in: ['s'] }]],
  },
  {
    name: 'absence: an offer is accepted while its time runs out, and nobody is kept',
    calendars: withSubstitute,
    before: [a('09:00-09:30', { in: ['c'], as: 'x' }), absence('cancel')],
    acts: [[{ does: 'take', what: 'x' }], [{ does: 'pass', minutes: 4_000 }, carriedOut]],
  },
  {
    name: 'absence: an offer is accepted while its time runs out, and all are moved',
    calendars: withSubstitute,
    before: [a('09:00-09:30', { in: ['c'], as: 'x' }), absence('move')],
    acts: [
      [{ does: 'take', what: 'x' }],
      [{ does: 'pass', minutes: 4_000 }, carriedOut],
      [b('09:00-09:30', { in: ['s'] })],
    ],
  },
  {
    name: 'absence: an offer is declined while it is accepted, and its appointment is cancelled',
    calendars: withSubstitute,
    before: [a('09:00-09:30', { in: ['c'], as: 'x' }), absence('keep')],
    acts: [
      [{ does: 'decline', what: 'x' }, carriedOut],
      [{ does: 'take', what: 'x' }],
      [{ does: 'cancel', what: 'x' }],
    ],
  },
  {
    name: 'absence: it ends early while an offer is accepted',
    calendars: withSubstitute,
    before: [...bothBooked, absence('move')],
    acts: [[{ does: 'end-absence', time: '09:00-11:00', in: ['c'], at: '09:00' }], [{ does: 'take', what: 'x' }]],
  },
  {
    name: 'absence: two overlap, and one is that of the substitute',
    calendars: withSubstitute,
    before: [a('09:00-09:30', { in: ['c'], as: 'x' }), a('10:00-10:30', { in: ['s'], as: 'y' })],
    acts: [
      [absence('keep')],
      [{ does: 'absence', time: '09:00-10:00', in: ['c', 's'], silence: 'cancel' }, carriedOut],
    ],
  },
  {
    name: 'absence: faults: confirmed, with nobody answering: kept',
    calendars: withSubstitute,
    faults: 1,
    before: [a('09:00-09:30', { in: ['c'], as: 'x' }), b('09:30-10:00', { in: ['c'] })],
    acts: [[absence('keep', '09:00-10:00')]],
  },
  ...(['keep', 'cancel', 'move'] as const).map(
    (silence): Scene => ({
      name: `absence: faults: carried out by the clock, nobody answers: ${silence}`,
      calendars: withSubstitute,
      faults: 1,
      before: [...bothBooked, absence(silence, '09:00-10:00')],
      acts: [[{ does: 'take', what: 'y' }, { does: 'pass', minutes: 4_000 }, carriedOut, carriedOut]],
    }),
  ),
  {
    name: 'absence: faults: it ends early',
    calendars: withSubstitute,
    faults: 1,
    before: [...bothBooked, absence('move', '09:00-10:00')],
    acts: [[{ does: 'end-absence', time: '09:00-10:00', in: ['c'], at: '09:00' }, carriedOut]],
  },
  {
    name: 'absence: another whole visit is offered while others book a step of it, or its time is blocked',
    calendars: inTwo,
    before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])],
    acts: [
      [bothAbsent('cancel')],
      [b('10:00-10:30', { in: ['c'], by: 'schedule' })],
      [{ does: 'block', time: '10:30-11:00', in: ['d'] }],
    ],
  },
  {
    name: 'absence: another whole visit is accepted while it is declined, and staff take the time of a step',
    calendars: inTwo,
    before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), bothAbsent('keep')],
    acts: [
      [{ does: 'take', what: 'v' }],
      [{ does: 'decline', what: 'v' }, carriedOut],
      [{ does: 'block', time: '10:00-10:30', in: ['c'] }],
    ],
  },
  ...(['keep', 'cancel', 'move'] as const).map(
    (silence): Scene => ({
      name: `absence: faults: another whole visit, carried out by the clock, nobody answers: ${silence}`,
      calendars: inTwo,
      faults: 1,
      before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), bothAbsent(silence)],
      acts: [[{ does: 'pass', minutes: 4_000 }, carriedOut, carriedOut]],
    }),
  ),
  {
    name: 'absence: another whole visit is accepted while its time runs out, and all are moved',
    calendars: inTwo,
    before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), bothAbsent('move')],
    acts: [
      [{ does: 'take', what: 'v' }],
      [{ does: 'pass', minutes: 4_000 }, carriedOut],
      [b('10:00-10:30', { in: ['c'], by: 'schedule' })],
    ],
  },
  // Visits of several steps
  {
    name: 'visits: two cross each other in two calendars',
    calendars: inTwo,
    acts: [[visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])], [visitB(['09:00-09:30', 'd'], ['09:30-10:00', 'c'])]],
  },
  {
    name: 'visits: two want each step of the other, in another order',
    calendars: inTwo,
    acts: [[visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])], [visitB(['09:30-10:00', 'd'], ['10:00-10:30', 'c'])]],
  },
  {
    name: 'visits: one of three steps, and bookings of two of them',
    calendars: inTwo,
    acts: [
      [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'], ['10:00-10:30', 'c'])],
      [b('10:00-10:30', { in: ['c'] })],
      [b('09:30-10:00', { in: ['d'] })],
    ],
  },
  {
    name: 'visits: faults: one is booked, moved and cancelled, while others book what it leaves',
    calendars: inTwo,
    faults: 1,
    acts: [
      [
        visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']),
        { ...visit(['09:30-10:00', 'c'], ['10:00-10:30', 'd']), what: 'v', as: 'v' },
        { does: 'cancel', what: 'v2' },
      ],
      [b('09:00-09:30', { in: ['c'] })],
    ],
  },
  {
    name: 'visits: cancelled from both ends, and booked anew',
    calendars: inTwo,
    before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])],
    acts: [
      [{ does: 'cancel', what: 'v' }],
      [{ does: 'cancel', what: 'v2' }],
      [visitB(['09:30-10:00', 'd'], ['10:00-10:30', 'c'])],
    ],
  },
  {
    name: 'visits: staff block a step while it is booked',
    calendars: inTwo,
    acts: [
      [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])],
      [{ does: 'block', time: '09:30-10:00', in: ['d'], status: 'busy-unavailable' }],
    ],
  },
  {
    name: 'visits: staff cancel a step while it is moved',
    calendars: inTwo,
    before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])],
    acts: [
      [{ ...visit(['09:30-10:00', 'c'], ['10:00-10:30', 'd']), what: 'v', as: 'v' }],
      [{ does: 'staff-cancel', what: 'v2' }],
    ],
  },
  {
    name: 'visits: staff confirm a step while it is cancelled',
    calendars: { c: { ...plain, visit: true, confirmation: 'manual' }, d: { ...plain, visit: true } },
    before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])],
    acts: [[{ does: 'confirm', what: 'v' }], [{ does: 'cancel', what: 'v2' }]],
  },
  {
    name: 'visits: two that cross are cancelled, and others wait for either',
    calendars: inTwoRefilled,
    before: [
      visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']),
      visitB(['09:00-09:30', 'd'], ['09:30-10:00', 'c']),
      ...bothWaitForVisits,
    ],
    acts: [[{ does: 'cancel', what: 'v2' }], [{ does: 'cancel', portal: 'B', what: 'w' }]],
  },
  {
    name: 'visits: freed time is one offer, while others book a step of it',
    calendars: inTwoRefilled,
    before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), ...bothWaitForVisits],
    acts: [[{ does: 'cancel', what: 'v' }], [b('09:30-10:00', { in: ['d'], by: 'schedule' })]],
  },
  {
    name: 'visits: staff block a step while a whole is offered',
    calendars: inTwoRefilled,
    before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), join('09:00-10:00', 'x', { visit: true })],
    acts: [
      [{ does: 'cancel', what: 'v' }],
      [{ does: 'block', time: '09:30-10:00', in: ['d'], status: 'busy-unavailable' }],
    ],
  },
  {
    name: 'visits: faults: one offer of a whole is declined, and the next is taken',
    calendars: inTwoRefilled,
    faults: 1,
    before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), ...bothWaitForVisits],
    acts: [
      [
        { does: 'cancel', what: 'v' },
        { does: 'decline', what: 'x' },
        { does: 'take', portal: 'B', what: 'y' },
      ],
    ],
  },
  {
    name: 'visits: a whole is offered in place of another, and taken while its time runs out and another books a step',
    calendars: inTwoRefilled,
    before: [
      visitB(['09:00-09:30', 'c'], ['09:30-10:00', 'd']),
      visit(['10:00-10:30', 'c'], ['10:30-11:00', 'd']),
      join('09:00-10:00', 'x', { visit: true, standing: 'v' }),
      { does: 'cancel', portal: 'B', what: 'w' },
    ],
    acts: [
      [{ does: 'take', what: 'x' }],
      [{ does: 'pass', minutes: 1_500 }, b('09:00-09:30', { in: ['c'], by: 'schedule' })],
    ],
  },
  // Draws
  {
    name: 'draw: two ask for one time, and a third comes while it is drawn',
    calendars: { c: drawn },
    acts: [
      [ask('A')],
      [ask('B')],
      [{ does: 'pass', minutes: 1 }, { does: 'clock', only: 'process-booking' }, b('09:00-09:30')],
    ],
  },
  {
    name: 'draw: faults: two ask for one time',
    calendars: { c: drawn },
    faults: 1,
    acts: [[ask('A')], [ask('B'), { does: 'pass', minutes: 1 }, { does: 'clock', only: 'process-booking' }]],
  },
  // Publishing
  {
    name: 'opening hours change while a portal books',
    calendars: { c: dense },
    acts: [[{ does: 'open', hours: '09:30-11:00' }], [b('09:00-09:30')]],
  },
  {
    name: 'the clock publishes while a portal books',
    calendars: { c: dense },
    acts: [[{ does: 'clock' }], [b('09:00-09:30')]],
  },
];
