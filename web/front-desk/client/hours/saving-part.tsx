import { Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import type { HoursData } from '../../../../core/calendar/opening-hours.ts';
import { Problem } from '../parts/problem.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { PreviewList } from './preview-list.tsx';
import type { Saving } from './use-saving.ts';

/** The end of a form about hours: what is wrong, what a change would do, and saving it. */
export function SavingPart({
  saving: { refusal, busy, previews },
  data,
  missing,
  save,
  onShow,
  onReload,
}: {
  readonly saving: Saving;
  readonly data: HoursData;
  /** What is not filled in yet. */
  readonly missing: string | false;
  /** The label of the button that saves. */
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
