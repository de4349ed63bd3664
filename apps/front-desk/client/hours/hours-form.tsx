import { Button, Group, Stack, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { HoursData, HoursHolder } from '../../../../core/fhir/scheduling/hours-data.ts';
import { areSame, type Doubt, doubtsIn, type WeeklyRow } from '../../../../core/time/weekly-rows.ts';
import { type LengthName, lengthNames } from '../../hours/lengths.ts';
import { Form } from '../parts/form.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { useTexts } from '../parts/use-texts.ts';
import { SavingPart, useSaving } from './saving.tsx';

interface HoursDraft {
  readonly rows: readonly WeeklyRow[];
}

interface HoursFormOptions<Draft extends HoursDraft> {
  /** Key of the draft. */
  readonly name: string;
  readonly stored: Draft;
  readonly data: HoursData;
  readonly onSaved: () => void;
  /** The typed hours as they would be stored; `undefined` if something is missing. */
  readonly changed: (draft: Draft) => HoursHolder | undefined;
}

/** The state of an hours form. Typed hours are kept until they are saved; a preview is shown until they change. */
export function useHoursForm<Draft extends HoursDraft>({
  name,
  stored,
  data,
  onSaved,
  changed,
}: HoursFormOptions<Draft>) {
  const { draft, change, clear, reset, isTyped } = useDraft(`hours ${name}`, stored);
  const [isMissing, setMissing] = useState(false);
  const [doubts, setDoubts] = useState<readonly Doubt[]>();
  const saving = useSaving(data, () => {
    clear();
    onSaved();
  });
  const edit = (part: Partial<Draft>): void => {
    saving.forget();
    setDoubts(undefined);
    change(part);
  };
  const checked = (then: (changed: HoursHolder) => Promise<unknown>): void => {
    const found = changed(draft);
    setMissing(found === undefined);
    if (found) {
      void then(found);
    }
  };
  /** Hours that look like a mistake are saved only after a question. */
  const save = (): void =>
    checked(async (found) => {
      const questions = doubts || areSame(draft.rows, stored.rows) ? [] : doubtsIn(draft.rows);
      setDoubts(questions.length > 0 ? questions : undefined);
      await (questions.length > 0 ? undefined : saving.save(found));
    });
  const discard = (): void => {
    saving.forget();
    setDoubts(undefined);
    reset();
  };
  return {
    draft,
    edit,
    frame: { saving, data, isMissing, doubts, checked, save, isTyped, discard, onReload: onSaved },
  };
}

/** A form of opening hours: fields, preview of a change, and saving. */
export function HoursForm({
  frame: { saving, data, isMissing, doubts, checked, save, isTyped, discard, onReload },
  children,
}: {
  readonly frame: ReturnType<typeof useHoursForm>['frame'];
  readonly children: ReactNode;
}) {
  const { hours: words } = useTexts();
  return (
    <Form onSend={save}>
      <Stack gap="md">
        <div role="status">
          {isTyped && (
            <Group gap="xs">
              <strong>{words.unsaved}</strong>
              <Button size="compact-sm" variant="default" onClick={discard}>
                {words.discard}
              </Button>
            </Group>
          )}
        </div>
        {children}
        {doubts && (
          <div role="alert">
            {doubts.map((doubt) => (
              <p key={JSON.stringify(doubt)}>
                <strong>
                  {doubt.kind === 'overnight'
                    ? words.overnight(doubt.line, doubt.end, doubt.hours)
                    : words.overlap(doubt.line, doubt.other)}
                </strong>
              </p>
            ))}
          </div>
        )}
        <SavingPart
          saving={saving}
          data={data}
          missing={isMissing && words.missing}
          save={doubts ? words.saveAnyway : words.save}
          onShow={() => checked(saving.preview)}
          onReload={onReload}
        />
      </Stack>
    </Form>
  );
}

/** The duration of appointments and their buffers, in minutes; empty if unspecified. */
export function LengthFields({
  lengths,
  placeholder,
  onChange,
}: {
  readonly lengths: Readonly<Record<LengthName, number | ''>>;
  readonly placeholder?: (name: LengthName) => string;
  readonly onChange: (name: LengthName, value: number | '') => void;
}) {
  const { hours: words } = useTexts();
  return (
    <Group gap="xs" grow align="end">
      {lengthNames.map((name) => (
        <TextInput
          key={name}
          type="number"
          label={words[name]}
          {...(placeholder && { placeholder: placeholder(name) })}
          min={name === 'duration' ? 1 : 0}
          max={1440}
          value={lengths[name]}
          onChange={({ currentTarget: { value } }) => onChange(name, value === '' ? '' : Number(value))}
        />
      ))}
    </Group>
  );
}
