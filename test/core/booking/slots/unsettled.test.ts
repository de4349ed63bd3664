import { expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { isOutOfSync } from '../../../../core/booking/slots/synchronize.ts';
import { appointment, slot } from '../support.ts';

it.each<[Appointment['status'], Slot['status'], boolean]>([
  ['booked', 'busy', false],
  ['booked', 'busy-tentative', true],
  ['booked', 'free', true],
  ['pending', 'busy-tentative', false],
  ['pending', 'free', true],
  ['pending', 'busy', false],
  ['fulfilled', 'busy', false],
  ['proposed', 'free', false],
  ['cancelled', 'free', false],
  ['cancelled', 'busy', true],
  ['cancelled', 'busy-tentative', true],
  ['cancelled', 'entered-in-error', false],
])('%s on a slot that is %s: unsettled is %s', (status, slotStatus, expected) => {
  const slots = new Map([['nine', slot('nine', '09:00', '09:30', { status: slotStatus })]]);
  expect(isOutOfSync(appointment({ status }), slots)).toBe(expected);
});
