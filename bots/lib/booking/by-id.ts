import type { MedplumClient } from '@medplum/core';
import type { Patients } from '../../../core/booking/appointment/change.ts';
import { unknownSurvivors } from '../../../core/booking/appointment/patient-change.ts';
import { isOpen } from '../../../core/booking/appointment/status.ts';
import { timeOf } from '../../../core/fhir/instant.ts';
import { byId } from '../../../core/rows/resource-set.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { ofType, readByIds } from '../read.ts';

/**
 * Reads appointments by id and returns the times of those that are open, by id.
 *
 * @throws ReadError when the server could not be read
 */
export async function readOpenTimes(medplum: MedplumClient, ids: readonly string[]): Promise<Map<string, Interval>> {
  return new Map(
    ofType('Appointment', await readByIds(medplum, 'Appointment', ids)).flatMap((appointment): [string, Interval][] => {
      const time = isOpen(appointment) ? timeOf(appointment) : undefined;
      return appointment.id && time ? [[appointment.id, time]] : [];
    }),
  );
}

/**
 * Adds the successor patients of merged patients, over several merges.
 *
 * @throws ReadError when the server could not be read
 */
export async function readSurvivors(medplum: MedplumClient, known: Patients): Promise<Patients> {
  let patients = known;
  const asked = new Set(known.keys());
  for (;;) {
    const unknown = unknownSurvivors(patients).filter((id) => !asked.has(id));
    if (unknown.length === 0) {
      return patients;
    }
    patients = new Map([...patients, ...byId(ofType('Patient', await readByIds(medplum, 'Patient', unknown)))]);
    for (const id of unknown) {
      asked.add(id);
    }
  }
}
