import type { Appointment } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../../core/fhir/artefacts.ts';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { changedBy } from '../../../core/fhir/tags.ts';

/** One step of an appointment's history. */
export interface Step {
  readonly version: string;
  /** Milliseconds since 1970 UTC. */
  readonly at: number | undefined;
  /** Id of the author, if known. */
  readonly by: string | undefined;
  readonly status: Appointment['status'];
  /** `made` is the first version; `changed` is neither a new status nor a new time. */
  readonly what: 'made' | 'status' | 'moved' | 'changed';
  readonly appointment: Appointment;
}

function whatChanged(appointment: Appointment, before: Appointment | undefined): Step['what'] {
  if (!before) {
    return 'made';
  }
  if (appointment.start !== before.start || appointment.end !== before.end) {
    return 'moved';
  }
  return appointment.status === before.status ? 'changed' : 'status';
}

/** The history of an appointment, the newest step first. `versions`: all known ones, the newest first. */
export function historyOf(versions: readonly Appointment[], config: PublicConfig): Step[] {
  return versions.map((appointment, index) => {
    const before = versions[index + 1];
    const { meta, status } = appointment;
    return {
      version: meta?.versionId ?? String(index),
      at: parseInstant(meta?.lastUpdated),
      by: changedBy(meta, before?.meta?.versionId, config),
      status,
      what: whatChanged(appointment, before),
      appointment,
    };
  });
}
