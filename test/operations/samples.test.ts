import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';

const folder = mkdtempSync(join(tmpdir(), 'booking-operations-'));
afterAll(() => rmSync(folder, { recursive: true }));

const run = (program: string, ...options: string[]): string => execFileSync(program, options, { encoding: 'utf8' });

test('Prometheus reads its configuration and the rules', () => {
  expect(run('promtool', 'check', 'config', 'docs/operations/prometheus.yml')).toContain('SUCCESS');
});

test('alerts fire when they should, and not before', () => {
  expect(run('promtool', 'test', 'rules', 'test/operations/rules.test.yml')).toContain('SUCCESS');
});

/** A dashboard as far as this test changes it. */
interface Sample {
  panels: { type: string; fieldConfig: { defaults: object }; targets: { expr: string }[] }[];
}

const readDashboard = (): Sample => JSON.parse(readFileSync('docs/operations/grafana-dashboard.json', 'utf8'));

/** What the compiler has against a dashboard, by the types that Grafana publishes of the JSON that it imports. */
function problemsOf(dashboard: object): string {
  const project = mkdtempSync(join(folder, 'dashboard-'));
  const schema = join(process.cwd(), 'node_modules/@grafana/schema');
  const compilerOptions = {
    ...{ noEmit: true, strict: true, skipLibCheck: true, types: [], lib: ['es2024'] },
    ...{ module: 'esnext', moduleResolution: 'bundler', paths: { '@grafana/schema': [schema] } },
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['dashboard.ts'] }));
  writeFileSync(
    join(project, 'dashboard.ts'),
    `import type { Dashboard } from '@grafana/schema';\nexport const it: Dashboard = ${JSON.stringify(dashboard)};\n`,
  );
  const { stdout } = spawnSync('node_modules/.bin/tsc', ['-p', project], { encoding: 'utf8' });
  return stdout;
}

test('the dashboard is one by the types of Grafana', () => {
  expect(problemsOf(readDashboard())).toBe('');
  const [first, ...others] = readDashboard().panels;
  const broken = { ...readDashboard(), panels: [{ ...first, fieldConfig: { defaults: { uint: 's' } } }, ...others] };
  expect(problemsOf(broken)).toContain('"uint"');
  expect(problemsOf({ ...readDashboard(), schemaVersion: 'x' })).toContain(
    "'string' is not assignable to type 'number'",
  );
});

test('Prometheus understands every query of the dashboard', () => {
  const queries = readDashboard().panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  expect(queries.length).toBeGreaterThan(5);
  const rules = queries.map((expr, index) => ({ record: `query:${index}`, expr }));
  const file = join(folder, 'queries.yml');
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  expect(run('promtool', 'check', 'rules', file)).toContain('SUCCESS');
});

test.each(['booking-gateway', 'booking-metrics'])('systemd takes the unit %s, which starts what there is', (name) => {
  const unit = readFileSync(`docs/operations/${name}.service`, 'utf8').replaceAll(
    '/opt/appointment-booking',
    process.cwd(),
  );
  const script = /^ExecStart=\S+ (\S+)/m.exec(unit)?.[1] ?? '';
  expect(readFileSync(script, 'utf8')).toContain('runAsProgram');
  const file = join(folder, `${name}.service`);
  writeFileSync(file, unit);
  expect(run('systemd-analyze', 'verify', '--man=no', file)).toBe('');
});
