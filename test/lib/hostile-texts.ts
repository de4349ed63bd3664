/** Texts that a careless reader takes long to read, and how long the process stands still over them. */
import fc from 'fast-check';

/** How many times as much as usual is tried; before a release ten times. */
export const FUZZ = Number(process.env.FUZZ ?? 1);

/** What the texts repeat: what expressions, splits and parsers look for. */
const pieces = [
  ...[
    '.',
    ' ',
    '\t',
    '@',
    'a',
    '0',
    '-',
    ':',
    '/',
    ',',
    ';',
    '"',
    "'",
    '\\',
    '(',
    '<',
    '%',
    '&',
    '=',
    '|',
    '$',
    '[',
    '{',
  ],
  ...['\u00a0', 'ä', '😀', 'a.', '0.', ' =', ';q=', '../', '/*', '<a ', '<!--', '&amp;', 'rgb('],
];

/** What makes the beginning of a text look right, and its end wrong: an address, and one of the others in turn. */
const address = ['a@b', '@'] as const;
const frames = [
  ['', ''],
  ['', '!'],
  ['2027-01-01T09:00:00.', 'x'],
  ['Slot/', '\u0000'],
] as const;

/** The length of a text within a form or an address, in bytes. */
export const encoded = (text: string): number => encodeURIComponent(text).length;

/**
 * Hostile texts.
 *
 * @param most - how long they are about
 * @param lengthOf - how their length is measured
 */
export function hostileTexts(most: number, lengthOf = (text: string): number => text.length): string[] {
  const mixed = fc.array(fc.constantFrom(...pieces), { minLength: 2, maxLength: 8 }).map((some) => some.join(''));
  const more = FUZZ > 1 ? fc.sample(mixed, { numRuns: pieces.length * (FUZZ - 1), seed: 1 }) : [];
  return [...pieces, ...more].flatMap((piece, index) =>
    [address, frames[index % frames.length] ?? address].map(
      ([start, end]) => `${start}${piece.repeat(Math.floor((most - lengthOf(start + end)) / lengthOf(piece)))}${end}`,
    ),
  );
}

/** What was sent in this process so far, and the longest stand, in milliseconds. */
export const seen = { texts: 0, longest: 0 };

/** The longest that one text may keep everybody else waiting, in milliseconds. */
export const MAX_STAND = 200;

const ATTEMPTS = 4;

/**
 * The longest time for which nothing else could run, in milliseconds of the processor: others who keep the machine busy
 * do not count.
 */
export async function standOf(act: () => Promise<unknown>): Promise<number> {
  let [last, longest] = [process.threadCpuUsage(), 0];
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, (user + system) / 1_000);
    last = process.threadCpuUsage();
  };
  const timer = setInterval(look, 2);
  try {
    await act();
  } finally {
    clearInterval(timer);
  }
  look();
  return longest;
}

/** The shortest of several stands, if the first is too long: memory is tidied up now and then. */
export async function steadyStandOf(act: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && least >= MAX_STAND; attempt += 1) {
    least = Math.min(least, await standOf(act));
  }
  return least;
}

/** The texts over which the process stands still for too long each time. */
export async function slowTexts(texts: readonly string[], send: (text: string) => Promise<unknown>): Promise<string[]> {
  const all = async (): Promise<void> => {
    for (const text of texts) {
      await send(text);
    }
  };
  seen.texts += texts.length;
  const longest = await standOf(all);
  if (longest < MAX_STAND) {
    seen.longest = Math.max(seen.longest, longest);
    return [];
  }
  const slow: string[] = [];
  for (const text of texts) {
    const least = await steadyStandOf(() => send(text));
    if (least >= MAX_STAND) {
      slow.push(`${text.slice(0, 30)}… (${text.length} characters, ${Math.round(least)} ms)`);
    }
  }
  return slow;
}
