import { randomUUID } from 'node:crypto';
import { MedplumClient } from '@medplum/core';
import type { Appointment, Schedule } from '@medplum/fhirtypes';
import { aPatient, aSchedule, aSlot, book, parameters, proposed, succeeded } from '../fixtures.ts';
import { medplum, request } from '../http.ts';
import { medplumBase, tokenOf } from '../installation.ts';

/** A client of Medplum with the administrator's rights, as commands have it. */
export async function administrator(fetchWith: typeof fetch = fetch): Promise<MedplumClient> {
  const client = new MedplumClient({
    baseUrl: medplumBase.replace(/fhir\/R4$/, ''),
    cacheTime: 0,
    maxRetries: 0,
    fetch: fetchWith,
  });
  client.setAccessToken(await tokenOf('admin'));
  return client;
}

/** A name that nothing else has. */
export const aName = (): string => `Erasmus-${randomUUID()}`;

/** A patient with two appointments, one of them with a related person and answers. */
export async function aPerson(family: string, more: Partial<Schedule> = {}) {
  const schedule = await aSchedule(more);
  const identifier = [{ system: 'https://example.org/patients', value: randomUUID() }];
  const patient = await aPatient('portal-a', { identifier, name: [{ family }] });
  const slots = await Promise.all([aSlot(schedule, 0, 30), aSlot(schedule, 30, 60)]);
  const relative = {
    resourceType: 'RelatedPerson',
    patient: { reference: `Patient/${patient.id}` },
    name: [{ family }],
  };
  const answers = {
    resourceType: 'QuestionnaireResponse',
    status: 'completed',
    text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${family}</div>` },
    questionnaire: 'https://example.org/Questionnaire/1',
    item: [{ linkId: '1', text: 'Since when?', answer: [{ valueString: family }] }],
  };
  const first = parameters(
    proposed(patient, slots.slice(0, 1), { comment: family }),
    ['related-person', relative],
    ['patientSubmittedInformation', answers],
  );
  const second = proposed(patient, slots.slice(1), { from: 30, to: 60 });
  const appointments: Appointment[] = [
    succeeded('Appointment', await book(first)),
    succeeded('Appointment', await book(second)),
  ];
  return { patient, identifier, schedule, slots, appointments };
}

/** Staff say that an appointment took place. */
export async function fulfil({ id }: Appointment): Promise<void> {
  const body = [{ op: 'replace', path: '/status', value: 'fulfilled' }];
  const headers = { 'content-type': 'application/json-patch+json' };
  succeeded('Appointment', await request('front-desk', 'PATCH', `/Appointment/${id}`, { body, headers }));
}

/** Every type in which the service keeps something of a patient. */
const types = [
  'Patient',
  'RelatedPerson',
  'Appointment',
  'AppointmentResponse',
  'QuestionnaireResponse',
  'Task',
  'Communication',
  'Subscription',
] as const;

/** Of all that is stored, the references to what carries a text, and the history of some resources as well. */
export async function carrying(text: string, references: readonly string[] = []): Promise<string[]> {
  const pages = await Promise.all(
    types.map((type) => medplum('admin', 'GET', `/${type}?_sort=-_lastUpdated&_count=200`)),
  );
  const histories = await Promise.all(references.map((one) => medplum('admin', 'GET', `/${one}/_history`)));
  return [...types, ...references].filter((_, index) => [...pages, ...histories][index]?.text.includes(text));
}
