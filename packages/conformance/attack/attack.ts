import { setTimeout } from 'node:timers/promises';
import { type Client, isNamed, type Named, nameOf } from '../client.ts';
import type { Listener } from '../listener.ts';
import { clinic, slotOn } from '../preparation/bodies.ts';
import { isObject, isResource } from '../resource.ts';
import { type Data, fill } from '../template.ts';
import type { Adapter } from './adapters.ts';
import { bookableItemsIn, type Ground, instant } from './calendar.ts';
import type { Bounds, Violation } from './check-history.ts';
import type { Period, Terms } from './history.ts';
import { networkOf, randomOf, type Trouble, trouble, until, type World } from './network.ts';
import { isGreeted } from './notified.ts';
import { type Party, perform } from './perform.ts';
import { playRound, type Round } from './round.ts';

interface Actor {
  readonly client: Client;
  readonly adapter: Adapter;
}

/** Kinds of Schedules that the attack creates as staff. */
export const kinds = ['half hours', 'opening hours, buffers', 'a long Slot', 'opening hours, two places'] as const;

type Kind = (typeof kinds)[number];

/** An attack on a server. */
export interface Attack {
  readonly portals: readonly Actor[];
  readonly staff?: Actor;
  readonly kinds: readonly Kind[];
  /** A prepared Schedule and its terms, instead of created ones. */
  readonly given?: { readonly schedule: string; readonly terms: Terms };
  /** Values of the placeholders in requests. */
  readonly constants: Data;
  /** Start of the first appointment, in milliseconds since 1970 UTC; the server must publish that day. */
  readonly from: number;
  readonly seed: number;
  readonly bounds: Bounds;
  readonly trouble?: Trouble;
  /** Per party and round. */
  readonly acts: number;
  /** Rounds on one Schedule; after the last, every bookable item is tried. */
  readonly rounds: number;
  /** Called before each round; `false` ends the attack. */
  readonly goesOn: (soFar: Findings) => boolean;
  readonly onRound?: (round: Round, ground: Ground) => void;
  readonly restart?: () => Promise<void>;
  /** The endpoint for notifications, if the portals' interface has them. */
  readonly listener?: Pick<Listener, 'url' | 'received'>;
  readonly world?: Pick<World, 'now' | 'wait'>;
}

export interface Findings {
  readonly rounds: number;
  readonly operations: number;
  readonly booked: number;
  /** Number of events in notifications; `undefined` without a Subscription. */
  readonly notifiedCount: number | undefined;
  /** Number of rounds whose history had too many possible orders. */
  readonly undecided: number;
  readonly ignored: ReadonlyMap<string, number>;
  readonly violations: readonly Violation[];
}

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
const HALF = 30 * MINUTE;

/** Number of times that are requested in a Schedule: few, so that parties collide. */
const MAX_TIMES = 8;

/** Maximum time until a service publishes its Slots, in milliseconds. */
const PUBLISHED = 90_000;

const published: Readonly<Partial<Record<Kind, { terms: Terms; grid: number }>>> = {
  // With any less buffer, the next bookable time would be too close.
  'opening hours, buffers': { terms: { capacity: 1, before: 5, after: 15 }, grid: 15 },
  'opening hours, two places': { terms: { capacity: 2, before: 0, after: 0 }, grid: 30 },
};

const serviceType = { coding: [{ system: '{serviceType.system}', code: '{serviceType.code}' }] };

const minutes = (url: string, value: number): object => ({ url, valueDuration: { value, unit: 'min' } });

const timeOfDay = (at: number): string => instant(at).slice(11, 19);

/** A HealthcareService that is open for two hours on one weekday. */
const serviceOn = (day: number, { terms, grid }: { terms: Terms; grid: number }): object => ({
  ...clinic.healthcareService,
  specialty: undefined,
  type: [serviceType],
  availableTime: [
    {
      daysOfWeek: [new Date(day).toLocaleDateString('en', { weekday: 'short', timeZone: 'UTC' }).toLowerCase()],
      availableStartTime: timeOfDay(day),
      availableEndTime: timeOfDay(day + 4 * HALF),
    },
  ],
  extension: [
    {
      url: 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters',
      extension: [
        minutes('duration', 30),
        minutes('alignmentInterval', grid),
        minutes('bufferBefore', terms.before),
        minutes('bufferAfter', terms.after),
        { url: 'slotCapacity', valueInteger: terms.capacity },
        { url: 'timezone', valueCode: 'UTC' },
      ],
    },
  ],
});

async function create(client: Client, body: object, data: Data): Promise<Named> {
  const resource = fill(body, data);
  const path = `/${isObject(resource) ? resource.resourceType : ''}`;
  const response = await client.send({ method: 'POST', path, body: resource });
  if (response.status !== 201 || !isNamed(response.resource)) {
    throw new Error(`POST ${path}: ${response.status} ${response.text.slice(0, 300)}`);
  }
  return response.resource;
}

async function makeGround({ client }: Actor, kind: Kind, day: number, constants: Data) {
  const practitioner = nameOf(await create(client, clinic.practitioner, constants));
  const plan = published[kind];
  const service = plan ? nameOf(await create(client, serviceOn(day, plan), constants)) : '';
  const byReference = {
    url: 'https://medplum.com/fhir/service-type-reference',
    valueReference: { reference: service },
  };
  const schedule = await create(
    client,
    {
      resourceType: 'Schedule',
      active: true,
      serviceType: [{ ...serviceType, ...(plan && { extension: [byReference] }) }],
      actor: [{ reference: practitioner }],
      planningHorizon: { start: instant(day - DAY).slice(0, 10), end: instant(day + 2 * DAY).slice(0, 10) },
    },
    constants,
  );
  const data = {
    ...constants,
    schedule: nameOf(schedule),
    practitioner,
    service,
    from: instant(day),
    to: instant(day + 4 * HALF),
  };
  const lengths = plan ? [] : kind === 'a long Slot' ? [4] : [1, 1, 1, 1];
  for (const [index, length] of lengths.entries()) {
    const start = day + index * HALF;
    const time = { start: instant(start), end: instant(start + length * HALF) };
    await create(client, slotOn('{schedule}'), { ...data, time });
  }
  return { title: kind, terms: plan?.terms ?? { capacity: 1, before: 0, after: 0 }, data };
}

const wallClock = { now: () => performance.now(), wait: (milliseconds: number) => setTimeout(milliseconds) };

/**
 * Attacks a server. In each round, portals and staff act concurrently through a network that delays, cuts and repeats
 * their requests. All responses are judged. The attack ends at the first violation.
 *
 * @throws Error if the preparation fails, or nothing is bookable
 */
export async function attack(given: Attack): Promise<Findings> {
  const world: World = { ...(given.world ?? wallClock), random: randomOf(given.seed) };
  const network = networkOf(world, given.trouble ?? trouble);
  const { listener } = given;
  const [first] = given.portals;
  if (!first) {
    throw new Error('Nobody attacks.');
  }

  async function partiesOf(actors: readonly Actor[], title: string): Promise<Party[]> {
    const parties: Party[] = [];
    for (const [index, { client, adapter }] of actors.entries()) {
      const patient = await create(client, PATIENT, given.constants);
      const name = actors.length > 1 ? `${title} ${index + 1}` : title;
      const party = { name, adapter, client: network.of(client), patient: nameOf(patient) };
      const subscription = await subscribe(party);
      parties.push({ ...party, ...(subscription && { subscription }) });
    }
    return parties;
  }

  async function subscribe(party: Party): Promise<Party['subscription']> {
    if (!listener || !party.adapter.acts.subscribe) {
      return undefined;
    }
    const data = { ...given.constants, listener: { url: listener.url } };
    const { made, notifiedCount } = await perform(party, 'subscribe', { data, mark: '' });
    const isGreetedNow = async () => made !== undefined && isGreeted(listener.received, nameOf(made));
    if (!made || !(await until(world, isGreetedNow, Boolean, PUBLISHED))) {
      throw new Error(`${party.name} cannot subscribe: ${made ? 'its endpoint was not greeted' : notifiedCount}.`);
    }
    return made;
  }

  async function unsubscribe(parties: readonly Party[]): Promise<void> {
    for (const party of parties.filter(({ subscription }) => subscription)) {
      const { subscription: appointment } = party;
      await perform(party, 'unsubscribe', { data: given.constants, mark: '', ...(appointment && { appointment }) });
    }
  }

  async function groundFor(count: number): Promise<Ground> {
    const day = given.from;
    const { schedule, terms } = given.given ?? {};
    const kind = given.kinds[count % given.kinds.length] ?? 'half hours';
    const ground =
      schedule && terms
        ? {
            title: schedule,
            terms,
            data: { ...given.constants, schedule, from: instant(given.from), to: instant(given.from + 7 * DAY) },
          }
        : given.staff && (await makeGround(given.staff, kind, day, given.constants));
    if (!ground || !first) {
      throw new Error('Without access as staff, name a Schedule that is prepared.');
    }
    const times = await until(
      world,
      async () => timesOf(await bookableItemsIn(first, ground, world), first.adapter.parts === true),
      (found) => found.length >= 2,
      PUBLISHED,
    );
    if (times.length < 2) {
      throw new Error(`${ground.title}: there are not two times on offer.`);
    }
    return { ...ground, times, due: new Map() };
  }

  let findings: Findings = {
    rounds: 0,
    operations: 0,
    booked: 0,
    notifiedCount: undefined,
    undecided: 0,
    ignored: new Map(),
    violations: [],
  };
  let ground: Ground | undefined;
  let portals: Party[] = [];
  let staff: Party[] = [];
  let mayRepeat = false;
  while (findings.violations.length === 0 && given.goesOn(findings)) {
    const isFresh = findings.rounds % given.rounds === 0;
    if (isFresh || !ground) {
      network.calm();
      await unsubscribe(portals);
      mayRepeat = false;
      ground = await groundFor(findings.rounds / given.rounds);
      portals = await partiesOf(given.portals, 'portal');
      staff = await partiesOf(given.staff ? [given.staff] : [], 'staff');
    }
    const isThorough = findings.rounds % given.rounds === given.rounds - 1;
    const { acts, bounds, restart } = given;
    const disturb = restart && findings.rounds % given.rounds === Math.min(1, given.rounds - 1) ? restart : undefined;
    mayRepeat ||= disturb !== undefined;
    const isSubscribed = portals.some(({ subscription }) => subscription);
    const round = await playRound({
      world,
      network,
      ground,
      portals,
      staff,
      bounds,
      acts,
      isThorough,
      ...(disturb && { disturb }),
      ...(listener && isSubscribed && { notifications: { received: listener.received, mayRepeat } }),
    });
    given.onRound?.(round, ground);
    const { notifiedCount } = findings;
    const ignored = new Map(findings.ignored);
    for (const [notifiedCount, count] of round.ignored) {
      ignored.set(notifiedCount, (ignored.get(notifiedCount) ?? 0) + count);
    }
    findings = {
      rounds: findings.rounds + 1,
      operations: findings.operations + round.operations,
      booked: findings.booked + round.booked,
      notifiedCount:
        notifiedCount === undefined && round.notifiedCount === undefined
          ? undefined
          : (notifiedCount ?? 0) + (round.notifiedCount ?? 0),
      undecided: findings.undecided + (round.isUndecided ? 1 : 0),
      ignored,
      violations: round.violations,
    };
  }
  network.calm();
  await unsubscribe(portals);
  return findings;
}

function partsOf({ start, end }: Period): Period[] {
  const count = Math.floor((end - start) / HALF);
  return count < 2
    ? [{ start, end }]
    : Array.from({ length: count }, (_, index) => ({ start: start + index * HALF, end: start + (index + 1) * HALF }));
}

/** The times that are requested: the first bookable ones, without duplicates. */
function timesOf(offers: readonly Period[], hasParts: boolean): Period[] {
  const each = new Map(offers.map(({ start, end }) => [`${start} ${end}`, { start, end }]));
  return [...each.values()]
    .flatMap((time) => (hasParts ? partsOf(time) : [time]))
    .sort((period, other) => period.start - other.start)
    .slice(0, MAX_TIMES);
}

const PATIENT = {
  resourceType: 'Patient',
  active: true,
  name: [{ use: 'official', family: 'Attack', given: ['{run}'] }],
  gender: 'unknown',
  birthDate: '1980-05-17',
};

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Whether a server may be attacked: it is on the loopback interface; or the tester declares it a test server and its
 * CapabilityStatement is `experimental`.
 */
export async function isTestServer(client: Client, isSaid: boolean): Promise<boolean> {
  if (LOOPBACK.test(new URL(client.baseUrl).hostname)) {
    return true;
  }
  const { resource } = isSaid ? await client.send({ method: 'GET', path: '/metadata' }) : { resource: undefined };
  return isResource(resource, 'CapabilityStatement') && resource.experimental === true;
}
