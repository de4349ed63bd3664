import { useState } from 'react';
import type { HoursData, HoursHolder } from '../../../../core/calendar/opening-hours.ts';
import type { Refusal } from '../../fhir/refusal.ts';
import { create, update } from '../fhir/client.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { type Previews, previewChange } from './use-hours.ts';

function write(changed: HoursHolder): Promise<HoursHolder | Refusal> {
  if (changed.resourceType === 'Schedule') {
    return update('Schedule', changed);
  }
  return changed.id ? update('HealthcareService', changed) : create('HealthcareService', changed);
}

/** What `useSaving` gives. */
export type Saving = ReturnType<typeof useSaving>;

/** Shows what a change of opening hours or closed days would do, and saves it unless someone else was faster. */
export function useSaving(data: HoursData, onSaved: () => void) {
  const { hours: words } = useTexts();
  const [previews, setPreviews] = useState<Previews>();
  const [progress, setProgress] = useState('');
  const { submit, refusal, isBusy } = useSubmit();
  const preview = async (changed: HoursHolder): Promise<void> => {
    setPreviews(undefined);
    setProgress(words.looking(0, 0));
    setPreviews(await submit(() => previewChange(changed, data, (done, all) => setProgress(words.looking(done, all)))));
  };
  const save = async (changed: HoursHolder): Promise<boolean> => {
    setProgress(words.saving);
    const answer = await submit(() => write(changed), words.saved);
    if (answer) {
      setPreviews(undefined);
      onSaved();
    }
    return answer !== undefined;
  };
  return {
    previews,
    refusal,
    busy: isBusy ? progress : undefined,
    preview,
    save,
    forget: () => setPreviews(undefined),
  };
}
