import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const style = readFileSync('apps/portal/client/style.css', 'utf8');

test('all colours are there in browsers of 2023, light and dark', () => {
  expect(style).not.toMatch(/light-dark\(.*\)[;,]|color-mix\(|oklch\(/);
  const [light = '', dark = ''] = [...style.matchAll(/:root \{([^}]*)\}/g)].map(([, values = '']) => values);
  const namesIn = (values: string): string[] => [...values.matchAll(/(--[a-z-]+): #/g)].map(([, name = '']) => name);
  expect(namesIn(light).length).toBeGreaterThan(10);
  expect(namesIn(dark)).toEqual(namesIn(light));
});
