import { Button, Group, SegmentedControl, SimpleGrid, TextInput } from '@mantine/core';
import type { ChangeEvent } from 'react';
import { nameOf } from '../../../../core/fhir/human-name.ts';
import type { NewPatient } from '../../appointment/booking.ts';
import { isSameName, newPatientIn } from '../../appointment/patient-query.ts';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { dateText } from '../parts/format.ts';
import { useTexts } from '../parts/use-texts.ts';
import { type FoundPatient, patientsFor, usePatients } from '../people/use-patients.ts';
import { PatientSearch } from './patient-search.tsx';

/** Who a booking is for, as it is typed. */
export interface WhoDraft extends NewPatient {
  readonly isNew: boolean;
  readonly search: string;
  readonly patient: string;
  readonly patientName: string;
  /** The name and date of birth with which somebody was said to be another person than the one with that record. */
  readonly other: string;
}

/** What a new patient is compared by. */
export const personKey = ({ given, family, birthDate }: NewPatient): string =>
  `${given} ${family} ${birthDate}`.toLowerCase();

const isTwin = ({ given, family, birthDate }: NewPatient, { patient }: FoundPatient): boolean =>
  birthDate !== '' && patient.birthDate === birthDate && isSameName(nameOf(patient), `${given} ${family}`);

/** The patients with a record who have the name and the date of birth of the new one. */
export async function twinsOf(typed: NewPatient): Promise<FoundPatient[] | Refusal> {
  const found = await patientsFor(`${typed.given} ${typed.family}`, new AbortController().signal);
  return isRefusal(found) ? found : found.filter((patient) => isTwin(typed, patient));
}

/** The patients who have a record already with the name that is being typed. */
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

/** Who the booking is for: a patient with a record, or a new one. What was searched for goes along. */
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
