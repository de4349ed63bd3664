import { expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { botSource } from '../../../core/config/bots.ts';
import { bundleBot } from '../../../scripts/build/bots.ts';
import { config, patient, stored } from '../../core/booking/change.cases.ts';
import { compile, run } from '../server.ts';

it('a slot that staff take while the service gives it back stays theirs', async () => {
  const appointment: Appointment = { ...stored, status: 'cancelled', slot: [{ reference: 'Slot/1' }] };
  const slot: Slot = {
    resourceType: 'Slot',
    id: '1',
    schedule: { reference: 'Schedule/1' },
    status: 'busy',
    start: '2031-01-06T08:00:00.000Z',
    end: '2031-01-06T08:30:00.000Z',
    identifier: [{ system: 'https://example.org/fhir/NamingSystem/LocalSlotOrigin', value: '1' }],
  };
  let reads = 0;
  const byStaff = { ...slot, meta: { author: { reference: 'Practitioner/staff' } } };
  const server = {
    appointment,
    patients: [patient],
    written: [],
    get slots() {
      reads += 1;
      return [reads === 1 ? slot : byStaff];
    },
  };
  const script = compile(await bundleBot(botSource('sync-slots'), config));
  // The history that would tell when it was given back cannot be read here.
  await expect(run(script, { input: appointment }, server)).rejects.toThrow('could not be read');
  expect(server.written).toEqual([]);
});
