import type { Appointment, Parameters } from '@medplum/fhirtypes';
import { type Act, createStage, type Outcome, perform, refusalIn, type Stage, textOf } from './acts.ts';
import { type Clinic, createClinic, instant, typeOf } from './clinic.ts';
import { settled } from './inside.ts';
import type { Snapshot } from './medplum.ts';
import { createMemory, type Memory } from './memory.ts';
import {
  absenceOffers,
  judge,
  judgeAbsences,
  judgeAnswers,
  judgeAsked,
  judgeOffers,
  offersOf,
  type Violation,
} from './oracle.ts';
import type { Scene } from './scenes.ts';
import { createWorld, type Fate, type Held, type Mistake, type World } from './world.ts';

/** A line of a history: who did what when, and what came of it. */
export interface Line {
  readonly time: string;
  readonly actor: string;
  readonly what: string;
  readonly result: string;
}

/** How a play went. */
export interface Play {
  readonly lines: readonly Line[];
  readonly violations: readonly Violation[];
  /** Whether the scheduler ended it before its end. */
  readonly isCut: boolean;
}

/** A choice of the scheduler: which request, and what becomes of it. */
export interface Choice {
  readonly held: Held;
  readonly fate: Fate;
}

/** Says which request comes next; `undefined` ends the play. */
export type Choose = (world: World) => Choice | undefined;

/** A scene on whose stage everything that comes before has happened. */
export interface Prepared {
  readonly scene: Scene;
  readonly stage: Stage;
  readonly snapshot: Snapshot;
  readonly memory: Memory;
  /** What was found when all was quiet, by what was stored before. */
  readonly quiet: Map<string, readonly Violation[]>;
  /** A mistake that the Bots make. */
  readonly mistake?: Mistake;
}

/** Lets what comes before a scene happen, act by act; the Bots make a mistake, if one is given, from the beginning. */
export async function prepare(installed: Snapshot, scene: Scene, mistake: Mistake = {}): Promise<Prepared> {
  const clinic: Clinic = await createClinic(
    scene.isNewest ? { ...installed, scheduling: 'newest' } : installed,
    scene.calendars,
  );
  const world = createWorld(clinic.snapshot, createMemory(), mistake);
  const stage = createStage(clinic, world);
  for (const act of scene.before ?? []) {
    const doing = world.act('before', () => perform(stage, act));
    await world.drain();
    const outcome = await doing;
    if (outcome.kind !== 'done') {
      throw new Error(`Before ${scene.name}: ${textOf(act)}: ${outcome.kind} ${outcome.text}`);
    }
  }
  return { scene, stage, snapshot: world.medplum.snapshot(), memory: createMemory(), quiet: new Map(), mistake };
}

const clockOf = (world: World): string => instant(world.medplum.now()).slice(11, 23);

/** When the jobs of Subscriptions run: one at a time among the acts, or after them; or all at once, as Medplum runs them. */
export type Jobs = 'among' | 'after' | 'at once';

/** Plays acts one after the other; what each comes to is noted. */
async function playActs(
  stage: Stage,
  actor: string,
  acts: readonly Act[],
  lines: Line[],
  outcomes: Outcome[],
): Promise<void> {
  for (const act of acts) {
    lines.push({ time: clockOf(stage.world), actor, what: `» ${textOf(act)}`, result: '' });
    const outcome: Outcome = await perform(stage, act);
    outcomes.push(outcome);
    const result = `${outcome.kind} ${outcome.text}`.trim();
    lines.push({ time: clockOf(stage.world), actor, what: `« ${textOf(act)}`, result });
  }
}

/** How many acts were carried out of those of which one must be: two that want one time cannot both go without. */
function carriedOut({ done: least = 0 }: Scene, outcomes: readonly Outcome[]): Violation[] {
  const done = outcomes.filter(({ kind }) => kind === 'done').length;
  const rule = 'what nothing is in the way of is carried out';
  return done < least ? [{ rule, text: `${done} of ${least}` }] : [];
}

/** All jobs run, and the clock does. */
async function settle(stage: Stage): Promise<void> {
  const { world } = stage;
  await world.drain();
  for (let round = 0; round < 6; round++) {
    const before = calendarText(stage);
    world.medplum.turn(61_000);
    await world.runClock();
    if (round > 0 && calendarText(stage) === before) {
      return;
    }
  }
}

/** The quiet that comes after the acts: all jobs have run, the clock has, and no absence offers anything. */
async function comeToRest(stage: Stage): Promise<void> {
  const { medplum } = stage.world;
  await settle(stage);
  const ends = absenceOffers(stage).map(({ until }) => until);
  for (const end of ends.toSorted((one, other) => one - other)) {
    medplum.turn(Math.max(0, end - medplum.now()));
    await settle(stage);
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** What is stored of some types, without ids, versions and moments: the same for the same calendar. */
function storedText({ world: { medplum } }: Stage, types: readonly ('Slot' | 'Appointment' | 'Task')[]): string {
  const found = types.flatMap((type) => medplum.all(type));
  const texts = found.map((resource) => {
    const { id, meta, ...rest } = resource;
    const author = meta?.author?.reference?.split('/')[0];
    return { id, text: JSON.stringify({ ...rest, author, tag: meta?.tag }) };
  });
  const blank = (text: string): string => text.replace(UUID, '').replace(/proposal \d+/g, '');
  texts.sort((one, other) => blank(one.text).localeCompare(blank(other.text)));
  const numbers = new Map(texts.map(({ id }, index) => [id ?? '', `#${index}`]));
  const known = (text: string): string => text.replace(UUID, (id) => numbers.get(id) ?? '?');
  return texts.map(({ text }) => known(text).replace(/proposal \d+/g, '')).join('\n');
}

const calendarText = (stage: Stage): string => storedText(stage, ['Slot', 'Appointment']);

/** Tries to book each Slot that is on offer. */
async function tryOffers(stage: Stage): Promise<Violation[]> {
  const { world, clinic } = stage;
  const found: Violation[] = [];
  for (const { slot, calendar } of offersOf(stage)) {
    const { duration } = calendar.plan;
    const longest = duration === undefined ? Number.POSITIVE_INFINITY : Date.parse(slot.start) + duration * 60_000;
    const end = new Date(Math.min(Date.parse(slot.end), longest)).toISOString();
    const appointment: Appointment = {
      resourceType: 'Appointment',
      status: 'proposed',
      serviceType: [typeOf(calendar.service)],
      start: slot.start,
      end,
      slot: [{ reference: `Slot/${slot.id}` }],
      participant: [{ actor: { reference: clinic.patients.A } as never, status: 'accepted' }],
    };
    const body: Parameters = {
      resourceType: 'Parameters',
      parameter: [
        { name: 'appt-resource', resource: appointment },
        { name: 'dry-run', valueBoolean: true },
      ],
    };
    const trying = world.act('a portal that tries', () => world.medplum.call('book', 'portal-a', body));
    await world.drain();
    const answer = await trying;
    const refusal = refusalIn(answer);
    if (refusal && !refusal.startsWith('The request would be carried out')) {
      const rule = 'what is offered can be booked';
      const time = `${slot.start.slice(11, 16)}–${slot.end.slice(11, 16)}`;
      found.push({ rule, text: `${calendar.name}: the free Slot ${time} is refused: ${refusal}` });
    }
  }
  return found;
}

function unique(violations: readonly Violation[]): Violation[] {
  return [...new Map(violations.map((violation) => [`${violation.rule}: ${violation.text}`, violation])).values()];
}

/** Plays a scene in an order. */
export async function play(
  { scene, stage: before, snapshot, memory, quiet, mistake }: Prepared,
  choose: Choose,
  jobs: Jobs,
): Promise<Play> {
  const world = createWorld(snapshot, memory, mistake);
  const stage = createStage(before.clinic, world, before);
  const lines: Line[] = [];
  const failures: unknown[] = [];
  const outcomes: Outcome[] = [];
  let isFaultless = true;
  for (const [index, acts] of scene.acts.entries()) {
    const actor = scene.acts.length > 1 ? String.fromCharCode(0x31 + index) : '1';
    const name = `actor ${actor}`;
    world.act(name, () => playActs(stage, name, acts, lines, outcomes)).catch((error: unknown) => failures.push(error));
  }
  let running = 0;
  let seen = -1;
  const violations: Violation[] = [];
  for (;;) {
    await settled();
    if (failures.length > 0) {
      throw failures[0];
    }
    if (seen !== world.medplum.state()) {
      seen = world.medplum.state();
      violations.push(...judge(stage));
    }
    const isActing = world.held.some(({ actor }) => actor.startsWith('actor'));
    const most = jobs === 'at once' ? Number.POSITIVE_INFINITY : 1;
    if (running < most && world.medplum.jobs.length > 0 && (jobs !== 'after' || !isActing)) {
      const started = world.startJob();
      running += 1;
      started
        ?.catch((error: unknown) => failures.push(error))
        .finally(() => {
          running -= 1;
        });
      continue;
    }
    if (violations.length > 0 || world.held.length === 0) {
      break;
    }
    const choice = choose(world);
    if (!choice) {
      return { lines, violations: [], isCut: true };
    }
    const { held, fate } = choice;
    const { actor, label } = held;
    held.meet(fate);
    isFaultless &&= fate === 'passes';
    const isJob = !actor.startsWith('actor');
    running -= fate === 'dies' && isJob ? 1 : 0;
    const place = lines.length;
    await settled();
    const reasons = (held.reasons ?? []).join('; ');
    const line = { time: clockOf(world), actor, what: label, result: [held.result, reasons].filter(Boolean).join(' ') };
    lines.splice(place, 0, line);
  }
  violations.push(...judgeAnswers(stage), ...(isFaultless ? carriedOut(scene, outcomes) : []));
  if (violations.length === 0) {
    const isRefused = isFaultless && outcomes.some(({ kind }) => kind === 'refused');
    const key = `${isRefused} ${storedText(stage, ['Slot', 'Appointment', 'Task'])}`;
    const known = quiet.get(key);
    const found = known ?? [...(isRefused ? await judgeRefusal(stage) : []), ...(await judgeQuiet(stage))];
    quiet.set(key, found);
    violations.push(...found);
  }
  return { lines, violations: unique(violations), isCut: false };
}

/** How long what was refused may keep time closed, in milliseconds. */
const REFUSED = 5_000;

/** What must hold seconds after a refusal, before the clock has run: what is on offer is not closed by what was refused. */
async function judgeRefusal(stage: Stage): Promise<Violation[]> {
  stage.world.medplum.turn(REFUSED);
  const rule = 'what was refused keeps no time closed';
  return (await tryOffers(stage)).map(({ text }) => ({ rule, text }));
}

async function judgeQuiet(stage: Stage): Promise<Violation[]> {
  await comeToRest(stage);
  const quiet = [judge(stage, true), judgeOffers(stage), judgeAbsences(stage), judgeAsked(stage)];
  return [...quiet.flat(), ...(await tryOffers(stage))];
}
