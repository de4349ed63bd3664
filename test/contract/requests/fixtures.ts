import type { Appointment, Task } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { eventually } from '../../lib/until.ts';
import { aClinic, book, proposed, stored, succeeded } from '../fixtures.ts';
import { medplum } from '../http.ts';
import { config, type Role } from '../installation.ts';
import { length, policy } from '../policy/fixtures.ts';
import { byHand } from '../status/fixtures.ts';

/** What makes a schedule one that the clinic confirms by hand within a time. */
export const byHandWithin = (value: number, code: string) => ({
  extension: [...byHand.extension, ...policy(length('confirmWithin', value, code)).extension],
});

/** Until when an appointment has to be confirmed. */
export const deadlineIn = ({ extension }: Appointment): string | undefined =>
  extension?.find(({ url }) => url === artefactUri(config, 'LocalConfirmationDeadline'))?.valueInstant;

const code = `${artefactUri(config, 'LocalTask')}|confirm`;

/** The Tasks of a request, as staff find them. */
export const tasksOf = (id: string | undefined): Promise<Task[]> =>
  stored('Task', `code=${encodeURIComponent(code)}&focus=Appointment/${id}`);

/** A request that the clinic has to confirm within a time. */
export async function aRequest(value: number, unit: string, role: Role = 'portal-a') {
  const clinic = await aClinic(byHandWithin(value, unit));
  const pending = succeeded('Appointment', await book(proposed(clinic.patient, [clinic.slot]), role));
  return { ...clinic, pending, id: pending.id ?? '' };
}

/** Waits until the deadline of a request is over. */
export const over = (pending: Appointment) =>
  eventually(() => Date.now()).is((now) => now > Date.parse(deadlineIn(pending) ?? ''));

/** Starts the Bot that Medplum's clock starts each minute. */
export async function runBot(
  name: 'end-requests' | 'reconcile' | 'remove-old-events' | 'retry-deliveries',
): Promise<void> {
  const identifier = encodeURIComponent(`${artefactUri(config, 'LocalBot')}|${name}`);
  const { status, text } = await medplum('admin', 'POST', `/Bot/$execute?identifier=${identifier}`, { body: {} });
  if (status !== 200) {
    throw new Error(`${name} has failed (${status}): ${text.slice(0, 600)}`);
  }
}
