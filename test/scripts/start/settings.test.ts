import { expect, test } from '@jest/globals';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { forPort, portsFrom, sandboxOptionsFrom, unsealedFrom } from '../../../scripts/start/settings.ts';

test('the ports are 8080 and 8103 unless the environment says otherwise', () => {
  expect(portsFrom({})).toEqual({ gateway: 8080, medplum: 8103 });
  expect(portsFrom({ PORT: '9000', MEDPLUM_PORT: '9001' })).toEqual({ gateway: 9000, medplum: 9001 });
});

test.each(['x', '0', '70000', '80.5'])('PORT=%s is refused by name', (value) => {
  expect(() => portsFrom({ PORT: value })).toThrow(/^PORT must be a port/);
});

test('the base address is on this machine, whatever address the real gateway has', () => {
  const local = resolveConfig({ baseUrl: 'http://localhost:8080/fhir/R4' });
  const real = resolveConfig({ baseUrl: 'https://clinic.example/fhir/R4' });
  expect(forPort(local, 9000).baseUrl).toBe('http://localhost:9000/fhir/R4');
  expect(forPort(real, 9000).baseUrl).toBe('http://localhost:9000/fhir/R4');
});

test('the embedded Medplum is as it is unless the environment says otherwise', () => {
  const environment = { SANDBOX_DATA: 'd', SANDBOX_BOT_BASE_URL: 'http://localhost:1/', SANDBOX_DELAY_SCALE: '0.5' };
  expect(sandboxOptionsFrom({})).toEqual({ delayScale: 1 });
  expect(sandboxOptionsFrom(environment)).toEqual({
    dataFolder: 'd',
    botBaseUrl: 'http://localhost:1/',
    delayScale: 0.5,
  });
  expect(() => sandboxOptionsFrom({ SANDBOX_DELAY_SCALE: 'slow' })).toThrow(/^SANDBOX_DELAY_SCALE must be/);
});

test('the fixed tokens of portals are taken unless the environment says that all are sealed', () => {
  expect(['', 'both', 'sealed'].map((value) => unsealedFrom({ PORTAL_CREDENTIALS: value }))).toEqual([
    'accepted',
    'accepted',
    'refused',
  ]);
  expect(unsealedFrom({})).toBe('accepted');
  expect(() => unsealedFrom({ PORTAL_CREDENTIALS: 'medplum' })).toThrow(/^PORTAL_CREDENTIALS must be sealed or both/);
});
