import { type Actors, carryOut } from '../carry-out.ts';
import { entriesOf } from '../client.ts';
import { status as answered } from '../expectation.ts';
import { isObject, isResource } from '../resource.ts';
import type { Data } from '../template.ts';
import { type Need, UnmetNeed, usedUp } from './needs.ts';
import { type Recipe, recipes, type Time } from './recipes.ts';

/** References of the resources that the tester has prepared, by need. */
export type Given = Readonly<Partial<Record<Need, readonly string[]>>>;

interface Ground {
  readonly actors: Actors;
  readonly given: Given;
  readonly constants: Data;
  /** Milliseconds since 1970 UTC. */
  readonly from: number;
}

/**
 * Provides the needs of a check, including transitive ones.
 *
 * @throws UnmetNeed if the tester must prepare a resource, for example because the service refuses to create it
 * @throws Error if the creation fails in another way
 */
export type Prepare = (needs: readonly Need[]) => Promise<Data>;

/** Statuses of a service that does not let a requestor create a resource, or does not support it. */
const refused = answered(403, 404, 405, 422);

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

/** Half hours on one day: they fall on the same date in all European time zones. */
const ON_A_DAY = 12;

const MAX_FREE_SLOTS = 200;

const DAYS = 60;

/** Returns distinct times for the created resources, in the order of the calls. */
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

/** Provides needs: prepared; else created by staff or requestor; else free Slots of the prepared Schedule. */
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

  /** Free Slots of the prepared Schedule, whose bookings are all confirmed at once. */
  async function offered(schedule: string): Promise<object[]> {
    const path = `/Slot?schedule=${schedule}&status=free&start=ge${new Date(from).toISOString()}&_count=100`;
    const searched = await entriesOf(actors.requestor, path, MAX_FREE_SLOTS);
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
