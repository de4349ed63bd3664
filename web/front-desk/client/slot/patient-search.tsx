import { Radio, Stack, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import type { Organization, Patient } from '@medplum/fhirtypes';
import { nameOf } from '../../../../core/fhir/human-name.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import { countryCodeIn, patientQuery } from '../../appointment/patient-query.ts';
import { contactOf } from '../../appointment/people.ts';
import { isRefusal } from '../../fhir/refusal.ts';
import { searchAll, searchUrl } from '../fhir/client.ts';
import { dateText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { useLoaded } from '../parts/use-loaded.ts';
import { useTexts } from '../parts/use-texts.ts';

/** The most patients that are listed. */
const MOST = '12';

let countryCode: Promise<string | undefined> | undefined;

/** The country of the clinic's telephone numbers, as one of its Organizations writes its own. */
async function readCountryCode(): Promise<string | undefined> {
  const answer = await searchAll([searchUrl('Organization', [])]);
  const organizations = isRefusal(answer) ? [] : answer.flat();
  return organizations
    .filter((one): one is Organization => isResource(one, 'Organization'))
    .flatMap(({ telecom }) => (Array.isArray(telecom) ? telecom : []))
    .flatMap((one) => countryCodeIn(String(one?.value ?? '')) ?? [])[0];
}

/** Finds patients by name, date of birth and telephone, and lets one be chosen. */
export function PatientSearch({
  text,
  chosen,
  onText,
  onChoose,
}: {
  readonly text: string;
  readonly chosen: string;
  readonly onText: (text: string) => void;
  readonly onChoose: (id: string, name: string) => void;
}) {
  const { language, booking: words } = useTexts();
  const [asked] = useDebouncedValue(text, 250);
  const { value: found, refusal } = useLoaded(`patients ${asked}`, async () => {
    if (asked.trim().length < 2) {
      return [];
    }
    countryCode ??= readCountryCode();
    const query = [...patientQuery(asked, new Date().getFullYear(), await countryCode), ['_count', MOST] as const];
    const answer = await searchAll([searchUrl('Patient', query)]);
    return isRefusal(answer)
      ? answer
      : answer.flat().filter((one): one is Patient => isResource(one, 'Patient') && one.active !== false);
  });
  const isAsking = asked.trim().length >= 2;
  return (
    <Stack gap="xs">
      <TextInput
        label={words.find}
        description={words.findHelp}
        value={text}
        autoComplete="off"
        onChange={(event) => onText(event.currentTarget.value)}
      />
      {refusal && <Problem refusal={refusal} />}
      <div role="status" className="found">
        {found && isAsking && (found.length > 0 ? words.found(found.length) : words.none)}
      </div>
      {found && found.length > 0 && (
        <Radio.Group
          label={words.choose}
          value={chosen}
          onChange={(id) => {
            const patient = found.find((one) => one.id === id);
            onChoose(id, patient ? nameOf(patient) : '');
          }}
        >
          <Stack gap={4} mt={4}>
            {found.map((patient) => (
              <Radio
                key={patient.id}
                value={patient.id ?? ''}
                label={[
                  nameOf(patient) || words.unnamed,
                  patient.birthDate && dateText(patient.birthDate, language),
                  contactOf(patient, 'phone'),
                ]
                  .filter(Boolean)
                  .join(', ')}
              />
            ))}
          </Stack>
        </Radio.Group>
      )}
    </Stack>
  );
}
