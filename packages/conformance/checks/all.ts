import type { Check } from '../check.ts';
import { acceptedChecks } from './booking/accepted.ts';
import { asynchronousChecks } from './booking/asynchronous.ts';
import { refusedChecks } from './booking/refused.ts';
import { resubmissionChecks } from './booking/resubmission.ts';
import { changingChecks, patientChecks } from './changing.ts';
import { discoveryChecks } from './discovery.ts';
import { eventChecks } from './events.ts';
import { masterDataChecks } from './master-data.ts';
import { metadataChecks } from './metadata.ts';
import { readingChecks } from './reading.ts';

/** All checks by area, in the order of execution. */
export const areas = {
  Metadata: metadataChecks,
  Discovery: discoveryChecks,
  Patients: patientChecks,
  Booking: [...acceptedChecks, ...refusedChecks, ...resubmissionChecks],
  'Asynchronous booking': asynchronousChecks,
  'Updates and cancellations': changingChecks,
  'Reading and searching': readingChecks,
  'Patients and encounters': masterDataChecks,
  'Subscriptions and events': eventChecks,
} as const satisfies Record<string, readonly Check[]>;

export const allChecks: readonly Check[] = Object.values(areas).flat();
