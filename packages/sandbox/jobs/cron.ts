import { ContentType, type WithId } from '@medplum/core';
import type { Bot } from '@medplum/fhirtypes';
import { findMembership } from '../access/membership.ts';
import type { Platform } from '../platform.ts';
import { resourceOf, resourcesOf, type UnitOfWork } from '../storage/unit-of-work.ts';

/** Minute, hour, day of the month, month, day of the week: their lowest and highest values. */
const ranges = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
] as const;

function fieldValues(field: string, [low, high]: readonly [number, number]): Set<number> | undefined {
  const values = new Set<number>();
  for (const part of field.split(',')) {
    const match = /^(?:\*|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(part);
    const [, from, to, step] = match ?? [];
    const first = from === undefined ? low : Number(from);
    const last = to === undefined ? (from === undefined || step ? high : first) : Number(to);
    const width = step === undefined ? 1 : Number(step);
    if (!match || first < low || last > high || first > last || width < 1) {
      return undefined;
    }
    for (let value = first; value <= last; value += width) {
      values.add(value);
    }
  }
  return values;
}

/**
 * Reads a cron expression of five fields (UTC).
 *
 * @returns a test of whether a minute matches; `undefined` if it is not such an expression
 */
export function parseCron(expression: string): ((minute: Date) => boolean) | undefined {
  const fields = expression.trim().split(/\s+/);
  const sets = ranges.map((range, index) => fieldValues(fields[index] ?? '', range));
  const [minutes, hours, dates, months, weekdays] = sets;
  if (fields.length !== 5 || !minutes || !hours || !dates || !months || !weekdays) {
    return undefined;
  }
  const isAnyDate = fields[2] === '*';
  const isAnyWeekday = fields[4] === '*';
  return (time) => {
    const isDate = dates.has(time.getUTCDate());
    const isWeekday = weekdays.has(time.getUTCDay()) || (time.getUTCDay() === 0 && weekdays.has(7));
    // If both are restricted, either of them is enough.
    const isDay = isAnyDate || isAnyWeekday ? isDate && isWeekday : isDate || isWeekday;
    return (
      minutes.has(time.getUTCMinutes()) && hours.has(time.getUTCHours()) && months.has(time.getUTCMonth() + 1) && isDay
    );
  };
}

function isDue(bot: Bot, minute: Date): boolean {
  return Boolean(bot.cronString && parseCron(bot.cronString)?.(minute));
}

interface Cron {
  close(): void;
}

const minute = 60_000;

/**
 * Runs the Bots that have a `cronString` at its minutes; their input is the Bot itself. A Bot that still runs is not
 * started again, because runs would pile up where minutes are short or the machine is slow.
 *
 * @param delayScale - length of a minute; 1 for a real one
 */
export function startCron(platform: Platform, unit: Pick<UnitOfWork, 'find' | 'newest'>, delayScale: number): Cron {
  const length = minute * delayScale;
  const now = platform.now().getTime();
  let next = (Math.floor(now / minute) + 1) * minute;
  let timer = setTimeout(tick, (next - now) * delayScale);
  const running = new Set<string>();

  async function run(bot: WithId<Bot>): Promise<void> {
    const runAs = findMembership(unit, { reference: `Bot/${bot.id}` });
    if (runAs && resourceOf(unit, 'Project', bot.meta?.project)?.features?.includes('cron')) {
      const request = { bot, runAs, input: bot, contentType: ContentType.FHIR_JSON, traceId: platform.newId() };
      running.add(bot.id);
      try {
        await platform.executeBot(request);
      } catch (error) {
        platform.logger.warn('Cron Bot failed', { bot: bot.name, error: String(error) });
      }
      running.delete(bot.id);
    }
  }

  function tick(): void {
    for (const bot of resourcesOf(unit, 'Bot')) {
      if (!running.has(bot.id) && isDue(bot, new Date(next))) {
        void run(bot);
      }
    }
    next += minute;
    timer = setTimeout(tick, length);
  }

  return { close: () => clearTimeout(timer) };
}
