import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { mayBecome, statuses } from '../../core/booking/appointment/status.ts';

const page = readFileSync('docs/portals.md', 'utf8');

const statusesIn = (cell = ''): string[] => [...cell.matchAll(/`([a-z-]+)`/g)].map(([, status]) => status ?? '');

/** The changes of status that the page's table promises: `from to who`. */
function promised(): string[] {
  const [table = ''] = page.slice(page.indexOf('| from ')).split('\n\n');
  return table
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .flatMap(([, from, to, portal, clinic]) => {
      const who = [...(portal === 'yes' ? ['requestor'] : []), ...(clinic === 'yes' ? ['staff'] : [])];
      return statusesIn(from).flatMap((one) =>
        statusesIn(to).flatMap((other) => who.map((by) => `${one} ${other} ${by}`)),
      );
    })
    .sort();
}

test('the table of status changes matches the rules', () => {
  const allowed = statuses.flatMap((from) =>
    statuses.flatMap((to) =>
      (['requestor', 'staff'] as const)
        .filter((by) => mayBecome({ status: from }, to, by))
        .map((by) => `${from} ${to} ${by}`),
    ),
  );
  expect(promised()).toEqual(allowed.sort());
});
