import { Radio, Stack, TextInput } from '@mantine/core';
import { nameOf } from '../../../../core/fhir/human-name.ts';
import { contactOf } from '../../appointment/people.ts';
import { dateText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { usePatients } from '../people/use-patients.ts';

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
  const { value: found, refusal, asked, isMore } = usePatients(text);
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
        {found && asked && (found.length > 0 ? words.found(found.length, isMore) : words.none)}
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
