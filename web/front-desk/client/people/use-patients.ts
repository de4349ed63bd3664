import { useDebouncedValue } from '@mantine/hooks';
import type { Patient } from '@medplum/fhirtypes';
import { isResource } from '../../../../core/fhir/resource.ts';
import { patientQuery } from '../../appointment/patient-query.ts';
import { isRefusal } from '../../fhir/refusal.ts';
import { resourcesIn, searchTyped } from '../fhir/client.ts';
import { type Loaded, useLoaded } from '../parts/use-loaded.ts';

/** The most patients that are listed. */
const MOST_PATIENTS = 12;

/** How long somebody who types may pause before it is searched for, in milliseconds. */
const PAUSE = 50;

/**
 * The patients that a typed text means, {@link MOST_PATIENTS} at most; a search that is overtaken by the next letter ends.
 *
 * @returns `asked`: the text that they were searched for; empty if it is too short
 */
export function usePatients(text: string): Loaded<Patient[]> & { readonly asked: string } {
  const [typed] = useDebouncedValue(text.trim(), PAUSE);
  const asked = typed.length < 2 ? '' : typed;
  const loaded = useLoaded(`patients ${asked}`, async (signal) => {
    if (!asked) {
      return [];
    }
    const query = patientQuery(asked, new Date().getFullYear());
    const answer = await searchTyped('Patient', [...query, ['_count', String(MOST_PATIENTS)]], signal);
    return isRefusal(answer)
      ? answer
      : resourcesIn(answer).filter((one): one is Patient => isResource(one, 'Patient') && one.active !== false);
  });
  return { ...loaded, asked };
}
