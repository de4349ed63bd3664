import { Button, Group, SegmentedControl, SimpleGrid, TextInput } from '@mantine/core';
import type { ChangeEvent } from 'react';
import { nameOf } from '../../../../core/fhir/resource.ts';
import type { NewPatient } from '../../appointment/booking.ts';
import { isSameName, newPatientIn } from '../../appointment/patient-query.ts';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { dateText } from '../parts/format.ts';
import { useTexts } from '../parts/use-texts.ts';
import { type FoundPatient, patientsFor, usePatients } from '../people/use-patients.ts';
import { PatientSearch } from './patient-search.tsx';

/** The patient of a booking, as typed. */
export interface WhoDraft extends NewPatient {
  readonly isNew: boolean;
  readonly search: string;
  readonly patient: string;
  readonly patientName: string;
  /** Name and date of birth that staff declared to be another person than the existing patient. */
  readonly other: string;
}

/** Name and date of birth, as a key for comparison. */
export const personKey = ({ given, family, birthDate }: NewPatient): string =>
  `${given} ${family} ${birthDate}`.toLowerCase();

const isTwin = ({ given, family, birthDate }: NewPatient, { patient }: FoundPatient): boolean =>
  birthDate !== '' && patient.birthDate === birthDate && isSameName(nameOf(patient), `${given} ${family}`);

/** The existing patients with the name and date of birth of a new one. */
export async function twinsOf(typed: NewPatient): Promise<FoundPatient[] | Refusal> {
  const found = await patientsFor(`${typed.given} ${typed.family}`, new AbortController().signal);
  return isRefusal(found) ? found : found.filter((patient) => isTwin(typed, patient));
}

function Known({ draft, change }: { readonly draft: WhoDraft; readonly change: (part: Partial<WhoDraft>) => void }) {
  const { language, booking: words } = useTexts();
  const { given, family } = draft;
  const { value: found = [], asked } = usePatients(given && family.length > 1 ? `${given} ${family}` : '');
  const known = asked
    ? found.toSorted((patient, other) => Number(isTwin(draft, other)) - Number(isTwin(draft, patient)))
    : [];
  return (
    <div role="status" className="found">
      {draft.other !== personKey(draft) &&
        known.slice(0, 3).map(({ patient }) => {
          const name = nameOf(patient);
          const date = patient.birthDate && dateText(patient.birthDate, language);
          return (
            <Group key={patient.id} gap="xs" justify="space-between" className="twin">
              <span>{words.exists([name, date].filter(Boolean).join(', '))}</span>
              <Button
                size="compact-sm"
                variant="default"
                onClick={() =>
                  change({
                    isNew: false,
                    search: `${name} ${patient.birthDate ?? ''}`.trim(),
                    patient: patient.id,
                    patientName: name,
                  })
                }
              >
                {words.takeKnown}
              </Button>
            </Group>
          );
        })}
    </div>
  );
}

/** The patient of a booking: an existing or a new one. The text of the search is carried over. */
export function Who({
  draft,
  change,
}: {
  readonly draft: WhoDraft;
  readonly change: (part: Partial<WhoDraft>) => void;
}) {
  const { booking: words, appointment } = useTexts();
  const field = (name: keyof NewPatient) => ({
    value: draft[name],
    maxLength: 200,
    onChange: (event: ChangeEvent<HTMLInputElement>) => change({ [name]: event.currentTarget.value }),
  });
  const turn = (isNew: boolean): void => {
    const isEmpty = !draft.given && !draft.family;
    change({ isNew, ...(isNew && isEmpty && newPatientIn(draft.search, new Date().getFullYear())) });
  };
  return (
    <>
      <SegmentedControl
        fullWidth
        aria-label={words.who}
        value={draft.isNew ? 'new' : 'known'}
        onChange={(value) => turn(value === 'new')}
        data={[
          { value: 'known', label: words.existing },
          { value: 'new', label: words.fresh },
        ]}
      />
      {draft.isNew ? (
        <>
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <TextInput label={words.given} required {...field('given')} />
            <TextInput label={words.family} required {...field('family')} />
            <TextInput label={appointment.birthDate} type="date" {...field('birthDate')} />
            <TextInput label={appointment.phone} type="tel" {...field('phone')} />
            <TextInput label={appointment.email} type="email" {...field('email')} />
          </SimpleGrid>
          {(!draft.birthDate || !(draft.phone || draft.email)) && <p className="help">{words.unreachable}</p>}
          <Known draft={draft} change={change} />
        </>
      ) : (
        <PatientSearch
          text={draft.search}
          chosen={draft.patient}
          onText={(search) => change({ search, patient: '', patientName: '' })}
          onChoose={(patient, patientName) => change({ patient, patientName })}
        />
      )}
    </>
  );
}
