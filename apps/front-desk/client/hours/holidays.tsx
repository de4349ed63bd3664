import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useMemo, useState } from 'react';
import type { ClosedDay } from '../../../../core/fhir/scheduling/closed-days.ts';
import { deskData } from '../fhir/client.ts';
import { Problem } from '../parts/problem.tsx';
import { useLoaded } from '../parts/use-loaded.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';

const REGION = 'front-desk-region';

interface Region {
  readonly code: string;
  readonly name: string;
}

interface Country extends Region {
  readonly states: readonly Region[];
}

function inOrder(countries: readonly Country[], language: string): Country[] {
  const names = new Intl.DisplayNames([language], { type: 'region', fallback: 'none' });
  const nameOf = ({ code, name }: Country): string => names.of(code.slice(0, 2)) ?? name;
  return countries
    .map((country) => ({ ...country, name: nameOf(country) }))
    .toSorted((one, other) => one.name.localeCompare(other.name, language));
}

/** Finds the public holidays of a country or a state, so that they can be closed together. */
export function Holidays({ onFound }: { readonly onFound: (days: readonly ClosedDay[]) => void }) {
  const { language, hours: words } = useTexts();
  const countries = useLoaded('holiday countries', () => deskData<readonly Country[]>('/holidays', Array.isArray));
  const [region, setRegion] = useState(
    () => localStorage.getItem(REGION) ?? new Intl.Locale(navigator.language).maximize().region ?? 'DE',
  );
  const [year, setYear] = useState(() => new Date().getFullYear() + 1);
  const { submit, refusal, isBusy } = useSubmit();
  const [isNone, setNone] = useState(false);
  const find = async (): Promise<void> => {
    const days = await submit(() => deskData<readonly ClosedDay[]>(`/holidays/${region}/${year}`, Array.isArray));
    setNone(days?.length === 0);
    if (days && days.length > 0) {
      onFound(days);
    }
  };
  const [country = '', state = ''] = region.split('-');
  const all = useMemo(() => inOrder(countries.value ?? [], language), [countries.value, language]);
  const states = all.find(({ code }) => code === country)?.states ?? [];
  const choose = (next: string): void => {
    setRegion(next);
    localStorage.setItem(REGION, next);
  };
  return (
    <fieldset className="weekly">
      <legend>{words.holidays}</legend>
      <Group gap="xs" align="end">
        <NativeSelect
          label={words.country}
          value={country}
          onChange={(event) => choose(event.currentTarget.value)}
          data={all.map(({ code, name }) => ({ value: code, label: name }))}
        />
        {states.length > 0 && (
          <NativeSelect
            label={words.state}
            value={state}
            onChange={(event) => choose([country, event.currentTarget.value].filter(Boolean).join('-'))}
            data={[
              { value: '', label: words.wholeCountry },
              ...states.map(({ code, name }) => ({ value: code, label: name })),
            ]}
          />
        )}
        <TextInput
          type="number"
          label={words.year}
          min={2000}
          max={2100}
          value={year || ''}
          onChange={(event) => setYear(Number(event.currentTarget.value))}
        />
        <Button variant="default" loading={isBusy} onClick={() => void find()}>
          {words.findHolidays}
        </Button>
      </Group>
      {isNone && <p role="status">{words.noHolidays}</p>}
      {refusal && <Problem refusal={refusal} />}
      {countries.refusal && <Problem refusal={countries.refusal} onReload={() => void countries.reload()} />}
    </fieldset>
  );
}
