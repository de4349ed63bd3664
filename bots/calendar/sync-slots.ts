import type { BotEvent, MedplumClient } from '@medplum/core';
import { versionsUrl } from '../lib/booking/appointment-slots.ts';
import { relatedSearches } from '../lib/booking/related-reads.ts';
import { syncAppointment } from '../lib/booking/slot-sync.ts';
import { type Changed, recordChange } from '../lib/notifications/events/deletions.ts';
import { openRowsFor } from '../lib/notifications/outbox-store.ts';
import { readAhead } from '../lib/read.ts';
import { carryOut } from '../lib/rows.ts';
import { checkVisit } from '../lib/visits/affected-visits.ts';

/**
 * Follows what clinic staff do with an appointment in Medplum: a confirmation makes its slots busy, a cancellation or
 * deletion frees them, and an appointment whose patient is gone does not stay open. Its subscribers are notified in the
 * same run: to start another Bot would cost more than to read their Subscriptions.
 * @param event - input: the Appointment, or `deletedResource` with it, as the Subscription delivers it
 * @throws Error when one of the two could not be done
 * @see specification section 3
 */
export async function handler(client: MedplumClient, { input }: BotEvent<Changed>): Promise<void> {
  const appointment = 'deletedResource' in input ? input.deletedResource : input;
  const medplum = await readAhead(client, [
    ...relatedSearches(appointment.id ?? ''),
    versionsUrl(appointment),
    openRowsFor(appointment),
  ]);
  // A call with only an id repairs the slots: without a change, nobody is notified.
  const isChange = appointment.meta !== undefined;
  // The events come last: the Slots of a moved appointment belong to the same event.
  const acts = [
    () => syncAppointment(medplum, appointment),
    () => recordChange(medplum, input),
    () => checkVisit(medplum, appointment),
  ];
  await carryOut(isChange ? acts : acts.slice(0, 1), Number.POSITIVE_INFINITY);
}
