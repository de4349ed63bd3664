import { globSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { rooms } from './rooms.ts';

const files = (pattern: string): string[] => globSync(pattern);

it.each(Object.entries(rooms))(
  'the tests of %s use nothing of Jest that mutation tests lack',
  (_name, { unit, contract }) => {
    const all = [unit, ...(contract ? [contract] : [])].flatMap(files);
    expect(all.length).toBeGreaterThan(0);
    const used = all.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\bjest\.(\w+)/g)].map(([, name]) => `${file}: ${name}`),
    );
    expect(used.filter((one) => !one.endsWith(': setTimeout'))).toEqual([]);
  },
);
