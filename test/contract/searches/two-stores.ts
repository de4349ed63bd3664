/**
 * A portal with data of its own, linked to data that it may not read, as after the clinic's work: a patient that points
 * at another portal's, an appointment to which staff have added another portal's answers. The foreign data can be changed
 * into something else, so that answers can be compared.
 */
import { randomUUID } from 'node:crypto';
import type { Appointment, Patient, QuestionnaireResponse, Resource, ResourceType } from '@medplum/fhirtypes';
import { aPatient, aSchedule, aSlot, book, parameters, proposed, stored, succeeded } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';
import type { Wanted } from './generate.ts';

const secret = {
  family: 'Geheim',
  given: 'Vera',
  phone: '+49301234567',
  email: 'vera@example.org',
  birthDate: '1961-02-03',
  city: 'Verborgen',
  code: 'secret-code',
  questionnaire: 'https://example.org/secret',
  authored: '2020-02-02T10:00:00Z',
};

const coded = { coding: [{ system: 'https://example.org/codes', code: secret.code }] };

const secretPatient: Partial<Patient> = {
  name: [{ family: secret.family, given: [secret.given] }],
  birthDate: secret.birthDate,
  gender: 'other',
  telecom: [
    { system: 'phone', value: secret.phone },
    { system: 'email', value: secret.email },
  ],
  address: [{ city: secret.city, postalCode: '99999', country: 'DE', state: 'BE' }],
  communication: [{ language: { coding: [{ system: 'urn:ietf:bcp:47', code: 'fr' }] } }],
};

const otherPatient: Partial<Patient> = {
  name: [{ family: 'Anders', given: ['Kim'] }],
  birthDate: '1999-09-09',
  gender: 'female',
  telecom: [],
  address: [],
  communication: [],
};

const answers = (more: Partial<QuestionnaireResponse> = {}): QuestionnaireResponse => ({
  resourceType: 'QuestionnaireResponse',
  status: 'completed',
  text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Allergies: none</div>' },
  item: [{ linkId: '1', text: 'Allergies', answer: [{ valueString: 'none' }] }],
  ...more,
});

/** Clinic staff edit a resource in Medplum; what is `undefined` or empty goes. */
async function edit<T extends ResourceType>(type: T, id: string | undefined, changes: object) {
  const before = resourceIn(type, await medplum('front-desk', 'GET', `/${type}/${id}`));
  const after = Object.fromEntries(
    Object.entries({ ...before, ...changes }).filter(([, value]) => !(Array.isArray(value) && value.length === 0)),
  );
  return succeeded(type, await medplum('front-desk', 'PUT', `/${type}/${id}`, { body: after }));
}

const made = async <T extends ResourceType>(type: T, body: Resource & { resourceType: T }) =>
  succeeded(type, await medplum('front-desk', 'POST', `/${type}`, { body }));

const to = (resource: Resource) => ({ reference: `${resource.resourceType}/${resource.id}` });

/** A booking with answers; the appointment and the answers. */
async function aBooking(role: 'portal-a' | 'portal-b', patient: Patient, schedule: Resource, from: number, more = {}) {
  if (schedule.resourceType !== 'Schedule') {
    throw new Error('A booking needs a Schedule.');
  }
  const slot = await aSlot(schedule, from, from + 30);
  const body = parameters(proposed(patient, [slot], { from, to: from + 30, ...more }), [
    'patientSubmittedInformation',
    answers({ questionnaire: secret.questionnaire, authored: secret.authored }),
  ]);
  const appointment = succeeded('Appointment', await book(body, role));
  const [reference = ''] = appointment.supportingInformation?.flatMap((one) => one.reference ?? []) ?? [];
  return { slot, appointment, answers: reference };
}

/** What everybody reads and nobody else changes: one of each type. */
async function theClinic() {
  const organization = await made('Organization', { resourceType: 'Organization', name: 'Clinic', active: true });
  const location = await made('Location', {
    resourceType: 'Location',
    name: 'House',
    status: 'active',
    managingOrganization: to(organization),
  });
  const practitioner = await made('Practitioner', {
    resourceType: 'Practitioner',
    active: true,
    name: [{ family: 'Arzt' }],
  });
  const service = await made('HealthcareService', {
    resourceType: 'HealthcareService',
    active: true,
    name: 'CT',
    location: [to(location)],
    providedBy: to(organization),
  });
  const role = await made('PractitionerRole', {
    resourceType: 'PractitionerRole',
    active: true,
    practitioner: to(practitioner),
    organization: to(organization),
    healthcareService: [to(service)],
  });
  const questionnaire = await made('Questionnaire', {
    resourceType: 'Questionnaire',
    status: 'active',
    url: `https://example.org/${randomUUID()}`,
  });
  const schedule = await aSchedule({ actor: [to(service), to(practitioner), to(location)] });
  return [organization, location, practitioner, service, role, questionnaire, schedule] as const;
}

/** The store as it is for the portal, and what else to ask and to change. */
export interface TwoStores {
  readonly wanted: Wanted;
  /** A query on the portal's own patient that only foreign data decides; staff find the patient by it. */
  readonly telling: string;
  /** Puts other foreign data in the place of the first. */
  readonly exchange: () => Promise<void>;
}

/** Makes the data; portals A and B are those of this file of tests. */
export async function twoStores(): Promise<TwoStores> {
  const clinic = await theClinic();
  const [organization, location, practitioner, service, role, questionnaire, schedule] = clinic;
  const foreign = await aPatient('portal-b', secretPatient);
  const more = await Promise.all([1, 2, 3].map(() => aPatient('portal-b', secretPatient)));
  const theirs = await aBooking('portal-b', foreign, schedule, 60, { description: secret.family, reasonCode: [coded] });
  const own = await aPatient('portal-a', {
    generalPractitioner: [to(practitioner)],
    managingOrganization: to(organization),
  });
  await aPatient('portal-a', { name: [{ family: 'Zweitens' }], birthDate: '1970-01-01' });
  const mine = await aBooking('portal-a', own, schedule, 0);
  await aBooking('portal-a', own, schedule, 120);
  const linked = { ...own, link: [{ type: 'seealso', other: to(foreign) }] };
  succeeded('Patient', await request('portal-a', 'PUT', `/Patient/${own.id}`, { body: linked }));
  const relative = await made('RelatedPerson', {
    resourceType: 'RelatedPerson',
    patient: to(own),
    name: [{ family: secret.family }],
    telecom: [{ system: 'phone', value: secret.phone }],
  });
  await edit('Appointment', mine.appointment.id, {
    supportingInformation: [
      ...(mine.appointment.supportingInformation ?? []),
      { reference: theirs.answers },
      to(theirs.appointment),
    ],
  } satisfies Partial<Appointment>);
  await edit('QuestionnaireResponse', mine.answers.split('/')[1], {
    source: to(foreign),
    author: to(foreign),
  } satisfies Partial<QuestionnaireResponse>);
  const [codeSystem] = await stored('CodeSystem', '_count=1');
  const [valueSet] = await stored('ValueSet', '_count=1');
  const readable = [...clinic, mine.slot, theirs.slot, codeSystem, valueSet].flatMap((one) => one ?? []);
  const stable: Record<string, string[]> = {};
  for (const { resourceType, id } of readable) {
    stable[resourceType] = [...(stable[resourceType] ?? []), id ?? ''];
  }
  const references: Record<string, string[]> = {
    Patient: [`Patient/${own.id}`, `Patient/${foreign.id}`, ...more.map(({ id }) => `Patient/${id}`)],
    Appointment: [`Appointment/${mine.appointment.id}`, `Appointment/${theirs.appointment.id}`],
    QuestionnaireResponse: [mine.answers, theirs.answers],
    ...Object.fromEntries(Object.entries(stable).map(([type, ids]) => [type, ids.map((id) => `${type}/${id}`)])),
  };
  const all = Object.values(references).flat();
  const values: Record<string, string[]> = {
    family: ['Geheim', 'g', 'Muster'],
    given: ['Vera'],
    name: ['Geheim', 'Arzt', 'CT', 'Clinic'],
    phonetic: ['Geheim'],
    phone: [secret.phone],
    telecom: [secret.phone, secret.email],
    email: [secret.email],
    birthdate: [secret.birthDate, `ge${secret.birthDate}`, 'lt1962-01-01', 'ge1961-01-01'],
    gender: ['other', 'female'],
    address: ['Verborgen'],
    'address-city': ['Verborgen'],
    'address-postalcode': ['99999'],
    'address-country': ['DE'],
    language: ['fr'],
    active: ['true', 'false'],
    'reason-code': [secret.code],
    questionnaire: [secret.questionnaire],
    authored: ['2020-02-02T10:00:00Z', 'lt2021-01-01', 'ge2020-01-01'],
    status: ['booked', 'completed', 'free', 'busy', 'active', 'in-progress'],
    identifier: foreign.identifier?.flatMap(({ value }) => value ?? []) ?? [],
    _id: all.map((one) => one.split('/')[1] ?? ''),
    description: [secret.family],
    type: ['x'],
    'part-status': ['accepted', 'tentative'],
    url: [questionnaire.url ?? ''],
    _tag: theirs.appointment.meta?.tag?.map(({ system, code }) => `${system}|${code}`) ?? [],
    _lastUpdated: ['ge2020-01-01', 'lt2020-01-01'],
    organization: [`Organization/${organization.id}`],
    location: [`Location/${location.id}`],
    service: [`HealthcareService/${service.id}`],
    role: [`PractitionerRole/${role.id}`],
  };
  const exchange = async (): Promise<void> => {
    await edit('Patient', foreign.id, otherPatient);
    await Promise.all(more.map(({ id }) => medplum('front-desk', 'DELETE', `/Patient/${id}`)));
    await medplum('front-desk', 'DELETE', `/RelatedPerson/${relative.id}`);
    await edit('QuestionnaireResponse', theirs.answers.split('/')[1], {
      status: 'in-progress',
      questionnaire: 'https://example.org/other',
      authored: '2025-05-05T10:00:00Z',
    } satisfies Partial<QuestionnaireResponse>);
    await edit('Appointment', theirs.appointment.id, {
      description: 'other',
      reasonCode: [],
      participant: theirs.appointment.participant.map((one) => ({ ...one, status: 'tentative' })),
    } satisfies Partial<Appointment>);
  };
  return {
    wanted: { values, references, stable },
    telling: `_id=${own.id}&link:Patient.family=${secret.family}`,
    exchange,
  };
}
