import type { BotEvent, MedplumClient } from '@medplum/core';
import { type Changed, recordChange } from '../lib/notifications/events/deletions.ts';

/**
 * Writes the events of an appointment that was changed, for all subscribers that must know of it.
 * @param event - input: the Appointment, or `deletedResource` with it, as the Subscription delivers it
 * @throws Error when it could not be done; the Bot retry-deliveries catches up
 * @see specification section 6
 */
export const handler = (medplum: MedplumClient, { input }: BotEvent<Changed>): Promise<void> =>
  recordChange(medplum, input);
