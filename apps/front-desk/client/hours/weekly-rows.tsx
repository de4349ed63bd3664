import { Button, Chip, Group, TextInput } from '@mantine/core';
import type { WeeklyRow } from '../../../../core/time/weekly-rows.ts';
import { weekdays } from '../../../../core/time/weekly-rows.ts';
import { useTexts } from '../parts/use-texts.ts';

function Row({
  row,
  number,
  onChange,
  onRemove,
}: {
  readonly row: WeeklyRow;
  readonly number: number;
  readonly onChange: (row: WeeklyRow) => void;
  readonly onRemove: () => void;
}) {
  const { hours: words } = useTexts();
  return (
    <fieldset className="weekly">
      <legend>{words.line(number)}</legend>
      <Chip.Group
        multiple
        value={[...row.days]}
        onChange={(days) => onChange({ ...row, days: weekdays.filter((day) => days.includes(day)) })}
      >
        <Group gap={4}>
          {weekdays.map((day) => (
            <Chip key={day} value={day} size="sm">
              {words.weekday[day]}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
      <Group gap="xs" align="end">
        {(['start', 'end'] as const).map((name) => (
          <TextInput
            key={name}
            type="time"
            required
            label={words[name]}
            value={row[name]}
            onChange={(event) => onChange({ ...row, [name]: event.currentTarget.value })}
          />
        ))}
        <Button variant="default" onClick={onRemove}>
          {words.remove(number)}
        </Button>
      </Group>
    </fieldset>
  );
}

/** Weekly hours, line by line. */
export function WeeklyRows({
  rows,
  onChange,
}: {
  readonly rows: readonly WeeklyRow[];
  readonly onChange: (rows: readonly WeeklyRow[]) => void;
}) {
  const { hours: words } = useTexts();
  return (
    <>
      {rows.length === 0 && <p>{words.never}</p>}
      {rows.map((row, index) => (
        <Row
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other key.
          key={index}
          row={row}
          number={index + 1}
          onChange={(weeklyRow) => onChange(rows.map((other, at) => (at === index ? weeklyRow : other)))}
          onRemove={() => onChange(rows.filter((_, at) => at !== index))}
        />
      ))}
      <div>
        <Button variant="default" onClick={() => onChange([...rows, { days: [], start: '09:00', end: '12:00' }])}>
          {words.add}
        </Button>
      </div>
    </>
  );
}
