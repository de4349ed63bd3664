import { SchedulingUnvalidatedBookingURI, type WithId } from '@medplum/core';
import type { Appointment, BundleEntry, Extension, Parameters, Slot } from '@medplum/fhirtypes';
import type { Silence } from '../../core/absence/request.ts';
import { offerReason } from '../../core/booking/appointment/expiry.ts';
import { bodyFor } from '../../core/booking/request/request.ts';
import type { BotName } from '../../core/config/bots.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { stepExtension, visitGroupOf } from '../../core/visits/visit.ts';
import { seriesTemplate } from '../../packages/sandbox/scheduling/series.ts';
import {
  availableTime,
  type Clinic,
  instant,
  MINUTE,
  momentOf,
  periodOf,
  STEPS,
  type Stored,
  typeOf,
  visitType,
} from './clinic.ts';
import { config } from './config.ts';
import type { Request, Token } from './medplum.ts';
import { LostAnswer, type World } from './world.ts';

interface Interval {
  readonly start: number;
  readonly end: number;
}

/** Which time an act is about, and in which calendars; by default in the first one alone. */
interface Timed {
  readonly time: string;
  readonly in?: readonly string[];
  /** The name under which later acts know what comes of it. */
  readonly as?: string;
}

/** What the portals do; `portal` is A unless it says otherwise. */
interface ByPortal {
  readonly portal?: 'A' | 'B';
}

/** Something that somebody does with an appointment or a Slot that has a name. */
interface Named {
  readonly what: string;
}

/** `slot`: the time of the Slot to name; by default one that has all of the time. `by`: the Schedule is named, no Slot. */
export interface Booking extends Timed, ByPortal {
  readonly slot?: string;
  readonly by?: 'schedule';
}

/** How staff send what belongs together; the Slot comes first unless another order is named. */
export type Sent = 'in one' | 'in one, backwards' | 'in a batch' | 'one by one' | 'one by one, backwards';

/**
 * How an appointment is moved: by Medplum's operation; by deleting its Slots, creating others and updating it, as the
 * operation does; by its own times alone; by its times and a free Slot; by the times of its Slot alone.
 */
export type Moving =
  | '$reschedule'
  | 'anew'
  | 'anew, one by one'
  | 'anew, in a batch'
  | 'times'
  | 'patch'
  | 'Slot'
  | 'Slot alone';

/** The extension by which staff say that taken time does not matter. */
type Purpose = 'LocalOverbooking' | 'unvalidated';

/** What people and programs do. */
interface Acts {
  book: Booking;
  hold: Booking;
  /** Books asynchronously. */
  ask: Booking;
  /** Several appointments at once; with `what` under the ids of those that were. The second is `as` with a 2. */
  visit: ByPortal & { readonly steps: readonly Timed[]; readonly as?: string; readonly what?: string };
  move: Timed & ByPortal & Named;
  replace: Timed & ByPortal & Named;
  accept: ByPortal & Named;
  cancel: ByPortal & Named;
  /** Somebody waits for a time, or for a visit in it, instead of an appointment that stands until then. */
  join: Timed & ByPortal & { readonly current?: string; readonly visit?: true };
  /** Whoever waits takes, or declines, what is offered. */
  take: ByPortal & Named;
  decline: ByPortal & Named;
  /** Staff say that the calendars are absent, and confirm the plan as it is made; `instead`: who may step in. */
  absence: Timed & { readonly silence: Silence; readonly instead?: readonly string[] };
  /** It ends at a time of day, `hh:mm`. */
  'end-absence': Timed & { readonly at: string };
  /** Staff write a new Slot that takes time. */
  block: Timed & { readonly status?: Slot['status'] };
  /** Staff change or delete a free Slot that is there. */
  occupy: Timed & { readonly status?: Slot['status'] };
  remove: Timed;
  /** Staff delete what they have written. */
  unblock: Named;
  /** Staff write an appointment: on the Slot of a time, or with none; for the calendar's practitioner. */
  write: Timed & {
    readonly slot?: string;
    readonly status?: Appointment['status'];
    readonly overbooks?: true;
  };
  /** Staff take a Slot and write an appointment on it, as one act; `new`: the Slot is a new one; `undone`: it is rolled back. */
  'staff-book': Timed & { readonly sent: Sent; readonly slot?: 'new'; readonly over?: Purpose; readonly undone?: true };
  /** Staff give an appointment another time, or other calendars. */
  'staff-move': Timed & Named & { readonly by: Moving; readonly over?: Purpose };
  'staff-cancel': Named;
  confirm: Named;
  delete: Named;
  /** `weeks`: a series, one appointment a week; the first is named `as`, the others `as2`, `as3` … */
  'native-book': Timed & { readonly weeks?: number };
  'native-hold': Timed;
  'native-cancel': Named;
  'native-confirm': Named;
  /** Staff change the opening hours. */
  open: { readonly hours: string; readonly in?: readonly string[] };
  /** The Bots that the clock starts, or one of them. */
  clock: { readonly only?: BotName };
  pass: { readonly minutes: number };
}

type Does = keyof Acts;
type ActOf<D extends Does> = { readonly does: D } & Acts[D];

/** Something that somebody does. */
export type Act = { [D in Does]: ActOf<D> }[Does];

/** What came of an act. */
export interface Outcome {
  readonly kind: 'done' | 'refused' | 'impossible' | 'failed';
  readonly text: string;
}

/** An appointment that somebody was told to have. */
export interface Acknowledged {
  readonly id: string;
  readonly start: number;
  readonly end: number;
  readonly isHold: boolean;
}

/** A clinic while a scene is played, with what the actors know. */
export interface Stage {
  readonly clinic: Clinic;
  readonly world: World;
  /** References by the names that acts gave them. */
  readonly named: Map<string, string>;
  /** What was acknowledged, by the id of the appointment. */
  readonly acknowledged: Map<string, Acknowledged>;
  /** The Slots that staff have written to take time, and were not told otherwise: their status. */
  readonly blocked: Map<string, string>;
  /** The appointments that somebody has begun to end or to move, and has not been refused. */
  readonly released: Map<string, number>;
  /** The Tasks of what was asked for, by their ids: the value of the identifier. */
  readonly asked: Map<string, string>;
  /** The values of the identifiers under which something was refused for good. */
  readonly refused: Set<string>;
  /** The Slots that staff have deleted, or tried to: they need not be on offer. */
  readonly removed: Set<string>;
  /** Ids of the Schedules whose opening hours an act has changed, with their hours. */
  readonly hours: Map<string, string>;
  /** The groups of visits of which staff have begun to end a step: they need not be whole. */
  readonly split: Set<string>;
  /** What was refused although it was offered and accepted in time. */
  readonly unkept: string[];
  /** How often somebody has begun to move an appointment, and has not been refused. */
  readonly moves: Map<string, number>;
}

/** A stage on which nothing has happened. */
export const createStage = (clinic: Clinic, world: World, more: Partial<Stage> = {}): Stage => ({
  clinic,
  world,
  named: new Map(more.named),
  acknowledged: new Map(more.acknowledged),
  blocked: new Map(more.blocked),
  released: new Map(more.released),
  asked: new Map(more.asked),
  refused: new Set(more.refused),
  removed: new Set(more.removed),
  hours: new Map(more.hours),
  split: new Set(more.split),
  unkept: [...(more.unkept ?? [])],
  moves: new Map(more.moves),
});

const tokenOf = ({ portal = 'A' }: ByPortal): Token => (portal === 'A' ? 'portal-a' : 'portal-b');

const impossible = (text: string): Outcome => ({ kind: 'impossible', text });

function calendarsFor({ clinic }: Stage, names: readonly string[] | undefined): Stored[] {
  const [first] = clinic.calendars.keys();
  return (names ?? [first ?? '']).flatMap((name) => clinic.calendars.get(name) ?? []);
}

const slotsOf = ({ world }: Stage, { schedule }: Stored): WithId<Slot>[] =>
  world.medplum.all<Slot>('Slot').filter((slot) => slot.schedule.reference === `Schedule/${schedule.id}`);

/** The free Slots that a portal names to get a time: one that has all of it, else one after the other. */
function slotsFor(stage: Stage, calendar: Stored, time: string, named: string | undefined): WithId<Slot>[] {
  const { start, end } = periodOf(time, calendar.plan);
  const wanted = named === undefined ? undefined : periodOf(named, calendar.plan);
  const free = slotsOf(stage, calendar)
    .filter(({ status }) => status === 'free')
    .map((slot) => ({ slot, start: Date.parse(slot.start), end: Date.parse(slot.end) }))
    .filter((one) => one.start < end && start < one.end)
    .sort((one, other) => one.start - other.start || other.end - one.end || one.slot.id.localeCompare(other.slot.id));
  if (wanted) {
    return free
      .filter((one) => one.start === wanted.start && one.end === wanted.end)
      .slice(0, 1)
      .map(({ slot }) => slot);
  }
  const exact = free.find((one) => one.start === start && one.end === end);
  const whole = exact ?? free.find((one) => one.start <= start && end <= one.end);
  if (whole) {
    return [whole.slot];
  }
  const chain: WithId<Slot>[] = [];
  let reached = start;
  for (const one of free) {
    if (one.start <= reached && reached < one.end) {
      chain.push(one.slot);
      reached = one.end;
    }
  }
  return reached === end && Date.parse(chain[0]?.start ?? '') === start ? chain : [];
}

let proposals = 0;

interface Proposal {
  readonly appointment: Appointment;
  readonly value: string;
  readonly schedule: string | undefined;
}

/** An appointment as a portal proposes it; `undefined` if nothing on offer has its time. */
function proposalFor(
  stage: Stage,
  act: Timed & ByPortal & { readonly slot?: string; readonly by?: 'schedule' },
  own: readonly string[] = [],
): Proposal | undefined {
  const calendars = calendarsFor(stage, act.in);
  const [first] = calendars;
  const bySchedule = act.by === 'schedule';
  const found = calendars.map((calendar) => {
    const kept = slotsOf(stage, calendar).filter(
      ({ id, start, end }) =>
        own.includes(`Slot/${id}`) &&
        Date.parse(start) <= periodOf(act.time, calendar.plan).start &&
        periodOf(act.time, calendar.plan).end <= Date.parse(end),
    );
    return kept.length > 0 ? kept.slice(0, 1) : slotsFor(stage, calendar, act.time, act.slot);
  });
  if (!first || (!bySchedule && found.some((slots) => slots.length === 0))) {
    return undefined;
  }
  const { start, end } = periodOf(act.time, first.plan);
  proposals += 1;
  const value = `proposal ${proposals}`;
  return {
    value,
    schedule: bySchedule ? `Schedule/${first.schedule.id}` : undefined,
    appointment: {
      resourceType: 'Appointment',
      status: 'proposed',
      identifier: [{ system: 'urn:portal', value }],
      serviceType: [typeOf(first.service)],
      start: instant(start),
      end: instant(end),
      ...(!bySchedule && { slot: found.flat().map(({ id }) => ({ reference: `Slot/${id}` })) }),
      participant: [{ actor: { reference: stage.clinic.patients[act.portal ?? 'A'] } as never, status: 'accepted' }],
    },
  };
}

const parameters = (appointment: Appointment, ...more: NonNullable<Parameters['parameter']>): Parameters => ({
  ...bodyFor([appointment]),
  parameter: [...(bodyFor([appointment]).parameter ?? []), ...more],
});

/** What a Bot or Medplum says when it refuses. */
export function refusalIn(body: unknown): string | undefined {
  return isResource(body, 'OperationOutcome')
    ? (body.issue ?? [])
        .map(({ details, diagnostics }) => details?.coding?.[0]?.code ?? details?.text ?? diagnostics ?? 'failed')
        .join(', ')
    : undefined;
}

/** What may change what comes next: nothing is known after it. */
const uncertain = /upstream-|failed/;

const HELD_UNTIL = artefactUri(config, 'LocalHeldUntil');
const OFFER = artefactUri(config, 'LocalOffer');

/** Notes an answer to a booking: what it acknowledges, or refuses for good. */
function note(stage: Stage, answer: unknown, value: string, as: string | undefined): Outcome {
  if (isResource(answer, 'Task')) {
    stage.asked.set(answer.id ?? '', value);
    return { kind: 'done', text: 'asked' };
  }
  if (!isResource(answer, 'Appointment')) {
    const text = refusalIn(answer) ?? 'failed';
    if (!uncertain.test(text)) {
      stage.refused.add(value);
    }
    return { kind: uncertain.test(text) ? 'failed' : 'refused', text };
  }
  const { id = '', start = '', end = '', status, extension = [] } = answer;
  const isHold = extension.some(({ url }) => url === HELD_UNTIL);
  stage.acknowledged.set(id, { id, start: Date.parse(start), end: Date.parse(end), isHold });
  if (as !== undefined) {
    stage.named.set(as, `Appointment/${id}`);
  }
  return { kind: 'done', text: status };
}

function release({ released }: Stage, id: string): void {
  released.set(id, (released.get(id) ?? 0) + 1);
}

function keep({ released }: Stage, id: string): void {
  const left = (released.get(id) ?? 1) - 1;
  if (left > 0) {
    released.set(id, left);
  } else {
    released.delete(id);
  }
}

/** The appointment and the others of its visit, which end and move with it; in order of their times. */
function togetherWith({ world }: Stage, id: string): WithId<Appointment>[] {
  const appointments = world.medplum.all<Appointment>('Appointment');
  const appointment = appointments.find((each) => each.id === id);
  const group = appointment && visitGroupOf(appointment, config);
  const found = appointments.filter((each) => each.id === id || (group && visitGroupOf(each, config) === group));
  return found.toSorted((each, other) => (each.start ?? '').localeCompare(other.start ?? ''));
}

/** Ends or moves an appointment; where that is refused for certain, it must still be there. */
async function ending(stage: Stage, id: string, doing: () => Promise<Outcome>): Promise<Outcome> {
  const ids = [...new Set([id, ...togetherWith(stage, id).map((appointment) => appointment.id)])];
  for (const one of ids) {
    release(stage, one);
  }
  const outcome = await doing();
  if (outcome.kind === 'refused') {
    for (const one of ids) {
      keep(stage, one);
    }
  }
  return outcome;
}

function outcomeOf({ status, body }: Awaited<ReturnType<World['ask']>>): Outcome {
  return status < 300
    ? { kind: 'done', text: `${status}` }
    : { kind: 'refused', text: `${status} ${refusalIn(body) ?? ''}` };
}

const named = ({ named: names }: Stage, name: string): string | undefined => names.get(name);

const idIn = (reference: string): string => reference.split('/')[1] ?? '';

/** Writes something as staff do; what is created gets the act's name. */
async function byStaff(stage: Stage, request: Request, as?: string): Promise<Outcome> {
  const answer = await stage.world.ask('front-desk', request);
  const { body } = answer;
  if (as !== undefined && answer.status < 300 && (isResource(body, 'Slot') || isResource(body, 'Appointment'))) {
    stage.named.set(as, `${body.resourceType}/${body.id}`);
  }
  if (answer.status < 300 && isResource(body, 'Slot') && body.id !== undefined) {
    stage.blocked.set(body.id, body.status);
  }
  if (as !== undefined && isResource(body, 'Bundle')) {
    const made = (body.entry ?? []).flatMap(({ resource }) => (isResource(resource, 'Appointment') ? [resource] : []));
    for (const [index, { id }] of made.entries()) {
      stage.named.set(index === 0 ? as : `${as}${index + 1}`, `Appointment/${id}`);
    }
  }
  return outcomeOf(answer);
}

/** An entry of a Bundle that writes; what comes later may refer to a new resource by its `fullUrl`. */
function entry(method: 'POST' | 'PUT' | 'DELETE', resource: WithId<Slot | Appointment> | Slot, name = ''): BundleEntry {
  const { resourceType, id } = resource;
  const url = method === 'POST' ? resourceType : `${resourceType}/${id}`;
  const ifMatch = method === 'PUT' && resource.meta ? { ifMatch: `W/"${resource.meta.versionId}"` } : {};
  return {
    ...(name && { fullUrl: name }),
    ...(method !== 'DELETE' && { resource }),
    request: { method, url, ...ifMatch },
  };
}

/** Sends entries one by one; the first that is refused is the last. */
async function oneByOne(stage: Stage, entries: readonly BundleEntry[]): Promise<BundleEntry[]> {
  const made = new Map<string, string>();
  const answers: BundleEntry[] = [];
  for (const { fullUrl, request, resource } of entries) {
    const known = [...made].reduce((text, [name, is]) => text.replaceAll(name, is), JSON.stringify(resource ?? null));
    const { status, body } = await stage.world.ask('front-desk', {
      method: request?.method as Request['method'],
      path: `/${request?.url}`,
      body: JSON.parse(known) ?? undefined,
      ifMatch: request?.ifMatch,
    });
    answers.push({ response: { status: `${status}`, ...(isResource(body, 'OperationOutcome') && { outcome: body }) } });
    if (status >= 300) {
      break;
    }
    if (isResource(body, 'Slot') || isResource(body, 'Appointment')) {
      if (fullUrl !== undefined) {
        made.set(fullUrl, `${body.resourceType}/${body.id}`);
      }
      answers.splice(-1, 1, { response: { status: `${status}` }, resource: body });
    }
  }
  return answers;
}

/** Sends entries as staff do: all or none, or one by one. What is half done says `failed`: nobody knows what is there. */
async function sendAll(
  stage: Stage,
  entries: readonly BundleEntry[],
  sent: Sent,
): Promise<Outcome & { made: string[] }> {
  const ordered = sent.endsWith('backwards') ? entries.toReversed() : [...entries];
  let answers: BundleEntry[];
  if (sent.startsWith('one by one')) {
    answers = await oneByOne(stage, ordered);
  } else {
    const type = sent === 'in a batch' ? 'batch' : 'transaction';
    const bundle = { resourceType: 'Bundle', type, entry: ordered };
    const { status, body } = await stage.world.ask('front-desk', { method: 'POST', path: '', body: bundle });
    if (!isResource(body, 'Bundle')) {
      return { ...outcomeOf({ status, body }), made: [] };
    }
    answers = body.entry ?? [];
  }
  const isRefused = ({ response }: BundleEntry): boolean => Number(response?.status.slice(0, 3)) >= 300;
  const [first] = answers.filter(isRefused);
  const made = answers.flatMap(({ resource, response }) =>
    resource
      ? `${resource.resourceType}/${resource.id}`
      : (/(Slot|Appointment)\/[^/]+/.exec(response?.location ?? '')?.[0] ?? []),
  );
  if (!first) {
    return { kind: 'done', text: sent, made };
  }
  const text = `${first.response?.status} ${refusalIn(first.response?.outcome) ?? ''}`;
  return { kind: answers.every(isRefused) ? 'refused' : 'failed', text, made };
}

const purposes: Readonly<Record<Purpose, string>> = {
  LocalOverbooking: artefactUri(config, 'LocalOverbooking'),
  unvalidated: SchedulingUnvalidatedBookingURI,
};

const purposeOf = (over: Purpose | undefined): Extension[] =>
  over ? [{ url: purposes[over], valueBoolean: true }] : [];

/** Does what an act says. */
type Doer<T> = (stage: Stage, act: T) => Promise<Outcome>;

const book: Doer<ActOf<'book'> | ActOf<'hold'> | ActOf<'ask'>> = async (stage, act) => {
  const proposal = proposalFor(stage, act);
  if (!proposal) {
    return impossible(`${act.time} is not on offer`);
  }
  const { appointment, value, schedule } = proposal;
  const more = schedule ? [{ name: 'schedule', valueReference: { reference: schedule } }] : [];
  const bot = act.does === 'ask' ? 'enqueue-booking' : act.does;
  const answer = await stage.world.medplum.call(bot, tokenOf(act), parameters(appointment, ...more));
  return note(stage, answer, value, act.as);
};

const visit: Doer<ActOf<'visit'>> = async (stage, { steps, portal, as, what }) => {
  const old = what === undefined ? [] : togetherWith(stage, idIn(named(stage, what) ?? ''));
  const own = old.flatMap(({ slot = [] }) => slot.flatMap(({ reference }) => reference ?? []));
  const found = steps.map((step) => proposalFor(stage, { ...step, ...(portal && { portal }) }, own));
  const known = found.filter((proposal) => proposal !== undefined);
  if (known.length < steps.length || (what !== undefined && old.length !== steps.length)) {
    return impossible('not all is on offer');
  }
  const parameter = known.map(({ appointment }, index) => ({
    name: 'appt-resource',
    resource: {
      ...appointment,
      ...(old[index] && { id: old[index].id }),
      extension: [stepExtension({ service: stage.clinic.visit ?? '', step: STEPS[index] ?? '' }, config)],
    },
  }));
  const act = async (): Promise<Outcome> => {
    const body: Parameters = { resourceType: 'Parameters', parameter };
    const answer = await stage.world.medplum.call('book', tokenOf({ ...(portal && { portal }) }), body);
    const booked = isResource(answer, 'Bundle') ? (answer.entry ?? []).map(({ resource }) => resource) : [];
    const [first = impossible('nothing')] = known.map(({ value }, index) =>
      note(stage, booked[index] ?? answer, value, as && (index === 0 ? as : `${as}${index + 1}`)),
    );
    if (first.kind === 'done') {
      for (const { id } of old) {
        keep(stage, id);
      }
    }
    return first;
  };
  const [{ id } = { id: undefined }] = old;
  for (const one of old) {
    count(stage, one.id, 1);
  }
  return id === undefined ? act() : ending(stage, id, act);
};

function storedOne(stage: Stage, name: string): { id: string; appointment: WithId<Appointment> } | undefined {
  const id = idIn(named(stage, name) ?? '');
  const appointment = stage.world.medplum.all<Appointment>('Appointment').find((one) => one.id === id);
  return appointment && { id, appointment };
}

const move: Doer<ActOf<'move'> | ActOf<'replace'>> = async (stage, act) => {
  const stored = storedOne(stage, act.what);
  if (!stored) {
    return impossible(`there is no ${act.what}`);
  }
  const { id, appointment: old } = stored;
  const own = (old.slot ?? []).flatMap(({ reference }) => reference ?? []);
  const proposal = proposalFor(stage, act, act.does === 'move' ? own : []);
  if (!proposal) {
    return impossible(`${act.time} is not on offer`);
  }
  const { appointment, value } = proposal;
  count(stage, id, 1);
  return ending(stage, id, async () => {
    const body =
      act.does === 'move'
        ? parameters({ ...appointment, id })
        : parameters(appointment, { name: 'cancelled-appt-id', valueUri: `Appointment/${id}` });
    const answer = await stage.world.medplum.call('book', tokenOf(act), body);
    const outcome = note(stage, answer, value, act.as);
    if (outcome.kind === 'done' && act.does === 'move') {
      keep(stage, id);
    }
    return outcome;
  });
};

const accept: Doer<ActOf<'accept'> | ActOf<'cancel'>> = async (stage, act) => {
  const stored = storedOne(stage, act.what);
  if (!stored) {
    return impossible(`there is no ${act.what}`);
  }
  const { id, appointment } = stored;
  if (act.does === 'cancel') {
    return ending(stage, id, async () => {
      const patch = JSON.stringify([{ op: 'replace', path: '/status', value: 'cancelled' }]);
      const answer = await stage.world.medplum.call('patch', tokenOf(act), {
        resourceType: 'Parameters',
        parameter: [
          { name: 'id', valueId: id },
          { name: 'patch', valueString: patch },
        ],
      });
      const text = refusalIn(answer);
      return text === undefined
        ? { kind: 'done', text: 'cancelled' }
        : { kind: uncertain.test(text) ? 'failed' : 'refused', text };
    });
  }
  const { meta: _, extension: __, ...own } = appointment;
  const value = own.identifier?.[0]?.value ?? '';
  const answer = await stage.world.medplum.call('book', tokenOf(act), parameters({ ...own, status: 'proposed' }));
  const outcome = note(stage, answer, value, act.what);
  stage.refused.delete(value);
  return outcome;
};

/** Ids of what an offer is for. */
export const offeredFor = (appointment: Appointment): string[] =>
  (appointment.extension ?? [])
    .filter(({ url }) => url === OFFER)
    .flatMap(({ extension = [] }) => extension)
    .flatMap(({ valueReference }) => idIn(valueReference?.reference ?? '') || []);

/** The offer that stands for somebody who waits. */
function offerFor(stage: Stage, what: string): WithId<Appointment> | undefined {
  const entry = idIn(named(stage, what) ?? '');
  return stage.world.medplum
    .all<Appointment>('Appointment')
    .find((appointment) => appointment.status === 'proposed' && offeredFor(appointment).includes(entry));
}

const join: Doer<ActOf<'join'>> = async (stage, { time, portal = 'A', current, as, in: names, visit: isVisit }) => {
  const [calendar] = calendarsFor(stage, names);
  if (!calendar) {
    return impossible('there is no calendar');
  }
  const { start, end } = periodOf(time, calendar.plan);
  const entry: Appointment = {
    resourceType: 'Appointment',
    status: 'waitlist',
    serviceType: [isVisit ? typeOf({ id: stage.clinic.visit ?? '', type: [visitType] }) : typeOf(calendar.service)],
    requestedPeriod: [{ start: instant(start), end: instant(end) }],
    participant: [{ actor: { reference: stage.clinic.patients[portal] } as never, status: 'accepted' }],
  };
  const stood = current === undefined ? undefined : named(stage, current);
  const more = stood ? [{ name: 'standing-appt-id', valueUri: stood }] : [];
  const answer = await stage.world.medplum.call('join-waitlist', tokenOf({ portal }), parameters(entry, ...more));
  if (as !== undefined && isResource(answer, 'Appointment')) {
    stage.named.set(as, `Appointment/${answer.id}`);
  }
  const text = refusalIn(answer);
  return text === undefined ? { kind: 'done', text: 'waits' } : { kind: 'refused', text };
};

/** Whether staff have said that nobody is there: then nothing is kept. */
function isAbsent({ world }: Stage, { slot = [] }: Pick<Appointment, 'slot'>): boolean {
  const slots = world.medplum.all<Slot>('Slot');
  const blocks = slots.filter(({ status, identifier }) => status === 'busy-unavailable' && identifier?.length);
  const own = slots.filter(({ id }) => slot.some(({ reference }) => reference === `Slot/${id}`));
  return own.some((one) =>
    blocks.some(
      (block) =>
        block.schedule.reference === one.schedule.reference &&
        Date.parse(block.start) < Date.parse(one.end) &&
        Date.parse(one.start) < Date.parse(block.end),
    ),
  );
}

/** Whether staff have booked over a time on purpose: what was offered gives way. */
const isOverbooked = ({ world }: Stage, { start = '', end = '' }: Appointment): boolean =>
  world.medplum
    .all<Appointment>('Appointment')
    .some(
      (appointment) =>
        appointment.status === 'booked' &&
        (appointment.extension ?? []).some(({ url }) => Object.values(purposes).includes(url)) &&
        (appointment.start ?? '') < end &&
        start < (appointment.end ?? ''),
    );

const take: Doer<ActOf<'take'>> = async (stage, act) => {
  const offer = offerFor(stage, act.what);
  if (!offer) {
    return impossible(`nothing is offered to ${act.what}`);
  }
  const appointments = togetherWith(stage, offer.id).filter(
    (appointment) => offeredFor(appointment).join() === offeredFor(offer).join(),
  );
  const sent = appointments.map(({ meta: _, extension: __, ...one }): Appointment => ({ ...one, status: 'proposed' }));
  const { extension = [], ...own } = offer;
  const until = Date.parse(extension.find(({ url }) => url === HELD_UNTIL)?.valueInstant ?? '');
  const isTheirs = offer.participant.some(({ actor }) => actor?.reference === stage.clinic.patients[act.portal ?? 'A']);
  const replaced = offeredFor(offer).filter((id) => stage.acknowledged.has(id));
  for (const id of replaced) {
    release(stage, id);
  }
  const answer = await stage.world.medplum.call('book', tokenOf(act), bodyFor(sent));
  const booked = isResource(answer, 'Bundle') ? (answer.entry ?? []).map(({ resource }) => resource) : [];
  const [outcome = impossible('nothing')] = appointments.map(({ id }, index) =>
    note(stage, booked[index] ?? answer, id, undefined),
  );
  for (const id of outcome.kind === 'refused' ? replaced : []) {
    keep(stage, id);
  }
  const { medplum } = stage.world;
  const stored = medplum.all<Appointment>('Appointment').find(({ id }) => id === offer.id);
  // Who is told that others were faster may try again.
  const isForGood = outcome.kind === 'refused' && outcome.text !== 'booking-conflict';
  if (
    isTheirs &&
    isForGood &&
    stored?.status === 'proposed' &&
    medplum.now() < until &&
    !sent.some((appointment) => isAbsent(stage, appointment) || isOverbooked(stage, appointment))
  ) {
    stage.unkept.push(`${own.start?.slice(11, 16)}: ${outcome.text}`);
  }
  return outcome;
};

const decline: Doer<ActOf<'decline'>> = async (stage, act) => {
  const offer = offerFor(stage, act.what);
  if (!offer) {
    return impossible(`nothing is offered to ${act.what}`);
  }
  const own = `the offer to ${act.what}`;
  stage.named.set(own, `Appointment/${offer.id}`);
  // Whoever declines the time in place of one that cannot take place has none.
  for (const id of offerReason(offer, config) === 'absence' ? offeredFor(offer) : []) {
    release(stage, id);
  }
  return accept(stage, { ...act, does: 'cancel', what: own });
};

const absence: Doer<ActOf<'absence'> | ActOf<'end-absence'>> = async (stage, act) => {
  const calendars = calendarsFor(stage, act.in);
  const [first] = calendars;
  const { start, end } = periodOf(act.time, first?.plan);
  const named = (name: string, all: readonly Stored[]) =>
    all.map(({ schedule }) => ({ name, valueReference: { reference: `Schedule/${schedule.id}` } }));
  const answer = await stage.world.medplum.call('absence', 'front-desk', {
    resourceType: 'Parameters',
    parameter: [
      ...named('schedule', calendars),
      { name: 'period', valuePeriod: { start: instant(start), end: instant(end) } },
      ...(act.does === 'absence'
        ? [
            ...named('substitute', act.instead ? calendarsFor(stage, act.instead) : []),
            { name: 'silence', valueCode: act.silence },
          ]
        : [{ name: 'end', valueInstant: instant(momentOf(act.at, first?.plan)) }]),
    ],
  });
  const text = refusalIn(answer);
  return text === undefined ? { kind: 'done', text: '' } : { kind: uncertain.test(text) ? 'failed' : 'refused', text };
};

const doers: { readonly [D in Does]: Doer<ActOf<D>> } = {
  book,
  hold: book,
  ask: book,
  visit,
  move,
  replace: move,
  accept,
  cancel: accept,
  join,
  take,
  decline,
  absence,
  'end-absence': absence,
  async block(stage, { time, status = 'busy', as, in: names }) {
    const [calendar] = calendarsFor(stage, names);
    const { start, end } = periodOf(time, calendar?.plan);
    const schedule = { reference: `Schedule/${calendar?.schedule.id}` };
    const body = { resourceType: 'Slot', schedule, status, start: instant(start), end: instant(end) };
    return byStaff(stage, { method: 'POST', path: '/Slot', body }, as);
  },
  async occupy(stage, { time, status = 'busy', as, in: names }) {
    const [calendar] = calendarsFor(stage, names);
    const [slot] = calendar ? slotsFor(stage, calendar, time, time) : [];
    if (!slot) {
      return impossible(`${time} is not on offer`);
    }
    return byStaff(stage, { method: 'PUT', path: `/Slot/${slot.id}`, body: { ...slot, status } }, as);
  },
  async remove(stage, { time, in: names }) {
    const [calendar] = calendarsFor(stage, names);
    const [slot] = calendar ? slotsFor(stage, calendar, time, time) : [];
    if (!slot) {
      return impossible(`${time} is not on offer`);
    }
    stage.removed.add(slot.id);
    return byStaff(stage, { method: 'DELETE', path: `/Slot/${slot.id}` });
  },
  async unblock(stage, { what }) {
    const reference = named(stage, what);
    // What has got that name meanwhile may be an appointment: `delete` is for these.
    if (!reference?.startsWith('Slot/')) {
      return impossible(`there is no Slot ${what}`);
    }
    stage.blocked.delete(idIn(reference));
    return byStaff(stage, { method: 'DELETE', path: `/${reference}` });
  },
  async write(stage, { time, slot, status = 'booked', overbooks, as, in: names }) {
    const [calendar] = calendarsFor(stage, names);
    const { start, end } = periodOf(time, calendar?.plan);
    const wanted = slot && periodOf(slot, calendar?.plan);
    const found =
      wanted && calendar
        ? slotsOf(stage, calendar).find(
            (one) =>
              Date.parse(one.start) === wanted.start &&
              Date.parse(one.end) === wanted.end &&
              one.status !== 'entered-in-error',
          )
        : undefined;
    if (wanted && !found) {
      return impossible(`there is no Slot ${slot}`);
    }
    const body: Appointment = {
      resourceType: 'Appointment',
      status,
      start: instant(start),
      end: instant(end),
      ...(overbooks && { extension: [{ url: artefactUri(config, 'LocalOverbooking'), valueBoolean: true }] }),
      ...(found && { slot: [{ reference: `Slot/${found.id}` }] }),
      participant: [
        { actor: { reference: stage.clinic.patients.B } as never, status: 'accepted' },
        { actor: { reference: calendar?.actor } as never, status: 'accepted' },
      ],
    };
    return byStaff(stage, { method: 'POST', path: '/Appointment', body }, as);
  },
  'staff-book': (stage, act) => staffBook(stage, act),
  'staff-move': (stage, act) => staffMove(stage, act),
  'staff-cancel': (stage, { what }) => changed(stage, what, { status: 'cancelled' }),
  confirm: (stage, { what }) => changed(stage, what, { status: 'booked' }),
  delete: (stage, { what }) => ended(stage, what, (id) => ({ method: 'DELETE', path: `/Appointment/${id}` })),
  'native-book': (stage, act) => nativeBook(stage, act, '$book'),
  'native-hold': (stage, act) => nativeBook(stage, act, '$hold'),
  'native-cancel': (stage, { what }) =>
    ended(stage, what, (id) => {
      // It deletes the Slots; one that the appointment had not taken yet is an offer that staff delete.
      const { slot = [] } =
        stage.world.medplum.all<Appointment>('Appointment').find((appointment) => appointment.id === id) ?? {};
      const ids = slot.map((reference) => idIn(reference.reference ?? ''));
      for (const one of stage.world.medplum
        .all<Slot>('Slot')
        .filter((each) => each.status === 'free' && ids.includes(each.id))) {
        stage.removed.add(one.id);
      }
      return { method: 'POST', path: `/Appointment/${id}/$cancel`, body: {} };
    }),
  'native-confirm': async (stage, { what }) => {
    const id = idIn(named(stage, what) ?? '');
    return id
      ? byStaff(stage, { method: 'POST', path: `/Appointment/${id}/$confirm`, body: {} })
      : impossible(`there is no ${what}`);
  },
  async open(stage, { hours, in: names }) {
    const [calendar] = calendarsFor(stage, names);
    if (!calendar) {
      return impossible('there is no calendar');
    }
    const { service, plan, schedule } = calendar;
    stage.hours.set(schedule.id, hours);
    const { meta: _, ...rest } = service;
    const body = { ...rest, availableTime: availableTime(hours, plan) };
    return byStaff(stage, { method: 'PUT', path: `/HealthcareService/${service.id}`, body });
  },
  async clock({ world }, { only }) {
    for (const name of only ? [only] : world.medplum.byClock) {
      await world.medplum.runByClock(name);
    }
    return { kind: 'done', text: '' };
  },
  async pass({ world }, { minutes }) {
    await world.turn(minutes * MINUTE);
    return { kind: 'done', text: '' };
  },
};

/** Staff may end a step of a visit without the others. */
function split(stage: Stage, id: string): void {
  for (const appointment of togetherWith(stage, id)) {
    stage.split.add(visitGroupOf(appointment, config) ?? '');
  }
}

async function ended(stage: Stage, what: string, request: (id: string) => Request): Promise<Outcome> {
  const id = idIn(named(stage, what) ?? '');
  split(stage, id);
  return id ? ending(stage, id, () => byStaff(stage, request(id))) : impossible(`there is no ${what}`);
}

/** Staff read an appointment and write it back with a change, on condition that nobody else has changed it. */
async function changed(stage: Stage, what: string, changes: Partial<Appointment>): Promise<Outcome> {
  const stored = storedOne(stage, what);
  if (!stored) {
    return impossible(`there is no ${what}`);
  }
  const { id, appointment } = stored;
  const resource = { ...appointment, ...changes };
  const ifMatch = `W/"${appointment.meta?.versionId}"`;
  const request = { method: 'PUT' as const, url: `Appointment/${id}`, ifMatch };
  const body = { resourceType: 'Bundle', type: 'transaction', entry: [{ request, resource }] };
  const write = (): Promise<Outcome> => byStaff(stage, { method: 'POST', path: '', body });
  if (changes.status !== 'cancelled') {
    return write();
  }
  split(stage, id);
  return ending(stage, id, write);
}

/** The Slots that Medplum makes for an appointment: its time, and what its service needs around it. */
const slotsAround = (calendars: readonly Stored[], { start, end }: Interval): Slot[] =>
  calendars.flatMap(({ schedule, plan: { before = 0, after = 0 } }): Slot[] => {
    const slot = (status: Slot['status'], from: number, to: number, comment?: string): Slot => ({
      resourceType: 'Slot',
      status,
      schedule: { reference: `Schedule/${schedule.id}` },
      start: instant(from),
      end: instant(to),
      ...(comment && { comment }),
    });
    return [
      slot('busy', start, end),
      ...(before > 0 ? [slot('busy-unavailable', start - before * MINUTE, start, 'buffer before appointment')] : []),
      ...(after > 0 ? [slot('busy-unavailable', end, end + after * MINUTE, 'buffer after appointment')] : []),
    ];
  });

/** Medplum's own `$book` and `$hold` of what its `$find` proposes at a time. */
async function nativeBook(
  stage: Stage,
  { time, as, in: names, weeks = 1 }: Timed & { readonly weeks?: number },
  operation: '$book' | '$hold',
): Promise<Outcome> {
  const calendars = calendarsFor(stage, names);
  const [first] = calendars;
  if (!first) {
    return impossible('there is no calendar');
  }
  const { start, end } = periodOf(time, first.plan);
  const resource = {
    resourceType: 'Appointment',
    status: 'proposed',
    serviceType: [typeOf(first.service)],
    start: instant(start),
    end: instant(end),
    contained: slotsAround(calendars, { start, end }),
    ...(weeks > 1 && { extension: [seriesTemplate(start, weeks, first.plan.zone ?? 'UTC')] }),
    participant: calendars.map(({ actor }) => ({ actor: { reference: actor }, status: 'tentative' })),
  };
  const body = { resourceType: 'Parameters', parameter: [{ name: 'appointment', resource }] };
  return byStaff(stage, { method: 'POST', path: `/Appointment/${operation}`, body }, as);
}

const NEW_SLOT = 'urn:uuid:5b0d2c1e-6f0a-4f0c-9d1e-0000000000';

const staffBook: Doer<ActOf<'staff-book'>> = async (stage, { time, slot, sent, over, undone, as, in: names }) => {
  const calendars = calendarsFor(stage, names);
  const found = calendars.map((calendar) => slotsFor(stage, calendar, time, time)[0]);
  const [first] = calendars;
  if (!first || (slot !== 'new' && found.some((one) => !one))) {
    return impossible(`${time} is not on offer`);
  }
  const { start, end } = periodOf(time, first.plan);
  const slots =
    slot === 'new'
      ? slotsAround(calendars, { start, end }).map((one, index) => entry('POST', one, `${NEW_SLOT}${10 + index}`))
      : found.flatMap((one) =>
          one
            ? {
                ...entry('PUT', { ...one, status: 'busy' }, `Slot/${one.id}`),
                request: { method: 'PUT' as const, url: `Slot/${one.id}` },
              }
            : [],
        );
  const appointment: Appointment = {
    resourceType: 'Appointment',
    status: 'booked',
    serviceType: [typeOf(first.service)],
    start: instant(start),
    end: instant(end),
    extension: purposeOf(over),
    slot: slots.map(({ fullUrl = '' }) => ({ reference: fullUrl })),
    participant: [
      { actor: { reference: stage.clinic.patients.B } as never, status: 'accepted' },
      ...calendars.map(({ actor }) => ({ actor: { reference: actor } as never, status: 'accepted' as const })),
    ],
  };
  const request = { method: 'POST' as const, url: 'Appointment' };
  const stale = { method: 'PUT' as const, url: `Schedule/${first.schedule.id}`, ifMatch: 'W/"stale"' };
  const last = undone ? [{ request: stale, resource: first.schedule }] : [];
  const entries = [...slots, { request, resource: appointment }, ...last];
  const { made, ...outcome } = await sendAll(stage, entries, sent);
  const booked = made.find((one) => one.startsWith('Appointment/'));
  if (as !== undefined && booked !== undefined) {
    stage.named.set(as, booked);
  }
  // What a refusal leaves of a Slot that stands alone is busy, and nobody's.
  const left = booked === undefined && outcome.kind === 'failed' ? made : [];
  for (const one of stage.world.medplum.all<Slot>('Slot').filter(({ id }) => left.includes(`Slot/${id}`))) {
    stage.blocked.set(one.id, one.status);
  }
  return outcome;
};

const count = ({ moves }: Stage, id: string, more: number): unknown => moves.set(id, (moves.get(id) ?? 0) + more);

/** Gives an appointment another time; from then on it is acknowledged there. */
async function moving(stage: Stage, id: string, to: Interval, doing: () => Promise<Outcome>): Promise<Outcome> {
  split(stage, id);
  release(stage, id);
  count(stage, id, 1);
  const outcome = await doing();
  const before = stage.acknowledged.get(id);
  if (outcome.kind === 'done' && before) {
    stage.acknowledged.set(id, { ...before, start: to.start, end: to.end });
  }
  if (outcome.kind !== 'failed') {
    keep(stage, id);
  }
  if (outcome.kind === 'refused') {
    count(stage, id, -1);
  }
  return outcome;
}

const staffMove: Doer<ActOf<'staff-move'>> = async (stage, { what, time, by, over, in: names }) => {
  const stored = storedOne(stage, what);
  if (!stored) {
    return impossible(`there is no ${what}`);
  }
  const { id, appointment } = stored;
  const slots = stage.world.medplum.all<Slot>('Slot');
  const own = (appointment.slot ?? []).flatMap(
    ({ reference }) => slots.find((slot) => `Slot/${slot.id}` === reference) ?? [],
  );
  const old = [...stage.clinic.calendars.values()].filter(({ schedule }) =>
    own.some((slot) => slot.schedule.reference === `Schedule/${schedule.id}`),
  );
  const calendars = names || old.length === 0 ? calendarsFor(stage, names) : old;
  const to = periodOf(time, calendars[0]?.plan);
  const [start, end] = [instant(to.start), instant(to.end)];
  const left = old.filter((one) => !calendars.includes(one)).map(({ actor }) => actor);
  const kept = appointment.participant.filter(({ actor }) => !left.includes(actor?.reference ?? ''));
  const joined = calendars
    .filter(({ actor }) => !kept.some((participant) => participant.actor?.reference === actor))
    .map(({ actor }) => ({
      actor: { reference: actor } as never,
      required: 'required' as const,
      status: 'needs-action' as const,
    }));
  const moved: WithId<Appointment> = {
    ...appointment,
    start,
    end,
    extension: [...(appointment.extension ?? []), ...purposeOf(over)],
    participant: [...kept, ...joined],
  };
  const again = (): BundleEntry[] => {
    const made = slotsAround(calendars, to).map((one, index) => {
      const status = appointment.status === 'pending' && one.status === 'busy' ? 'busy-tentative' : one.status;
      return entry('POST', { ...one, status }, `${NEW_SLOT}${10 + index}`);
    });
    const slot = made.map(({ fullUrl = '' }) => ({ reference: fullUrl }));
    return [...own.map((one) => entry('DELETE', one)), ...made, entry('PUT', { ...moved, slot })];
  };
  const shapes: Readonly<Record<Moving, () => Promise<Outcome>>> = {
    $reschedule: () =>
      byStaff(stage, {
        method: 'POST',
        path: `/Appointment/${id}/$reschedule`,
        body: {
          resourceType: 'Parameters',
          parameter: [
            { name: 'start', valueDateTime: start },
            ...calendars.map(({ schedule }) => ({
              name: 'schedule',
              valueReference: { reference: `Schedule/${schedule.id}` },
            })),
          ],
        },
      }),
    anew: () => sendAll(stage, again(), 'in one'),
    'anew, in a batch': () => sendAll(stage, again(), 'in a batch'),
    // Where transactions are off, Medplum's app creates first and deletes last.
    'anew, one by one': () => {
      const isDelete = ({ request }: BundleEntry): boolean => request?.method === 'DELETE';
      const entries = again();
      return sendAll(stage, [...entries.filter((one) => !isDelete(one)), ...entries.filter(isDelete)], 'one by one');
    },
    times: () => sendAll(stage, [entry('PUT', moved)], 'in one'),
    patch: () =>
      byStaff(stage, {
        method: 'PATCH',
        path: `/Appointment/${id}`,
        body: [
          { op: 'replace', path: '/start', value: start },
          { op: 'replace', path: '/end', value: end },
        ],
      }),
    Slot: () => {
      const slot = calendars.flatMap((calendar) => slotsFor(stage, calendar, time, time));
      return slot.length < calendars.length
        ? Promise.resolve(impossible(`${time} is not on offer`))
        : sendAll(
            stage,
            [entry('PUT', { ...moved, slot: slot.map((one) => ({ reference: `Slot/${one.id}` })) })],
            'in one',
          );
    },
    'Slot alone': () => {
      const [slot] = own.filter(({ status }) => status !== 'busy-unavailable');
      return slot
        ? sendAll(stage, [entry('PUT', { ...slot, start, end })], 'in one')
        : Promise.resolve(impossible('it has no Slot'));
    },
  };
  // What becomes of a Slot whose times alone are changed is decided by what follows: the appointment goes with it, or it goes back.
  return by === 'Slot alone' ? ending(stage, id, shapes[by]) : moving(stage, id, to, shapes[by]);
};

/** Does something on a stage; its requests wait until they are let through. */
export function perform(stage: Stage, act: Act): Promise<Outcome> {
  const doer = doers[act.does] as Doer<Act>;
  stage.world.look();
  return doer(stage, act).catch((error: unknown) => {
    if (error instanceof LostAnswer) {
      return { kind: 'failed', text: error.message };
    }
    throw error;
  });
}

/** An act in a few words. */
export function textOf(act: Act): string {
  const { does, ...rest } = act;
  const more = Object.entries(rest).map(([name, value]) => (name === 'time' ? `${value}` : `${name} ${value}`));
  return [does, ...more].join(' ');
}
