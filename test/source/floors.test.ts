/** Who may import whom: the rooms, and the floors of core. Each floor imports what is below it. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';

const IMPORTED = /^(?:import|export)\s[^;'"]*?from\s*'(\.[^']+)'/gm;

/** From the bottom up; folders of one floor may import each other. */
const floors: readonly (readonly string[])[] = [
  ['core/fhir', 'core/time', 'core/config'],
  ['core/rows'],
  ['core/slots', 'core/calendar'],
  ['core/booking'],
  ['core/visits'],
  ['core/waitlist'],
  ['core/absence'],
  ['core/notifications', 'core/messages', 'core/person', 'core/consistency'],
];

/** What each room may import besides itself. */
const rooms = {
  core: [],
  bots: ['core'],
  gateway: ['core', 'bots', 'profiles', 'packages/web'],
  profiles: ['core'],
} as const;

const imports = globSync('{core,bots,gateway,profiles}/**/*.ts').flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(IMPORTED)].map(([, to = '']) => ({ file, to: join(dirname(file), to) })),
);
const floorOf = (file: string): number => floors.findIndex((names) => names.some((name) => file.startsWith(name)));
const isWithin = (file: string, room: string): boolean => file.startsWith(`${room}/`);
const told = (all: typeof imports) => all.map(({ file, to }) => `${file} → ${to}`);

test('core imports only downward', () => {
  const own = imports.filter(({ file }) => isWithin(file, 'core'));
  expect(own.length).toBeGreaterThan(500);
  expect(
    told(own.filter(({ file, to }) => floorOf(file) < 0 || floorOf(to) < 0 || floorOf(to) > floorOf(file))),
  ).toEqual([]);
});

test.each(Object.entries(rooms))('%s imports itself and its rooms alone', (room, others) => {
  const own = imports.filter(({ file }) => isWithin(file, room));
  expect(told(own.filter(({ to }) => ![room, ...others].some((other) => isWithin(to, other))))).toEqual([]);
});

test('no Bot imports a Bot', () => {
  const isBot = (file: string): boolean => isWithin(file, 'bots') && !isWithin(file, 'bots/lib');
  expect(told(imports.filter(({ to }) => isBot(to)).filter(({ file }) => isWithin(file, 'bots')))).toEqual([]);
});
