import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { syncAppointment } from '../lib/booking/slot-sync.ts';

/**
 * Follows what clinic staff do with an appointment in Medplum: a confirmation makes its slots busy, a cancellation or
 * deletion frees them, and an appointment whose patient is gone does not stay open.
 *
 * @param event - input: the Appointment, or `deletedResource` with it, as the Subscription delivers it
 * @throws Error when it could not be done
 * @see specification section 3
 */
export async function handler(
  medplum: MedplumClient,
  { input }: BotEvent<Appointment | { deletedResource: Appointment }>,
): Promise<void> {
  await syncAppointment(medplum, 'deletedResource' in input ? input.deletedResource : input);
}
