import { z } from 'zod';

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const resourceShape = z.looseObject({
  resourceType: z.string(),
  id: z.string().regex(new RegExp(`^${uuid}$`)),
  meta: z.looseObject({ versionId: z.string().optional() }).optional(),
});

/** They have ids that nobody refers to, on some servers only. */
const nameless = new Set(['Bundle', 'OperationOutcome']);

/** What never is the same twice, and what is written in its place. */
const volatile: readonly (readonly [RegExp, string])[] = [
  [/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<token>'],
  [/\b[0-9a-f]{64}\b/g, '<secret>'],
  [/Basic [\w+/=]{20,}/g, 'Basic <credentials>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>'],
  [/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g, '<time>'],
  [/\w{3} \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT\+0000 \([^)]*\)/g, '<time>'],
  [/<base>\/storage\/\S+/g, '<base>/storage/<signed>'],
  [/_cursor=(\d)-\d+-/g, '_cursor=$1-<time>-'],
  [new RegExp(uuid, 'g'), '<uuid>'],
];

/** Takes ids, versions, times and secrets out of what a server says, so that two servers can be compared. */
export interface Scrubber {
  /** Names the resources and versions in an answer by their type and number: `Slot-1`, `Slot-1.v2`. */
  learn(answer: unknown): void;
  /** Writes names and placeholders for all that is not the same twice; keys come in alphabetical order. */
  scrub(value: unknown): unknown;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const sorted = (value: Readonly<Record<string, unknown>>): [string, unknown][] =>
  Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));

/**
 * @param aliases - strings of this server and run, and what is written in their place
 */
export function createScrubber(aliases: Readonly<Record<string, string>>): Scrubber {
  const names = new Map<string, string>();
  const counts = new Map<string, number>();

  function next(key: string): number {
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count;
  }

  function name(type: string, id: string, versionId: string | undefined): void {
    if (!names.has(id)) {
      names.set(id, `${type}-${next(type)}`);
    }
    if (versionId && !names.has(versionId)) {
      names.set(versionId, `${names.get(id)}.v${next(id)}`);
    }
  }

  function learn(value: unknown): void {
    if (typeof value === 'string') {
      for (const [, type = '', id = '', version] of value.matchAll(
        new RegExp(`([A-Z]\\w+)/(${uuid})/_history/(${uuid})`, 'g'),
      )) {
        name(type, id, version);
      }
    } else if (Array.isArray(value)) {
      value.forEach(learn);
    } else if (isObject(value)) {
      const resource = resourceShape.safeParse(value);
      if (resource.success && !nameless.has(resource.data.resourceType)) {
        name(resource.data.resourceType, resource.data.id, resource.data.meta?.versionId);
      }
      for (const [, inner] of sorted(value)) {
        learn(inner);
      }
    }
  }

  function scrubText(text: string): string {
    const aliased = Object.entries(aliases).reduce((result, [from, to]) => result.replaceAll(from, to), text);
    const named = aliased.replaceAll(new RegExp(uuid, 'g'), (id) => names.get(id) ?? id);
    return volatile.reduce((result, [pattern, placeholder]) => result.replaceAll(pattern, placeholder), named);
  }

  function scrub(value: unknown): unknown {
    if (typeof value === 'string') {
      return scrubText(value);
    }
    if (Array.isArray(value)) {
      return value.map(scrub);
    }
    return isObject(value) ? Object.fromEntries(sorted(value).map(([key, inner]) => [key, scrub(inner)])) : value;
  }

  return { learn, scrub };
}
