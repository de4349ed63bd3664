import { Button, Group, TextInput } from '@mantine/core';
import type { Patient } from '@medplum/fhirtypes';
import { useState } from 'react';
import { contactOf, withContacts } from '../../appointment/people.ts';
import { update } from '../fhir/client.ts';
import { Form } from '../parts/form.tsx';
import { Problem } from '../parts/problem.tsx';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';

const systems = ['phone', 'email'] as const;

/** The form that corrects a patient's phone number and e-mail address. */
export function ContactsForm({
  patient,
  onSaved,
  onClose,
}: {
  readonly patient: Patient;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}) {
  const { appointment: labels, person: words, close } = useTexts();
  const [typed, setTyped] = useState({
    phone: contactOf(patient, 'phone') ?? '',
    email: contactOf(patient, 'email') ?? '',
  });
  const { submit, isBusy, refusal } = useSubmit(patient.meta?.versionId);
  const save = async (): Promise<void> => {
    if (await submit(() => update('Patient', withContacts(patient, typed)), words.contactsSaved)) {
      onSaved();
    }
  };
  return (
    <Form className="pane" aria-label={words.contacts} onSend={() => void save()}>
      <Group gap="xs" align="end">
        {systems.map((system) => (
          <TextInput
            key={system}
            {...(system === 'phone' && { 'data-autofocus': true })}
            label={labels[system]}
            type={system === 'phone' ? 'tel' : 'email'}
            maxLength={200}
            value={typed[system]}
            onChange={({ currentTarget: { value } }) => setTyped((before) => ({ ...before, [system]: value }))}
          />
        ))}
        <Button type="submit" loading={isBusy}>
          {words.saveContacts}
        </Button>
        <Button variant="default" onClick={onClose}>
          {close}
        </Button>
      </Group>
      {refusal && <Problem refusal={refusal} onReload={onSaved} />}
    </Form>
  );
}
