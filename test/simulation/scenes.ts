import type { Act, Booking, Moving, Sent } from './acts.ts';
import type { Calendar } from './clinic.ts';

/** A few short acts that are played in all orders. */
export interface Scene {
  readonly name: string;
  readonly calendars: Readonly<Record<string, Calendar>>;
  /** What has happened before. */
  readonly before?: readonly Act[];
  /** For each actor, what it does one after the other. */
  readonly acts: readonly (readonly Act[])[];
  /** How many actors may die, or answers be lost, in one play; with 0 nobody does, whatever is asked for. */
  readonly faults?: number;
  /** Whether Medplum is newer than 5.1.23. */
  readonly isNewest?: true;
  /** How many of its acts are carried out at least, in every order in which nobody dies. */
  readonly done?: number;
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

type Given<D extends Act['does']> = Omit<Extract<Act, { does: D }>, 'does'>;

/** Acts on something that has a name, and acts at a time, with whatever else is said of them. */
const on =
  <D extends 'cancel' | 'accept' | 'take' | 'decline' | 'confirm' | 'unblock' | 'staff-cancel' | 'native-cancel'>(
    does: D,
  ) =>
  (what: string, more: Partial<Given<D>> = {}): Act =>
    ({ does, what, ...more }) as Act;
const during =
  <D extends 'hold' | 'write' | 'block' | 'occupy' | 'native-book' | 'native-hold'>(does: D) =>
  (time: string, more: Partial<Given<D>> = {}): Act =>
    ({ does, time, ...more }) as Act;
const to =
  <D extends 'move' | 'replace'>(does: D) =>
  (what: string, time: string, more: Partial<Given<D>> = {}): Act =>
    ({ does, what, time, ...more }) as Act;

const [cancel, staffCancel, nativeCancel] = [on('cancel'), on('staff-cancel'), on('native-cancel')];
const [accept, confirm, unblock] = [on('accept'), on('confirm'), on('unblock')];
const [take, decline] = [on('take'), on('decline')];
const [hold, nativeBook, nativeHold] = [during('hold'), during('native-book'), during('native-hold')];
const [write, block, occupy] = [during('write'), during('block'), during('occupy')];
const [move, replace] = [to('move'), to('replace')];
const pass = (minutes: number): Act => ({ does: 'pass', minutes });
const open = (hours: string): Act => ({ does: 'open', hours });

const scene = (
  name: string,
  calendars: Scene['calendars'],
  acts: Scene['acts'],
  more: Pick<Scene, 'before' | 'faults' | 'done' | 'isNewest'> = {},
): Scene => ({ name, calendars, ...more, acts });

const refilled: Calendar = { ...plain, refill: true };

const join = (time: string, as: string, more: { portal?: 'A' | 'B'; current?: string; visit?: true } = {}): Act => ({
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
        cancel('x', { portal: 'B' }),
      ]
    : [];

/** Somebody waits (`w`), and is offered the first time. */
const offered: readonly Act[] = [b('09:00-09:30', { as: 'x' }), join('09:00-10:00', 'w'), cancel('x', { portal: 'B' })];

/** The same, instead of an appointment that stands until then (`s`). */
const replacing: readonly Act[] = [
  b('09:00-09:30', { as: 'x' }),
  a('10:00-10:30', { as: 's' }),
  join('09:00-10:00', 'w', { current: 's' }),
  cancel('x', { portal: 'B' }),
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

/** One time. */
const single: Calendar = { ...plain, hours: '09:00-09:30' };
const ask = (portal: 'A' | 'B'): Act => ({ does: 'ask', time: '09:00-09:30', portal });

type Step = readonly [time: string, calendar: string];

/** A visit named `v`: its steps are `v`, `v2` … */
const visit = (...steps: readonly Step[]): Extract<Act, { does: 'visit' }> => ({
  does: 'visit',
  steps: steps.map(([time, name]) => ({ time, in: [name] })),
  as: 'v',
});
const visitB = (...steps: readonly Step[]): Act => ({ ...visit(...steps), portal: 'B', as: 'w' });

const bufferedGrid: Calendar = { ...buffered, grid: 15 };
const staffBook = (time: string, sent: Sent = 'in one', more: Partial<Given<'staff-book'>> = {}): Act => ({
  does: 'staff-book',
  time,
  sent,
  ...more,
});
const staffMove = (what: string, time: string, by: Moving, more: Partial<Given<'staff-move'>> = {}): Act => ({
  does: 'staff-move',
  what,
  time,
  by,
  ...more,
});
const sendings: readonly Sent[] = ['in one', 'in one, backwards', 'in a batch', 'one by one', 'one by one, backwards'];
const moves: readonly Moving[] = [
  '$reschedule',
  'anew',
  'anew, one by one',
  'anew, in a batch',
  'times',
  'patch',
  'Slot',
  'Slot alone',
];
/** Somebody has booked what staff move. */
const booked: Readonly<Record<string, readonly [Calendar, readonly Act[]]>> = {
  'a portal has booked': [bufferedGrid, [a('09:15-09:45', { as: 'x' })]],
  'a portal has requested': [{ ...bufferedGrid, confirmation: 'manual' }, [a('09:15-09:45', { as: 'x' })]],
  'staff have booked in Medplum': [bufferedGrid, [nativeBook('09:15-09:45', { as: 'x' })]],
  'a portal has booked without time around it': [plain, [a('09:00-09:30', { as: 'x' })]],
};

// biome-ignore format: a scene a line, or two
const byStaff: readonly Scene[] = [
  // A Slot and its appointment are one act
  ...sendings.flatMap((sent) =>
    Object.entries({ plain, overlapping: dense, buffered: bufferedGrid, 'buffered, by hand': byHandBuffered }).map(
      ([kind, calendar]) => scene(`staff take a slot and book it, ${sent}: ${kind}`, { c: calendar },
        [[staffBook(kind === 'buffered' ? '09:15-09:45' : '09:00-09:30', sent)]],
        { done: 1 }),
    ),
  ),
  scene('staff book on a slot that they make, with time around it', { c: bufferedGrid },
    [[staffBook('09:15-09:45', 'in one', { slot: 'new' })]], { done: 1 }),
  scene('staff take a slot and book it while a portal books the slot', { c: bufferedGrid },
    [[staffBook('09:15-09:45')], [b('09:15-09:45')]], { done: 1 }),
  scene('staff move an appointment that its portal cancels', { c: bufferedGrid },
    [[staffMove('x', '10:15-10:45', 'times')], [cancel('x')]], { before: [a('09:15-09:45', { as: 'x' })], done: 1 }),
  scene('staff move what is cancelled', { c: bufferedGrid }, [[staffMove('x', '10:15-10:45', '$reschedule')]],
    { before: [a('09:15-09:45', { as: 'x' }), cancel('x')] }),
  // Series, and several at one time
  scene("Medplum's $book of a series, and a portal in its first week", { c: { ...bufferedGrid, weeks: 2 } },
    [[nativeBook('09:15-09:45', { weeks: 2 })], [b('09:15-09:45')]], { done: 1 }),
  scene("Medplum's $book of a series of which a week is taken", { c: { ...bufferedGrid, weeks: 2 } },
    [[nativeBook('09:15-09:45', { weeks: 2 })]], { before: [b('09:15-09:45')] }),
  scene('staff and a portal at one of two places', { c: { ...dense, capacity: 2 } },
    [[nativeBook('09:00-09:30')], [b('09:00-09:30')]], { done: 1 }),
  scene('a portal books by the Schedule the other slot of a time of which one is reserved', { c: twoPlaces },
    [[staffBook('09:00-09:30', 'in one', { undone: true }), b('09:00-09:30', { by: 'schedule' })]], { done: 1 }),
  scene('staff take a slot and book it while a portal books its neighbour', { c: bufferedGrid },
    [[staffBook('09:15-09:45')], [b('09:45-10:15')]], { done: 1 }),
  scene('two of the staff take neighbouring slots and book them', { c: dense },
    [[staffBook('09:00-09:30')], [staffBook('09:15-09:45')]], { done: 1 }),
  scene('what staff are refused keeps no time closed', { c: dense },
    [[staffBook('09:15-09:45', 'in one', { slot: 'new' })]], { before: [a('09:00-09:30')] }),
  ...([undefined, 'new'] as const).flatMap((slot) => [plain, bufferedGrid].map((calendar) =>
    scene(`what is rolled back keeps no time closed: ${slot ?? 'its'} slot${calendar === plain ? '' : ', buffered'}`, { c: calendar },
      [[staffBook(calendar === plain ? '09:00-09:30' : '09:15-09:45', 'in one', { ...(slot && { slot }), undone: true })]]),
  )),
  scene("Medplum's $cancel of what a portal has booked, with time around it", { c: { ...bufferedGrid, grid: 10 } },
    [[nativeCancel('x')]], { before: [a('09:50-10:20', { as: 'x' })], done: 1 }),
  scene("what Medplum's $book is refused keeps no time closed", { c: dense }, [[nativeBook('09:15-09:45')]],
    { before: [a('09:00-09:30')] }),
  scene('what staff are refused for a block of theirs keeps no time closed', { c: bufferedGrid },
    [[staffBook('09:15-09:45', 'in one', { slot: 'new' })]], { before: [block('09:30-10:00')] }),
  // Moves
  ...Object.entries(booked).flatMap(([who, [calendar, before]]) =>
    moves.map((by) => scene(`staff move what ${who}: ${by}`, { c: calendar },
      [[staffMove('x', calendar === plain ? '10:00-10:30' : '10:15-10:45', by)]],
        // What becomes of a Slot that is written by itself is for its job alone (docs/calendar-model.md, ends of the model).
        { before, ...(by === 'anew, in a batch' ? { faults: 0 } : by === 'Slot alone' ? { done: 1, faults: 0 } : { done: 1 }) })),
  ),
  ...(['$reschedule', 'anew', 'times', 'patch'] as const).flatMap((by) => [
    scene(`staff move an appointment over itself: ${by}`, { c: bufferedGrid }, [[staffMove('x', '09:30-10:00', by)]],
      // Medplum's own operation looks at the time around it, which the appointment does not name.
      { before: [a('09:15-09:45', { as: 'x' })], ...(by === '$reschedule' ? {} : { done: 1 }) }),
    scene(`staff move an appointment while a portal books its new time: ${by}`, { c: bufferedGrid },
      [[staffMove('x', '10:15-10:45', by)], [b('10:15-10:45')]],
      { before: [a('09:15-09:45', { as: 'x' })], done: 1 }),
    scene(`staff move an appointment while a portal books its old time: ${by}`, { c: bufferedGrid },
      [[staffMove('x', '10:15-10:45', by)], [b('09:15-09:45', { by: 'schedule' })]],
      { before: [a('09:15-09:45', { as: 'x' })], done: 1 }),
    scene(`staff move an appointment that its portal cancels: ${by}`, { c: bufferedGrid },
      [[staffMove('x', '10:15-10:45', by)], [cancel('x')]], { before: [a('09:15-09:45', { as: 'x' })], done: 1, faults: 0 }),
    scene(`staff give an appointment to another doctor: ${by}`, { c: bufferedGrid, d: { ...bufferedGrid, serviceOf: 'c' } },
      [[staffMove('x', '09:15-09:45', by, { in: ['d'] })]],
      { before: [a('09:15-09:45', { as: 'x', in: ['c'] })], ...(by === '$reschedule' || by === 'anew' ? { done: 1 } : {}) }),
  ]),
  ...(['times', 'patch', 'anew', 'Slot alone'] as const).map((by) =>
    scene(`a move over another appointment: ${by}`, { c: bufferedGrid }, [[staffMove('x', '10:15-10:45', by)]],
      { before: [a('09:15-09:45', { as: 'x' }), b('10:15-10:45')], faults: 0 })),
  scene('staff move an appointment of surgeon and room', { surgeon: plain, room: { ...plain, serviceOf: 'surgeon' } },
    [[staffMove('x', '10:00-10:30', '$reschedule')], [b('10:00-10:30', { in: ['room'] })]],
    { before: [a('09:00-09:30', { in: ['surgeon', 'room'], as: 'x' })], done: 1 }),
];

// biome-ignore format: a scene a line, or two
export const scenes: readonly Scene[] = [
  ...byStaff,
  // One offer and its neighbours
  scene('two portals book the same slot', { c: plain }, [[a('09:00-09:30')], [b('09:00-09:30')]]),
  scene('two portals book overlapping slots', { c: dense }, [[a('09:00-09:30')], [b('09:15-09:45')]]),
  scene('two portals book neighbours of a third slot', { c: dense },
    [[a('09:00-09:30')], [b('09:30-10:00')], [a('09:15-09:45')]]),
  scene('two portals book a slot that is made by hand', { c: byHand }, [[a('09:00-09:30')], [b('09:00-09:30')]]),
  scene('two portals name the schedule only', { c: dense },
    [[a('09:00-09:30', { by: 'schedule' })], [b('09:15-09:45', { by: 'schedule' })]]),
  scene('a hold and a booking of overlapping slots', { c: dense }, [[hold('09:00-09:30')], [b('09:15-09:45')]]),
  scene('a hold and a booking of the same slot', { c: plain }, [[hold('09:00-09:30')], [b('09:00-09:30')]]),
  scene('two holds of the same slot', { c: byHand }, [[hold('09:00-09:30')], [hold('09:00-09:30', { portal: 'B' })]]),
  // Parts of slots
  scene('a part of a published slot, its rest, and the neighbour', { c: dense },
    [[a('09:00-09:05', { slot: '09:00-09:30' }), a('09:05-09:30')], [b('09:15-09:45')]]),
  scene('two parts of one slot', { c: long }, [[a('09:00-09:30')], [b('09:30-10:00')]]),
  scene('overlapping parts of one slot', { c: long }, [[a('09:00-09:30')], [b('09:20-09:50')]]),
  scene('a part of a slot whose service needs time after it', { c: longBuffered },
    [[a('09:00-09:15')], [b('09:30-09:45')]]),
  scene('a part is cancelled while its neighbour is booked', { c: long }, [[cancel('x')], [b('09:20-09:40')]],
    { before: [a('09:00-09:20', { as: 'x' })] }),
  scene('a cancelled slot is booked in part at once', { c: dense },
    [[cancel('x'), b('09:00-09:20', { slot: '09:00-09:30' })]], { before: [a('09:00-09:30', { as: 'x' })] }),
  // Time around appointments
  scene('hand-made neighbours that need time between them', { c: byHandBuffered },
    [[a('09:00-09:30')], [b('09:30-10:00')]]),
  scene('published neighbours that need time between them', { c: { ...buffered, grid: 15 } },
    [[a('09:15-09:45')], [b('09:45-10:15')]]),
  scene('a booking with time around it is cancelled while its neighbour is booked', { c: { ...buffered, grid: 15 } },
    [[cancel('x')], [b('10:15-10:45')]], { before: [a('09:15-09:45', { as: 'x' })] }),
  scene('one booking after the other, with time around them', { c: { ...buffered, grid: 15 } },
    [[a('09:15-09:45'), { does: 'clock' }, b('10:00-10:30')]]),
  scene('staff cancel a booking with time around it', { c: { ...buffered, grid: 15 } }, [[staffCancel('x')]],
    { before: [a('09:15-09:45', { as: 'x' })] }),
  // Several places
  scene('two places at once', { c: twoPlaces }, [[a('09:00-09:30')], [b('09:00-09:30')]]),
  scene('two places with time after each appointment', { c: { ...twoPlaces, after: 10 } },
    [[a('09:00-09:30')], [b('09:00-09:30')]]),
  scene('two places with overlapping slots', { c: { ...dense, capacity: 2 } },
    [[a('09:00-09:30')], [b('09:15-09:45')], [a('09:15-09:45')]]),
  scene('two hand-made places with time after each appointment',
    { c: { offers: [['09:00-09:30', '09:30-10:00'], ['09:00-09:30']], duration: 30, grid: 15, after: 10 } },
    [[a('09:00-09:30')], [b('09:00-09:30')]]),
  // Several calendars
  scene('surgeon and room, and the room alone', { surgeon: plain, room: { ...plain, serviceOf: 'surgeon' } },
    [[a('09:00-09:30', { in: ['surgeon', 'room'] })], [b('09:00-09:30', { in: ['room'] })]]),
  scene('two pairs crosswise', { surgeon: plain, room: { ...plain, serviceOf: 'surgeon' } },
    [[a('09:00-09:30', { in: ['surgeon', 'room'] })], [b('09:00-09:30', { in: ['room', 'surgeon'] })]]),
  // Moves and cancellations
  scene('a cancelled slot is booked at once', { c: dense }, [[cancel('x'), b('09:00-09:30')]],
    { before: [a('09:00-09:30', { as: 'x' })] }),
  scene('a neighbour is booked while a booking is cancelled', { c: dense }, [[cancel('x')], [b('09:30-10:00')]],
    { before: [a('09:00-09:30', { as: 'x' })] }),
  scene('a move and a booking of where it goes', { c: dense }, [[move('x', '09:30-10:00')], [b('09:45-10:15')]],
    { before: [a('09:00-09:30', { as: 'x' })] }),
  scene('a move and the cancellation of the same booking', { c: dense }, [[move('x', '10:00-10:30')], [cancel('x')]],
    { before: [a('09:00-09:30', { as: 'x' })] }),
  scene('a replacement and the cancellation of what it replaces', { c: dense },
    [[replace('x', '10:00-10:30')], [cancel('x')]], { before: [a('09:00-09:30', { as: 'x' })] }),
  scene('two bookings change places', { c: plain },
    [[move('x', '09:30-10:00'), b('09:00-09:30')], [move('y', '10:30-11:00')]],
    { before: [a('09:00-09:30', { as: 'x' }), a('10:00-10:30', { as: 'y' })] }),
  // Holds and requests
  scene('a hold ends', { c: dense }, [[hold('09:00-09:30'), pass(11)]]),
  scene('a hold ends while it is accepted', { c: dense },
    [[accept('x')], [pass(11), b('09:00-09:30', { slot: '09:00-09:30' })]],
    { before: [hold('09:00-09:30', { as: 'x' })] }),
  scene('a hold ends, and the clock tidies up while others book', { c: dense },
    [[pass(11), { does: 'clock' }], [b('09:30-10:00')]], { before: [hold('09:00-09:30', { as: 'x' })] }),
  scene('staff confirm a request that its portal cancels', { c: { ...dense, confirmation: 'manual' } },
    [[confirm('x')], [cancel('x')]], { before: [a('09:00-09:30', { as: 'x' })] }),
  // Staff in Medplum
  scene('staff write an appointment on a published slot that a portal books', { c: plain },
    [[write('09:00-09:30', { slot: '09:00-09:30' })], [b('09:00-09:30')]]),
  scene('staff write an appointment on a hand-made slot that a portal books', { c: byHand },
    [[write('09:00-09:30', { slot: '09:00-09:30' })], [b('09:00-09:30')]]),
  scene('staff write an appointment that is longer than its slot', { c: plain },
    [[write('10:00-11:00', { slot: '10:00-10:30' })], [b('10:30-11:00')]]),
  scene('staff write an appointment that names the practitioner only', { c: plain },
    [[write('10:00-11:00')], [b('10:30-11:00')]]),
  scene('staff write two appointments side by side where nothing is offered, with time after them', { c: longBuffered },
    [[write('09:45-10:15')], [write('10:15-10:45')]]),
  scene('two of the staff write an appointment on one slot', { c: plain },
    [[write('09:00-09:30', { slot: '09:00-09:30' })], [write('09:00-09:30', { slot: '09:00-09:30' })]]),
  scene('staff overbook a slot on purpose', { c: plain },
    [[write('09:00-09:30', { slot: '09:00-09:30', overbooks: true })], [b('09:30-10:00')]],
    { before: [a('09:00-09:30')] }),
  scene('staff store a cancelled appointment on a slot that a portal has booked', { c: plain },
    [[write('09:00-09:30', { slot: '09:00-09:30', status: 'cancelled' })]], { before: [a('09:00-09:30')] }),
  scene('staff store a cancelled appointment on a busy slot', { c: plain },
    [[write('09:00-09:30', { slot: '09:00-09:30', status: 'cancelled' })]], { before: [block('09:00-09:30')] }),
  scene('staff write an appointment into a block, and another after it', { c: longBuffered },
    [[write('09:15-09:45', { slot: '09:15-09:45' })], [write('09:45-10:15')]], { before: [block('09:15-09:45')] }),
  scene('staff block time that a portal books', { c: dense },
    [[block('09:10-09:20', { status: 'busy-unavailable' })], [b('09:15-09:45')]]),
  scene('staff block time of hand-made slots that a portal books', { c: byHand },
    [[block('09:20-09:40')], [b('09:30-10:00')]]),
  scene('staff take a block away while a portal books beside it', { c: dense }, [[unblock('x')], [b('09:00-09:30')]],
    { before: [block('09:30-10:00', { as: 'x' })] }),
  scene('staff set a free slot busy that a portal books', { c: dense }, [[occupy('09:00-09:30')], [b('09:15-09:45')]]),
  scene('staff set a slot busy from a page of before a portal requested it, and the portal moves',
    { c: { ...plain, confirmation: 'manual' } },
    [[occupy('10:00-10:30')], [a('10:00-10:30', { as: 'x' }), move('x', '09:00-09:30')]]),
  scene('staff delete a free slot that a portal books', { c: byHand },
    [[{ does: 'remove', time: '09:00-09:30' }], [b('09:00-09:30')]]),
  scene('staff cancel what a portal moves', { c: dense }, [[staffCancel('x')], [move('x', '10:00-10:30')]],
    { before: [a('09:00-09:30', { as: 'x' })] }),
  // Medplum's own scheduling
  scene("Medplum's $book and a portal", { c: dense }, [[nativeBook('09:00-09:30')], [b('09:15-09:45')]]),
  scene("Medplum's $hold and a portal, with time around appointments", { c: { ...buffered, grid: 15 } },
    [[nativeHold('09:15-09:45')], [b('09:45-10:15')]]),
  scene("Medplum's $hold, and staff set the slot busy", { c: plain },
    [[nativeHold('09:00-09:30')], [occupy('09:00-09:30')]]),
  scene("Medplum's $cancel gives back what a portal booked, with the time around it", { c: { ...buffered, grid: 10 } },
    [[nativeCancel('x')]], { before: [a('09:30-10:00', { as: 'x' })] }),
  scene("Medplum's $cancel and a portal", { c: dense }, [[nativeCancel('x')], [b('09:30-10:00')]],
    { before: [nativeBook('09:00-09:30', { as: 'x' })] }),
  scene("Medplum's $book and two places", { c: twoPlaces }, [[nativeBook('09:00-09:30')], [b('09:00-09:30')]]),
  scene("Medplum's $book takes one of two places", { c: twoPlaces },
    [[nativeBook('09:00-09:30')], [b('09:00-09:30')]], { isNewest: true, done: 1 }),
  scene("two of Medplum's $book take two places", { c: twoPlaces },
    // One that Medplum begins anew may find its own first attempt in the way.
    [[nativeBook('09:00-09:30')], [nativeBook('09:00-09:30')]], { isNewest: true, done: 1 }),
  scene("Medplum's $book and portals at one of two places", { c: twoPlaces },
    [[nativeBook('09:00-09:30')], [b('09:00-09:30')]], { isNewest: true, before: [a('09:00-09:30')], done: 1 }),
  scene("Medplum's $book of surgeon and room, and the room alone",
    { surgeon: plain, room: { ...plain, serviceOf: 'surgeon' } },
    [[nativeBook('09:00-09:30', { in: ['surgeon', 'room'] })], [b('09:00-09:30', { in: ['room'] })]]),
  scene("Medplum's $book and $hold", { c: plain }, [[nativeBook('09:00-09:30')], [nativeHold('09:00-09:30')]]),
  scene("Medplum's $confirm of a hold that Medplum cancels", { c: plain },
    [[{ does: 'native-confirm', what: 'x' }], [nativeCancel('x')], [b('09:30-10:00')]],
    { before: [nativeHold('09:00-09:30', { as: 'x' })] }),
  scene("Medplum's $book, and a portal before anything has followed", { c: dense },
    [[nativeBook('09:00-09:30'), pass(1), b('09:15-09:45')]]),
  scene("Medplum's $hold, and a portal before anything has followed", { c: dense },
    [[nativeHold('09:00-09:30'), pass(1), b('09:15-09:45')]]),
  // Nights
  scene('over midnight', { c: { ...dense, hours: '23:00-25:00' } }, [[a('23:45-24:15')], [nativeBook('24:00-24:30')]]),
  scene('the night in spring that lacks an hour',
    { c: { ...dense, hours: '00:00-03:00', date: '2027-03-28', zone: 'Europe/Berlin' } },
    [[cancel('x')], [b('01:15-01:45')]], { before: [a('00:45-01:15', { as: 'x' })] }),
  scene('the night in autumn that has an hour twice',
    { c: { ...dense, hours: '23:00-27:00', date: '2027-10-30', zone: 'Europe/Berlin' } },
    [[move('x', '25:30-26:00')], [b('25:15-25:45')]], { before: [a('24:30-25:00', { as: 'x' })] }),
  // Actors that die, and answers that are lost
  scene('faults: two portals book overlapping slots', { c: dense }, [[a('09:00-09:30')], [b('09:15-09:45')]],
    { faults: 1 }),
  scene('faults: a booking with time around it, and its cancellation', { c: { ...buffered, grid: 15 } },
    [[a('09:15-09:45', { as: 'x' }), cancel('x')]], { faults: 1 }),
  scene('faults: a move', { c: dense }, [[move('x', '10:00-10:30')]],
    { faults: 1, before: [a('09:00-09:30', { as: 'x' })] }),
  scene('faults: a replacement', { c: plain }, [[replace('x', '10:00-10:30', { as: 'y' })]],
    { faults: 1, before: [a('09:00-09:30', { as: 'x' })] }),
  scene('faults: a hold that is accepted', { c: dense }, [[hold('09:00-09:30', { as: 'x' }), accept('x')]],
    { faults: 1 }),
  scene('faults: a hold that is given up', { c: dense }, [[hold('09:00-09:30', { as: 'x' }), cancel('x')]],
    { faults: 1 }),
  scene('faults: surgeon and room', { surgeon: plain, room: { ...plain, serviceOf: 'surgeon' } },
    [[a('09:00-09:30', { in: ['surgeon', 'room'], as: 'x' }), cancel('x')]], { faults: 1 }),
  scene('faults: staff block time', { c: dense }, [[block('09:30-10:00')]], { faults: 1 }),
  scene("faults: Medplum's $book", { c: { ...buffered, grid: 15 } }, [[nativeBook('09:15-09:45')]], { faults: 1 }),
  scene('faults: staff block time and open it again', { c: dense }, [[block('09:30-10:00', { as: 'x' }), unblock('x')]],
    { faults: 1 }),
  scene('faults: staff block time of hand-made slots and open it again', { c: byHand },
    [[block('09:20-09:40', { as: 'x' }), unblock('x')]], { faults: 1 }),
  scene('faults: staff write an appointment and cancel it', { c: dense },
    [[write('09:00-09:30', { slot: '09:00-09:30', as: 'x' }), staffCancel('x')]], { faults: 1 }),
  scene('faults: staff write an appointment that names no Slot', { c: plain }, [[write('09:15-09:45')]], { faults: 1 }),
  scene('faults: staff confirm a request', { c: { ...dense, confirmation: 'manual' } }, [[confirm('x')]],
    { faults: 1, before: [a('09:00-09:30', { as: 'x' })] }),
  scene("faults: Medplum's $book and $cancel", { c: { ...buffered, grid: 15 } },
    [[nativeBook('09:15-09:45', { as: 'x' }), nativeCancel('x')]], { faults: 1 }),
  scene('faults: opening hours change', { c: plain }, [[open('09:30-11:00')]], { faults: 1 }),
  scene("staff write on a slot that a portal books and Medplum's $cancel deletes", { c: plain },
    [[a('09:30-10:00', { as: 'z' }), nativeCancel('z')], [write('09:30-10:00', { slot: '09:30-10:00' })]]),
  scene('staff set a slot busy that a portal books and moves', { c: dense },
    [[occupy('10:15-10:45')], [b('10:15-10:45', { as: 'y' }), move('y', '09:45-10:15', { portal: 'B' })]]),
  scene('staff write an appointment and a block, with time around appointments', { c: { ...buffered, grid: 15 } },
    [[block('09:00-09:20')], [write('09:15-09:45', { slot: '09:15-09:45' })]]),
  scene('staff write two overlapping appointments at one of two places', { c: { ...dense, capacity: 2 } },
    [[write('09:00-09:30', { slot: '09:00-09:30' })], [write('09:15-09:45', { slot: '09:15-09:45' })]]),
  scene('staff take a time and write an appointment into it, at one of two places', { c: { ...dense, capacity: 2 } },
    [[occupy('09:00-09:30')], [write('09:15-09:45', { slot: '09:15-09:45' })]]),
  scene('two of the staff take one Slot in Medplum, and one cancels at once', { c: plain },
    [[nativeBook('10:00-10:30', { as: 'y' })],
     [write('10:00-10:30', { slot: '10:00-10:30', as: 'x' }), staffCancel('x')]]),
  // Those who wait
  scene('waitlist: freed time is offered while another portal books it', { c: refilled },
    [[cancel('x', { portal: 'B' })], [b('09:00-09:30', { by: 'schedule' })]],
    { before: [b('09:00-09:30', { as: 'x' }), join('09:00-11:00', 'w')] }),
  scene('waitlist: freed time is offered while staff take it in Medplum and are refused', { c: refilled },
    [[block('10:15-10:45')], [cancel('y'), nativeHold('09:30-10:00')]], { before: [...waiting(refilled)] }),
  scene('Medplum cancels, and somebody writes an appointment there while the clock publishes, without a Slot',
    { c: refilled },
    [[nativeCancel('y'), write('09:30-10:00'), { does: 'clock' }], [b('09:30-10:00', { by: 'schedule' })]],
    { before: [...waiting(refilled)] }),
  scene('waitlist: two times are freed for one who waits', { c: refilled },
    [[cancel('x', { portal: 'B' })], [cancel('y', { portal: 'B' }), { does: 'clock' }]],
    { before: [b('09:00-09:30', { as: 'x' }), b('09:30-10:00', { as: 'y' }), join('09:00-10:00', 'w')] }),
  scene('waitlist: an offer is accepted while its time runs out and another portal books', { c: refilled },
    [[take('w')], [pass(1_500), b('09:00-09:30', { by: 'schedule' })]],
    { before: [...offered, join('09:00-10:00', 'v', { portal: 'B' })] }),
  scene('waitlist: an offer is accepted and declined', { c: refilled }, [[take('w')], [decline('w')]],
    { before: [...offered, join('09:00-10:00', 'v', { portal: 'B' })] }),
  scene('waitlist: an offer is accepted while what it replaces is cancelled or moved', { c: refilled },
    [[take('w')], [cancel('s')]], { before: replacing }),
  scene('waitlist: an offer is accepted while staff move what it replaces', { c: refilled },
    [[take('w')], [staffMove('s', '10:30-11:00', 'times')]], { before: replacing }),
  ...(['times', 'anew'] as const).map((by) => scene(`waitlist: staff move an appointment away: ${by}`, { c: refilled },
    [[staffMove('x', '10:00-10:30', by), { does: 'clock' }]],
    { before: [b('09:00-09:30', { as: 'x' }), join('09:00-10:00', 'w')], done: 1 })),
  scene('waitlist: whoever is offered a time leaves', { c: refilled }, [[take('w')], [cancel('w')]],
    { before: offered }),
  scene('waitlist: faults: freed time is offered, declined, and offered again', { c: refilled },
    [[cancel('x', { portal: 'B' }), decline('w'), take('v', { portal: 'B' })]],
    { faults: 1, before: [b('09:00-09:30', { as: 'x' }), join('09:00-10:00', 'w'),
     join('09:00-10:00', 'v', { portal: 'B' })] }),
  scene('waitlist: faults: an accepted offer frees what it replaces, for the next', { c: refilled },
    [[take('w'), take('v', { portal: 'B' })]],
    { faults: 1, before: [...replacing, join('09:00-11:00', 'v', { portal: 'B' })] }),
  // Absences
  scene('absence: staff give what it offers to somebody else, and nobody is kept from theirs', { c: plain },
    [[{ does: 'absence', time: '09:00-10:00', silence: 'keep' }], [write('10:00-10:30', { slot: '10:00-10:30' })]],
    { before: [a('09:30-10:00', { as: 'y' })] }),
  scene('absence: announced and confirmed while portals book into it', withSubstitute,
    [[absence('keep')], [a('09:30-10:00', { in: ['c'] })], [b('10:00-10:30', { in: ['c'] })]],
    { before: [a('09:00-09:30', { in: ['c'], as: 'x' })] }),
  scene('absence: what it offers is booked, or its time is blocked', withSubstitute,
    [[absence('cancel')], [b('09:00-09:30', { in: ['s'] })], [block('09:30-10:00', { in: ['s'] })]],
    { before: [a('09:00-09:30', { in: ['c'], as: 'x' })] }),
  scene('absence: an offer is accepted while its time runs out, and nobody is kept', withSubstitute,
    [[take('x')], [pass(4_000), carriedOut]],
    { before: [a('09:00-09:30', { in: ['c'], as: 'x' }), absence('cancel')] }),
  scene('absence: an offer is accepted while its time runs out, and all are moved', withSubstitute,
    [[take('x')], [pass(4_000), carriedOut], [b('09:00-09:30', { in: ['s'] })]],
    { before: [a('09:00-09:30', { in: ['c'], as: 'x' }), absence('move')] }),
  scene('absence: an offer is accepted while staff move what it replaces out of the absence', withSubstitute,
    [[take('x')], [staffMove('x', '11:00-11:30', 'times', { in: ['c'] }), carriedOut]],
    { before: [a('09:00-09:30', { in: ['c'], as: 'x' }), absence('keep')] }),
  scene('absence: an offer is declined while it is accepted, and its appointment is cancelled', withSubstitute,
    [[decline('x'), carriedOut], [take('x')], [cancel('x')]],
    { before: [a('09:00-09:30', { in: ['c'], as: 'x' }), absence('keep')] }),
  scene('absence: it ends early while an offer is accepted', withSubstitute,
    [[{ does: 'end-absence', time: '09:00-11:00', in: ['c'], at: '09:00' }], [take('x')]],
    { before: [...bothBooked, absence('move')] }),
  scene('absence: two overlap, and one is that of the substitute', withSubstitute,
    [[absence('keep')], [{ does: 'absence', time: '09:00-10:00', in: ['c', 's'], silence: 'cancel' }, carriedOut]],
    { before: [a('09:00-09:30', { in: ['c'], as: 'x' }), a('10:00-10:30', { in: ['s'], as: 'y' })] }),
  scene('absence: faults: confirmed, with nobody answering: kept', withSubstitute, [[absence('keep', '09:00-10:00')]],
    { faults: 1, before: [a('09:00-09:30', { in: ['c'], as: 'x' }), b('09:30-10:00', { in: ['c'] })] }),
  ...(['keep', 'cancel', 'move'] as const).map((silence) =>
    scene(`absence: faults: carried out by the clock, nobody answers: ${silence}`, withSubstitute,
      [[take('y'), pass(4_000), carriedOut, carriedOut]],
      { faults: 1, before: [...bothBooked, absence(silence, '09:00-10:00')] })
  ),
  scene('absence: faults: it ends early', withSubstitute,
    [[{ does: 'end-absence', time: '09:00-10:00', in: ['c'], at: '09:00' }, carriedOut]],
    { faults: 1, before: [...bothBooked, absence('move', '09:00-10:00')] }),
  scene('absence: another whole visit is offered while others book a step of it, or its time is blocked', inTwo,
    [[bothAbsent('cancel')], [b('10:00-10:30', { in: ['c'], by: 'schedule' })], [block('10:30-11:00', { in: ['d'] })]],
    { before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])] }),
  scene('absence: another whole visit is accepted while it is declined, and staff take the time of a step', inTwo,
    [[take('v')], [decline('v'), carriedOut], [block('10:00-10:30', { in: ['c'] })]],
    { before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), bothAbsent('keep')] }),
  ...(['keep', 'cancel', 'move'] as const).map((silence) =>
    scene(`absence: faults: another whole visit, carried out by the clock, nobody answers: ${silence}`, inTwo,
      [[pass(4_000), carriedOut, carriedOut]],
      { faults: 1, before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), bothAbsent(silence)] })
  ),
  scene('absence: another whole visit is accepted while its time runs out, and all are moved', inTwo,
    [[take('v')], [pass(4_000), carriedOut], [b('10:00-10:30', { in: ['c'], by: 'schedule' })]],
    { before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), bothAbsent('move')] }),
  // Visits of several steps
  scene('visits: two cross each other in two calendars', inTwo,
    [[visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])], [visitB(['09:00-09:30', 'd'], ['09:30-10:00', 'c'])]]),
  scene('visits: two want each step of the other, in another order', inTwo,
    [[visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])], [visitB(['09:30-10:00', 'd'], ['10:00-10:30', 'c'])]]),
  scene('visits: one of three steps, and bookings of two of them', inTwo,
    [[visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'], ['10:00-10:30', 'c'])], [b('10:00-10:30', { in: ['c'] })],
     [b('09:30-10:00', { in: ['d'] })]]),
  scene('visits: faults: one is booked, moved and cancelled, while others book what it leaves', inTwo,
    [[visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']),
     { ...visit(['09:30-10:00', 'c'], ['10:00-10:30', 'd']), what: 'v', as: 'v' }, cancel('v2')],
     [b('09:00-09:30', { in: ['c'] })]], { faults: 1 }),
  scene('visits: cancelled from both ends, and booked anew', inTwo,
    [[cancel('v')], [cancel('v2')], [visitB(['09:30-10:00', 'd'], ['10:00-10:30', 'c'])]],
    { before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])] }),
  scene('visits: staff block a step while it is booked', inTwo,
    [[visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])],
     [block('09:30-10:00', { in: ['d'], status: 'busy-unavailable' })]]),
  scene('visits: staff cancel a step while it is moved', inTwo,
    [[{ ...visit(['09:30-10:00', 'c'], ['10:00-10:30', 'd']), what: 'v', as: 'v' }], [staffCancel('v2')]],
    { before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])] }),
  scene('visits: staff confirm a step while it is cancelled',
    { c: { ...plain, visit: true, confirmation: 'manual' }, d: { ...plain, visit: true } },
    [[confirm('v')], [cancel('v2')]], { before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd'])] }),
  scene('visits: two that cross are cancelled, and others wait for either', inTwoRefilled,
    [[cancel('v2')], [cancel('w', { portal: 'B' })]],
    { before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), visitB(['09:00-09:30', 'd'], ['09:30-10:00', 'c']),
     ...bothWaitForVisits] }),
  scene('visits: freed time is one offer, while others book a step of it', inTwoRefilled,
    [[cancel('v')], [b('09:30-10:00', { in: ['d'], by: 'schedule' })]],
    { before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), ...bothWaitForVisits] }),
  scene('visits: staff block a step while a whole is offered', inTwoRefilled,
    [[cancel('v')], [block('09:30-10:00', { in: ['d'], status: 'busy-unavailable' })]],
    { before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), join('09:00-10:00', 'x', { visit: true })] }),
  scene('visits: faults: one offer of a whole is declined, and the next is taken', inTwoRefilled,
    [[cancel('v'), decline('x'), take('y', { portal: 'B' })]],
    { faults: 1, before: [visit(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), ...bothWaitForVisits] }),
  scene('visits: a whole is offered in place of another, and taken while its time runs out and another books a step',
    inTwoRefilled, [[take('x')], [pass(1_500), b('09:00-09:30', { in: ['c'], by: 'schedule' })]],
    { before: [visitB(['09:00-09:30', 'c'], ['09:30-10:00', 'd']), visit(['10:00-10:30', 'c'], ['10:30-11:00', 'd']),
     join('09:00-10:00', 'x', { visit: true, current: 'v' }), cancel('w', { portal: 'B' })] }),
  // Asynchronous bookings
  scene('job: two ask for one time, and a third books', { c: single },
    [[ask('A')], [ask('B')], [pass(1), { does: 'clock', only: 'process-booking' }, b('09:00-09:30')]]),
  scene('job: faults: two ask for one time', { c: single },
    [[ask('A')], [ask('B'), pass(1), { does: 'clock', only: 'process-booking' }]], { faults: 1 }),
  // Publishing
  scene('opening hours change while a portal books', { c: dense }, [[open('09:30-11:00')], [b('09:00-09:30')]]),
  scene('the clock publishes while a portal books', { c: dense }, [[{ does: 'clock' }], [b('09:00-09:30')]]),
];
