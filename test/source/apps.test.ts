/** The applications are clients of the interface like anybody's: they share `packages/web`, and know no rule of the service. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';

const MAY_IMPORT = /^(packages\/web|core\/(fhir|time))\//;

/** What no operation answers yet: the plan of an absence, the delivery to a subscriber, and previews of hours and visits. */
const UNANSWERED: readonly string[] = [
  'apps/front-desk/absence/absences.ts',
  'apps/front-desk/client/hours/visit-preview.tsx',
  'apps/front-desk/hours/preview.ts',
  'apps/front-desk/hours/visit-draft.ts',
  'apps/front-desk/notifications/deliveries.ts',
];

const files = globSync('{apps,packages/web}/**/*.{ts,tsx}', { exclude: (name) => /^(node_modules|test)$/.test(name) });

test('an application imports packages/web, core/fhir and core/time, and no other application', () => {
  const foreign = files.filter((file) => {
    const room = /^(apps\/[^/]+|packages\/web)\//.exec(file)?.[0] ?? '';
    const imports = [...readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)];
    const targets = imports.map(([, path = '']) => join(dirname(file), path));
    return targets.some((target) => !target.startsWith(room) && !MAY_IMPORT.test(target));
  });
  expect(files.length).toBeGreaterThan(150);
  expect(foreign.toSorted()).toEqual(UNANSWERED);
});
