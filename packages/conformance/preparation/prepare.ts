import { type Actors, carryOut } from '../carry-out.ts';
import { entriesOf } from '../client.ts';
import { status as answered } from '../expectation.ts';
import { isObject, isResource } from '../resource.ts';
import type { Data } from '../template.ts';
import { type Need, UnmetNeed, usedUp } from './needs.ts';
import { type Recipe, recipes, type Time } from './recipes.ts';

/** References that the tester has prepared, by need. */
export type Given = Readonly<Partial<Record<Need, readonly string[]>>>;

/** What the preparation works with. */
interface Ground {
  readonly actors: Actors;
  readonly given: Given;
  /** The values of the placeholders in every check. */
  readonly constants: Data;
  /** When the first appointment of the tests begins, in milliseconds since 1970 UTC. */
  readonly from: number;
}

/**
 * Provides what a check needs, and everything that this needs in turn.
 *
 * @throws Unprepared where the tester has to prepare something: also what the service does not let a requestor create
 * @throws Error where creating something fails in any other way
 */
export type Prepare = (needs: readonly Need[]) => Promise<Data>;

/** What a service answers that does not let a requestor create something, or does not have it. */
const refused = answered(403, 404, 405, 422);

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

/** Half hours on one day: few enough to fall on the same date all over Europe. */
const ON_A_DAY = 12;

/** More free Slots than there are checks. */
const MAX_OFFERS = 200;

/** How many days the half hours may take. */
const DAYS = 60;

/** Gives everything that is created a time of its own, in the order in which times are asked for. */
function clock(from: number): Readonly<Record<Time, () => object>> {
  let halfHours = 0;
  let days = 0;
  const span = (start: number, minutes: number) => ({
    start: new Date(start).toISOString(),
    end: new Date(start + minutes * MINUTE).toISOString(),
  });
  return {
    halfHour() {
      const at = from + Math.floor(halfHours / ON_A_DAY) * DAY + (halfHours % ON_A_DAY) * 30 * MINUTE;
      halfHours++;
      return span(at, 30);
    },
    longDay: () => span(from + (DAYS + days++) * DAY, 660),
    past: () => span(Date.now() - DAY, 30),
  };
}

/**
 * Provides what checks need: what the tester has prepared; else what staff or the requestor can create; else, for free
 * Slots, what the Schedule that the tester has prepared offers.
 */
export function preparation({ actors, given, constants, from }: Ground): Prepare {
  const times = clock(from);
  const shared = new Map<Need, Promise<object>>();
  const prepared = new Map(Object.entries(given).map(([need, references]) => [need, [...references]]));
  let offers: Promise<object[]> | undefined;

  async function read(reference: string): Promise<object> {
    const { status, resource } = await actors.requestor.send({ method: 'GET', path: `/${reference}` });
    if (status !== 200 || !isObject(resource)) {
      throw new Error(`The requestor cannot read ${reference}, which you have prepared: status ${status}.`);
    }
    return resource;
  }

  /** Free Slots of the Schedule that the tester has named: all of them are confirmed at once. */
  async function offered(schedule: string): Promise<object[]> {
    const path = `/Slot?schedule=${schedule}&status=free&start=ge${new Date(from).toISOString()}&_count=100`;
    const searched = await entriesOf(actors.requestor, path, MAX_OFFERS);
    const entries = 'status' in searched ? [] : searched.entries;
    return entries.flatMap(({ resource: one }) => (isResource(one, 'Slot') ? [one] : []));
  }

  async function cook(need: Need, { needs, time, steps, orElse = refused }: Recipe): Promise<object> {
    let data: Data = { ...constants, ...(await all(needs)), ...(time && { time: times[time]() }) };
    for (const step of steps) {
      const { failed, kept, answer } = await carryOut(step, data, actors);
      if (failed.length > 0) {
        const why = `No ${need} could be created. ${step.request}: ${answer.status} ${answer.text.slice(0, 300)}`;
        throw step.by !== 'staff' && orElse.holds(answer, data) ? new UnmetNeed(need, ` ${why}`) : new Error(why);
      }
      data = { ...data, ...kept };
    }
    const { [need]: result } = data;
    return isObject(result) ? result : {};
  }

  async function make(need: Need): Promise<object> {
    const list = prepared.get(need);
    const reference = usedUp.includes(need) ? list?.shift() : list?.[0];
    if (reference) {
      return read(reference);
    }
    const recipe = recipes[need];
    if (recipe && (actors.staff || !recipe.needs.includes('staff'))) {
      return cook(need, recipe);
    }
    const [schedule] = given.schedule ?? [];
    if (schedule && (need === 'slot' || need === 'otherSlot')) {
      offers ??= offered(schedule);
      const slot = (await offers).shift();
      if (slot) {
        return slot;
      }
    }
    if (need === 'listener' && actors.listener) {
      return { url: actors.listener.url };
    }
    if (need === 'staff' && actors.staff) {
      return { url: actors.staff.baseUrl };
    }
    throw new UnmetNeed(need);
  }

  function provide(need: Need): Promise<object> {
    if (usedUp.includes(need)) {
      return make(need);
    }
    const known = shared.get(need) ?? make(need);
    shared.set(need, known);
    return known;
  }

  async function all(needs: readonly Need[]): Promise<Record<string, object>> {
    const provided: Record<string, object> = {};
    for (const need of needs) {
      provided[need] = await provide(need);
    }
    return provided;
  }

  return async (needs) => ({ ...constants, ...(await all(needs)) });
}
