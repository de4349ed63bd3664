import { globSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { roomOf, rooms, testsOf } from './rooms.ts';

it.each(rooms)('the tests of %s use nothing of Jest that mutation tests lack', (room) => {
  const files = globSync(testsOf(room));
  expect(files).not.toEqual([]);
  const used = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\bjest\.(\w+)/g)].map(([, name]) => `${file}: ${name}`),
  );
  expect(used.filter((one) => !one.endsWith(': setTimeout'))).toEqual([]);
});

it('a folder of a room belongs to it', () => {
  expect(['core/booking', 'core/booking/patch', 'core/book', 'kitchen'].map(roomOf)).toEqual([
    'core/booking',
    'core/booking',
    undefined,
    undefined,
  ]);
});
