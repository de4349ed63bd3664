import type { HealthcareService } from '@medplum/fhirtypes';
import { useState } from 'react';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import type { HoursData } from '../../hours/calendars.ts';
import { create, update } from '../fhir/client.ts';
import { useAnnounce } from '../parts/announce.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { type Previews, previewChange } from './use-hours.ts';

/** Shows what a change of opening hours or closed days would do, and saves it if nobody was faster. */
export function useSaving(data: HoursData, isClosedDays: boolean, onSaved: () => void) {
  const announce = useAnnounce();
  const { hours: words } = useTexts();
  const [previews, setPreviews] = useState<Previews>();
  const [refusal, setRefusal] = useState<Refusal>();
  const [busy, setBusy] = useState<string>();
  const preview = async (changed: HealthcareService): Promise<void> => {
    setPreviews(undefined);
    setBusy(words.looking(0, 0));
    const found = await previewChange(changed, data, isClosedDays, (done, all) => setBusy(words.looking(done, all)));
    setBusy(undefined);
    setRefusal(isRefusal(found) ? found : undefined);
    setPreviews(isRefusal(found) ? undefined : found);
  };
  const save = async (changed: HealthcareService): Promise<boolean> => {
    setBusy(words.saving);
    const answer = changed.id ? await update('HealthcareService', changed) : await create('HealthcareService', changed);
    setBusy(undefined);
    setRefusal(isRefusal(answer) ? answer : undefined);
    if (isRefusal(answer)) {
      return false;
    }
    setPreviews(undefined);
    announce(words.saved);
    onSaved();
    return true;
  };
  return { previews, refusal, busy, preview, save, forget: () => setPreviews(undefined) };
}
