import { Button, Group } from '@mantine/core';
import type { Alternative } from '../../../../packages/web/refusal.ts';
import { momentText } from '../parts/format.ts';
import { useTexts } from '../parts/use-texts.ts';

/** The times that the service proposes in place of a refused one. */
export function Alternatives({
  alternatives,
  isBusy,
  onTake,
}: {
  readonly alternatives: readonly Alternative[];
  readonly isBusy: boolean;
  readonly onTake: (alternative: Alternative) => void;
}) {
  const { language, booking: words } = useTexts();
  return alternatives.length === 0 ? null : (
    <div>
      <p>{words.alternatives}</p>
      <Group gap="xs">
        {alternatives.map((alternative) => (
          <Button
            key={`${alternative.slot} ${alternative.start}`}
            variant="default"
            size="xs"
            loading={isBusy}
            onClick={() => onTake(alternative)}
          >
            {words.take(momentText(alternative.start, language))}
          </Button>
        ))}
      </Group>
    </div>
  );
}
