import { Button, Group } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { HoursData, HoursHolder } from '../../../../core/fhir/scheduling/hours-data.ts';
import type { Refusal } from '../../fhir/refusal.ts';
import { create, update } from '../fhir/client.ts';
import { Problem } from '../parts/problem.tsx';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { PreviewList } from './preview-list.tsx';
import { type Previews, previewChange } from './use-hours.ts';

function write(changed: HoursHolder): Promise<HoursHolder | Refusal> {
  if (changed.resourceType === 'Schedule') {
    return update('Schedule', changed);
  }
  return changed.id ? update('HealthcareService', changed) : create('HealthcareService', changed);
}

/** Previews a change of opening hours or closed days, and saves it unless somebody else was faster. */
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

/** The end of a form about hours: problems, preview and saving. */
export function SavingPart({
  saving: { refusal, busy, previews },
  data,
  missing,
  save,
  onShow,
  onReload,
}: {
  readonly saving: ReturnType<typeof useSaving>;
  readonly data: HoursData;
  readonly missing: string | false;
  readonly save: ReactNode;
  readonly onShow: () => void;
  readonly onReload: () => void;
}) {
  const { hours: words } = useTexts();
  return (
    <>
      {missing && <p role="alert">{missing}</p>}
      {refusal && <Problem refusal={refusal} onReload={onReload} />}
      <Group gap="xs">
        <Button variant="default" loading={busy !== undefined} onClick={onShow}>
          {words.show}
        </Button>
        <Button type="submit" loading={busy !== undefined}>
          {save}
        </Button>
        <span role="status">{busy}</span>
      </Group>
      {previews && <PreviewList previews={previews} data={data} />}
    </>
  );
}
