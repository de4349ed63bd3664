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
 * The active patients that a typed text means, {@link MOST_PATIENTS} at most; a search that is overtaken by the next letter
 * ends.
 *
 * @returns `asked`: the text that they were searched for; empty if it is too short. `isMore`: whether there are more
 */
export function usePatients(text: string): Loaded<Patient[]> & { readonly asked: string; readonly isMore: boolean } {
  const [typed] = useDebouncedValue(text.trim(), PAUSE);
  const asked = typed.length < 2 ? '' : typed;
  const loaded = useLoaded(`patients ${asked}`, async (signal) => {
    if (!asked) {
      return [];
    }
    const query = patientQuery(asked, new Date().getFullYear());
    const more = [
      ['active:not', 'false'],
      ['_count', String(MOST_PATIENTS + 1)],
    ] as const;
    const answer = await searchTyped('Patient', [...query, ...more], signal);
    return isRefusal(answer) ? answer : resourcesIn(answer).filter((one) => isResource(one, 'Patient'));
  });
  const { value } = loaded;
  return { ...loaded, value: value?.slice(0, MOST_PATIENTS), asked, isMore: (value?.length ?? 0) > MOST_PATIENTS };
}
