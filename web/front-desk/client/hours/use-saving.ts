import { useState } from 'react';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import type { HoursData, HoursHolder } from '../../hours/calendars.ts';
import { create, update } from '../fhir/client.ts';
import { useAnnounce } from '../parts/announce.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { type Previews, previewChange } from './use-hours.ts';

function write(changed: HoursHolder) {
  if (changed.resourceType === 'Schedule') {
    return update('Schedule', changed);
  }
  return changed.id ? update('HealthcareService', changed) : create('HealthcareService', changed);
}

/** What `useSaving` gives. */
export type Saving = ReturnType<typeof useSaving>;

/** Shows what a change of opening hours or closed days would do, and saves it unless someone else was faster. */
export function useSaving(data: HoursData, onSaved: () => void) {
  const announce = useAnnounce();
  const { hours: words } = useTexts();
  const [previews, setPreviews] = useState<Previews>();
  const [refusal, setRefusal] = useState<Refusal>();
  const [busy, setBusy] = useState<string>();
  const preview = async (changed: HoursHolder): Promise<void> => {
    setPreviews(undefined);
    setBusy(words.looking(0, 0));
    const found = await previewChange(changed, data, (done, all) => setBusy(words.looking(done, all)));
    setBusy(undefined);
    setRefusal(isRefusal(found) ? found : undefined);
    setPreviews(isRefusal(found) ? undefined : found);
  };
  const save = async (changed: HoursHolder): Promise<boolean> => {
    setBusy(words.saving);
    const answer = await write(changed);
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
