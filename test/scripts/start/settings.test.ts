import { expect, test } from '@jest/globals';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { forPort, portsFrom } from '../../../scripts/start/settings.ts';

test.each(['x', '0', '70000', '80.5'])('PORT=%s is refused by name', (value) => {
  expect(() => portsFrom({ PORT: value })).toThrow(/^PORT must be a port/);
});

test('the base address is on this machine, whatever address the real gateway has', () => {
  const local = resolveConfig({ baseUrl: 'http://localhost:8080/fhir/R4' });
  const real = resolveConfig({ baseUrl: 'https://clinic.example/fhir/R4' });
  expect(forPort(local, 9000).baseUrl).toBe('http://localhost:9000/fhir/R4');
  expect(forPort(real, 9000).baseUrl).toBe('http://localhost:9000/fhir/R4');
});
