import { execFileSync } from 'node:child_process';
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

test.each(['booking-gateway', 'booking-metrics'])('systemd takes the unit %s, which starts what there is', (name) => {
  const unit = readFileSync(`docs/operations/${name}.service`, 'utf8').replaceAll(
    '/opt/appointment-booking',
    process.cwd(),
  );
  const script = /^ExecStart=\S+ (\S+)$/m.exec(unit)?.[1] ?? '';
  expect(readFileSync(script, 'utf8')).toContain('runAsProgram');
  const file = join(folder, `${name}.service`);
  writeFileSync(file, unit);
  expect(run('systemd-analyze', 'verify', '--man=no', file)).toBe('');
});
