import { useDebouncedValue } from '@mantine/hooks';
import type { Patient, RelatedPerson } from '@medplum/fhirtypes';
import { isResource } from '../../../../core/fhir/resource.ts';
import { isMeant, type PatientQuery, patientQueries, widerQuery } from '../../appointment/patient-query.ts';
import { guardiansIn } from '../../appointment/people.ts';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { resourcesIn, searchTyped } from '../fhir/client.ts';
import { type Loaded, useLoaded } from '../parts/use-loaded.ts';

const MAX_PATIENTS = 12;

/** Maximum number of patients in a search for names that no usual spelling finds. */
const LOOKED_THROUGH = 500;

/** Pause in typing before a search, in milliseconds. */
const PAUSE = 50;

/** A patient, with the people who act for them. */
export interface FoundPatient {
  readonly patient: Patient & { readonly id: string };
  readonly guardians: readonly RelatedPerson[];
}

async function searched(query: PatientQuery, count: number, signal: AbortSignal): Promise<unknown[] | Refusal> {
  const more = [
    ['active:not', 'false'],
    ['_revinclude', 'RelatedPerson:patient'],
    ['_count', String(count)],
  ] as const;
  const response = await searchTyped('Patient', [...query, ...more], signal);
  return isRefusal(response) ? response : resourcesIn(response);
}

async function spokenFor(query: PatientQuery, signal: AbortSignal): Promise<unknown[] | Refusal> {
  const more = [
    ['_include', 'RelatedPerson:patient'],
    ['_count', String(MAX_PATIENTS + 1)],
  ] as const;
  const response = await searchTyped('RelatedPerson', [...query, ...more], signal);
  return isRefusal(response) ? response : resourcesIn(response);
}

const isContact = (query: PatientQuery): boolean => query.every(([name]) => name.endsWith(':contains'));

/** The active patients that a typed text matches. */
export async function patientsFor(text: string, signal: AbortSignal): Promise<FoundPatient[] | Refusal> {
  const year = new Date().getFullYear();
  const queries = patientQueries(text, year);
  const responses = await Promise.all([
    ...queries.map((query) => searched(query, MAX_PATIENTS + 1, signal)),
    ...queries.filter(isContact).map((query) => spokenFor(query, signal)),
  ]);
  const refusal = responses.find((one): one is Refusal => isRefusal(one));
  if (refusal) {
    return refusal;
  }
  const found = foundIn(responses.flat());
  const wider = found.length === 0 ? widerQuery(text, year) : undefined;
  if (!wider) {
    return found;
  }
  const more = await searched(wider, LOOKED_THROUGH, signal);
  return isRefusal(more) ? more : foundIn(more).filter(({ patient }) => isMeant(patient, text));
}

function foundIn(resources: readonly unknown[]): FoundPatient[] {
  const patients = resources
    .filter((one) => isResource(one, 'Patient'))
    .filter(({ active }) => active !== false)
    .flatMap((patient) => (patient.id ? { ...patient, id: patient.id } : []));
  const unique = [...new Map(patients.map((one) => [one.id, one])).values()];
  return unique.map((patient) => ({ patient, guardians: guardiansIn(resources, patient.id) }));
}

/** At most {@link MAX_PATIENTS} active patients for a typed text. `asked`: the searched text; empty if too short. */
export function usePatients(
  text: string,
): Loaded<FoundPatient[]> & { readonly asked: string; readonly isMore: boolean } {
  const [typed] = useDebouncedValue(text.trim(), PAUSE);
  const asked = typed.length < 2 ? '' : typed;
  const loaded = useLoaded(`patients ${asked}`, async (signal) => (asked ? patientsFor(asked, signal) : []));
  const { value } = loaded;
  return { ...loaded, value: value?.slice(0, MAX_PATIENTS), asked, isMore: (value?.length ?? 0) > MAX_PATIENTS };
}
