import { Checkbox, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import type { Extension } from '@medplum/fhirtypes';
import { idIn } from '../../../../core/fhir/reference.ts';
import type { HoursData } from '../../../../core/fhir/scheduling/hours-data.ts';
import { titleOf } from '../../day/queries.ts';
import type { SeriesDraft, StepRow, TypedLength } from '../../hours/visit-draft.ts';
import { Choices } from '../parts/choices.tsx';
import { useTexts } from '../parts/use-texts.ts';

type Unit = 's' | 'min' | 'h' | 'd' | 'wk';

function LengthField({
  label,
  units,
  length,
  onChange,
}: {
  readonly label: string;
  readonly units: readonly Unit[];
  readonly length: TypedLength;
  readonly onChange: (length: TypedLength) => void;
}) {
  const { visit: words } = useTexts();
  const offered = units.some((unit) => unit === length.unit) ? units : [...units, length.unit as Unit];
  return (
    <Group gap={4} align="end" wrap="nowrap">
      <TextInput
        type="number"
        min={0}
        step="any"
        label={label}
        value={length.value}
        onChange={({ currentTarget: { value } }) => onChange({ ...length, value: value === '' ? '' : Number(value) })}
      />
      <NativeSelect
        aria-label={words.unit(label)}
        value={length.unit}
        data={offered.map((unit) => ({ value: unit, label: words.units[unit] }))}
        onChange={(event) => onChange({ ...length, unit: event.currentTarget.value })}
      />
    </Group>
  );
}

function PoolFields({ row, data, onChange }: StepProps) {
  const { visit: words } = useTexts();
  const unknown = row.service !== '' && !data.services.some(({ id }) => id === row.service) ? [row.service] : [];
  const shown = data.schedules.filter(({ active, id }) => active !== false || row.schedules.includes(id));
  const gone = row.schedules.filter((id) => !shown.some((one) => one.id === id)).map((id) => ({ id, actor: [] }));
  return (
    <>
      <NativeSelect
        label={words.by}
        value={row.service}
        onChange={(event) => onChange({ service: event.currentTarget.value })}
        data={[
          { value: '', label: words.chosen },
          {
            group: words.anyOf,
            items: [
              ...data.services.map(({ id = '', name }) => ({ value: id, label: name || `HealthcareService/${id}` })),
              ...unknown.map((id) => ({ value: id, label: `HealthcareService/${id}` })),
            ],
          },
        ]}
      />
      {row.service === '' && (
        <Choices
          schedules={[...shown, ...gone]}
          label={words.calendars}
          chosen={row.schedules}
          onChoose={(schedules) => onChange({ schedules })}
        />
      )}
    </>
  );
}

function namesIn({ extension = [] }: Extension, { services, schedules }: HoursData): string {
  return extension
    .map(({ valueReference }) => {
      const schedule = schedules.find(({ id }) => id === idIn(valueReference, 'Schedule'));
      const service = services.find(({ id }) => id === idIn(valueReference, 'HealthcareService'));
      return (schedule && titleOf(schedule)) || service?.name || valueReference?.reference || '';
    })
    .join(', ');
}

/** The stored parts that the form cannot change. */
export function Kept({ parts, data }: { readonly parts: readonly Extension[]; readonly data: HoursData }) {
  const { visit: words } = useTexts();
  const roles = parts.filter(({ url }) => url === 'with');
  return (
    <>
      {roles.length > 0 && <p>{words.with(roles.map((role) => namesIn(role, data)).join('; '))}</p>}
      {roles.length < parts.length && <p>{words.kept}</p>}
    </>
  );
}

interface StepProps {
  readonly row: StepRow;
  readonly steps: readonly StepRow[];
  readonly data: HoursData;
  readonly onChange: (part: Partial<StepRow>) => void;
}

/** The fields of a step. */
export function StepFields(props: StepProps) {
  const { visit: words } = useTexts();
  const { row, steps, data, onChange } = props;
  const titleIn = (one: StepRow): string => one.name.trim() || words.step(steps.indexOf(one) + 1, '');
  const others = steps
    .filter(({ key }) => key !== row.key)
    .map((one) => ({ value: `${one.key}`, label: titleIn(one) }));
  const length = (name: 'duration' | 'gapMin' | 'gapMax', units: readonly Unit[]) => (
    <LengthField
      label={words[name]}
      units={units}
      length={row[name]}
      onChange={(value) => onChange({ [name]: value })}
    />
  );
  return (
    <>
      <TextInput
        label={words.name}
        maxLength={64}
        value={row.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <PoolFields {...props} />
      {length('duration', ['min', 'h'])}
      <p className="help">{words.durationHelp}</p>
      {others.length > 0 && (
        <>
          <Checkbox.Group
            label={words.after}
            value={row.after.map(String)}
            onChange={(keys) => onChange({ after: keys.map(Number) })}
          >
            <Stack gap={6} mt={6}>
              {others.map(({ value, label }) => (
                <Checkbox key={value} value={value} label={label} />
              ))}
            </Stack>
          </Checkbox.Group>
          {length('gapMin', ['min', 'h', 'd', 'wk'])}
          {length('gapMax', ['min', 'h', 'd', 'wk'])}
          <NativeSelect
            label={words.sameAs}
            value={row.sameAs === undefined ? '' : `${row.sameAs}`}
            data={[{ value: '', label: words.nobody }, ...others]}
            onChange={({ currentTarget: { value } }) => onChange({ sameAs: value === '' ? undefined : Number(value) })}
          />
        </>
      )}
      <Checkbox
        label={words.optional}
        checked={row.isOptional}
        onChange={(event) => onChange({ isOptional: event.currentTarget.checked })}
      />
      <Kept parts={row.kept} data={data} />
    </>
  );
}

/** The fields of a series. */
export function SeriesFields({
  series,
  data,
  onChange,
}: {
  readonly series: SeriesDraft;
  readonly data: HoursData;
  readonly onChange: (part: Partial<SeriesDraft>) => void;
}) {
  const { visit: words } = useTexts();
  return (
    <>
      <TextInput
        type="number"
        min={2}
        max={20}
        label={words.count}
        value={series.count}
        onChange={({ currentTarget: { value } }) => onChange({ count: value === '' ? '' : Number(value) })}
      />
      <LengthField
        label={words.every}
        units={['d', 'wk']}
        length={series.every}
        onChange={(every) => onChange({ every })}
      />
      <LengthField
        label={words.tolerance}
        units={['h', 'd']}
        length={series.tolerance}
        onChange={(tolerance) => onChange({ tolerance })}
      />
      <Checkbox
        label={words.sameActor}
        checked={series.isSameActor}
        onChange={(event) => onChange({ isSameActor: event.currentTarget.checked })}
      />
      <Kept parts={series.kept} data={data} />
    </>
  );
}
