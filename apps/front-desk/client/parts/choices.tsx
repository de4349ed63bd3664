import { Checkbox, Stack } from '@mantine/core';
import type { Schedule } from '@medplum/fhirtypes';
import { titleOf } from '../../day/queries.ts';

/** A list of calendars to choose from. */
export function Choices({
  schedules,
  label,
  chosen,
  onChoose,
}: {
  readonly schedules: readonly Pick<Schedule, 'id' | 'actor'>[];
  readonly label: string;
  readonly chosen: readonly string[];
  readonly onChoose: (ids: string[]) => void;
}) {
  return (
    <Checkbox.Group label={label} value={[...chosen]} onChange={onChoose}>
      <Stack gap={6} mt={6} className="choices">
        {schedules.map((schedule) => (
          <Checkbox key={schedule.id} value={schedule.id ?? ''} label={titleOf(schedule)} />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}
