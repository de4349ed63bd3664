import { Radio, Stack, TextInput } from '@mantine/core';
import { nameOf } from '../../../../core/fhir/resource.ts';
import { contactOf, guardianText } from '../../appointment/people.ts';
import { dateText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { type FoundPatient, usePatients } from '../people/use-patients.ts';

/** The details that distinguish people of the same name. */
export function useFoundText(): (found: FoundPatient) => string {
  const { language, booking: words } = useTexts();
  return ({ patient, guardians }) =>
    [
      patient.birthDate && dateText(patient.birthDate, language),
      contactOf(patient, 'phone'),
      ...guardians.slice(0, 2).map((relatedPerson) => words.guardian(guardianText(relatedPerson))),
    ]
      .filter(Boolean)
      .join(', ');
}

/** Finds patients to choose from; Enter takes the first. */
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
  const { booking: words } = useTexts();
  const textOf = useFoundText();
  const { value: found, refusal, asked, isMore } = usePatients(text);
  const choose = ({ patient }: FoundPatient): void => onChoose(patient.id, nameOf(patient));
  const isFound = asked !== '' && asked === text.trim() && found !== undefined;
  const [first] = isFound ? found : [];
  return (
    <Stack gap="xs">
      <TextInput
        label={words.find}
        description={words.findHelp}
        value={text}
        autoComplete="off"
        onChange={(event) => onText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !chosen) {
            event.preventDefault();
            if (first) {
              choose(first);
            }
          }
        }}
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
            const one = found.find(({ patient }) => patient.id === id);
            if (one) {
              choose(one);
            }
          }}
        >
          <Stack gap={4} mt={4}>
            {found.map((patient) => (
              <Radio
                key={patient.patient.id}
                value={patient.patient.id}
                label={[nameOf(patient.patient) || words.unnamed, textOf(patient)].filter(Boolean).join(', ')}
              />
            ))}
          </Stack>
        </Radio.Group>
      )}
    </Stack>
  );
}
