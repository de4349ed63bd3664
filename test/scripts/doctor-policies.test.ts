import { expect, test } from '@jest/globals';
import type { Extension, HealthcareService, Schedule } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { assessPolicies } from '../../scripts/doctor/policies.ts';
import { config } from './installation.ts';

const length = (url: string, value: number): Extension => ({ url, valueDuration: { value, code: 'h' } });

const policy = (...extension: Extension[]) => ({
  extension: [{ url: artefactUri(config, 'LocalBookingPolicy'), extension }],
});

const service = (more: object = {}): HealthcareService => ({ resourceType: 'HealthcareService', id: 'ct', ...more });

const schedule = (more: object = {}): Schedule => ({
  resourceType: 'Schedule',
  id: 'room',
  actor: [{ reference: 'HealthcareService/ct' }],
  ...more,
});

const assess = (schedules: Schedule[], services: HealthcareService[]) =>
  assessPolicies({ schedules, services }, { config });

test('a policy that cannot be read is named with its path', () => {
  const result = assess([schedule(policy(length('leadTime', -1)))], [service()]);
  expect(result).toMatchObject({ level: 'error', help: expect.stringContaining('LocalBookingPolicy') });
  expect(result.found).toContain(
    'Schedule/room (Schedule.extension[0].extension[0].value: leadTime must be a valueDuration',
  );
});

test('policies of a schedule and its service that contradict each other', () => {
  const result = assess([schedule(policy(length('window', 1)))], [service(policy(length('leadTime', 2)))]);
  expect(result.level).toBe('error');
  expect(result.found).toContain('Schedule/room (leadTime of HealthcareService/ct, window of Schedule/room)');
});
