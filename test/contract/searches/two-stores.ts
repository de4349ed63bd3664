/**
 * A portal with data of its own, linked to data that it may not read, as after the clinic's work: a patient that points
 * at another portal's, an appointment to which staff have added another portal's answers. The foreign data can be changed
 * into something else, so that answers can be compared.
 */
import { randomUUID } from 'node:crypto';
import type {
  Appointment,
  Encounter,
  Patient,
  QuestionnaireResponse,
  Resource,
  ResourceType,
  Schedule,
} from '@medplum/fhirtypes';
import { eventually } from '../../lib/until.ts';
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
  account: randomUUID(),
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
async function aBooking(role: 'portal-a' | 'portal-b', patient: Patient, schedule: Schedule, from: number, more = {}) {
  const slot = await aSlot(schedule, from, from + 30);
  const relative = {
    resourceType: 'RelatedPerson',
    patient: to(patient),
    name: [{ family: role === 'portal-a' ? 'Muster' : secret.family }],
    telecom: [{ system: 'phone', value: secret.phone }],
  };
  const body = parameters(
    proposed(patient, [slot], { from, to: from + 30, ...more }),
    ['patientSubmittedInformation', answers({ questionnaire: secret.questionnaire, authored: secret.authored })],
    ['related-person', relative],
  );
  const appointment = succeeded('Appointment', await book(body, role));
  const [reference = ''] = appointment.supportingInformation?.flatMap((one) => one.reference ?? []) ?? [];
  const actors = appointment.participant.flatMap(({ actor }) => actor?.reference ?? []);
  const person = actors.find((one) => one.startsWith('RelatedPerson/'))?.split('/')[1];
  return { slot, appointment, answers: reference, person };
}

/** An encounter to which an appointment has led, when its requestor sees it. */
async function anEncounter(
  role: 'portal-a' | 'portal-b',
  patient: Patient,
  appointment: Appointment,
  more: object = {},
) {
  const encounter = await made('Encounter', {
    resourceType: 'Encounter',
    status: 'planned',
    class: { code: 'AMB' },
    subject: to(patient),
    appointment: [to(appointment)],
    ...more,
  });
  await eventually(() => request(role, 'GET', `/Encounter/${encounter.id}`)).is(({ status }) => status === 200);
  return encounter;
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
  return { organization, location, practitioner, service, role, questionnaire, schedule };
}

/** What portal B has, which portal A may not read. */
async function foreignData(schedule: Schedule) {
  const patient = await aPatient('portal-b', secretPatient);
  const others = await Promise.all([1, 2, 3].map(() => aPatient('portal-b', secretPatient)));
  const more = { description: secret.family, reasonCode: [coded] };
  const booking = await aBooking('portal-b', patient, schedule, 60, more);
  const secrets = {
    status: 'in-progress',
    type: [coded],
    identifier: [{ value: secret.code }],
    account: [{ reference: `Account/${secret.account}`, identifier: { value: secret.code } }],
    period: { start: secret.authored, end: secret.authored },
  };
  const encounter = await anEncounter('portal-b', patient, booking.appointment, secrets);
  return { patient, others, booking, encounter };
}

type Foreign = Awaited<ReturnType<typeof foreignData>>;
type Clinic = Awaited<ReturnType<typeof theClinic>>;

/** What portal A has, linked to what is foreign: by itself, and by the clinic. */
async function ownData({ organization, practitioner, schedule }: Clinic, foreign: Foreign) {
  const links = { generalPractitioner: [to(practitioner)], managingOrganization: to(organization) };
  const patient = await aPatient('portal-a', links);
  await aPatient('portal-a', { name: [{ family: 'Zweitens' }], birthDate: '1970-01-01' });
  const booking = await aBooking('portal-a', patient, schedule, 0);
  await aBooking('portal-a', patient, schedule, 120);
  const partOf = to(foreign.encounter);
  const period = { start: '2024-01-01', end: '2024-01-03' };
  const account = [{ reference: `Account/${randomUUID()}` }];
  const encounter = await anEncounter('portal-a', patient, booking.appointment, { partOf, period, account });
  const linked = { ...patient, link: [{ type: 'seealso', other: to(foreign.patient) }] };
  succeeded('Patient', await request('portal-a', 'PUT', `/Patient/${patient.id}`, { body: linked }));
  const relative = await made('RelatedPerson', {
    resourceType: 'RelatedPerson',
    patient: to(patient),
    name: [{ family: secret.family }],
    telecom: [{ system: 'phone', value: secret.phone }],
  });
  const added = [{ reference: foreign.booking.answers }, to(foreign.booking.appointment)];
  await edit('Appointment', booking.appointment.id, {
    supportingInformation: [...(booking.appointment.supportingInformation ?? []), ...added],
  } satisfies Partial<Appointment>);
  await edit('QuestionnaireResponse', booking.answers.split('/')[1], {
    source: to(foreign.patient),
    author: to(foreign.patient),
  } satisfies Partial<QuestionnaireResponse>);
  return { patient, booking, relative, encounter };
}

/** Values by search parameter that tell foreign data from other data. */
const guesses: Readonly<Record<string, readonly string[]>> = {
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
  date: ['ge2020-01-01', 'le2020-12-31', '2020-02-02', 'ne2024', '2024-01-02'],
  'date-start': ['ge2020-01-01', 'lt2021', '2020-02'],
  'end-date': ['ge2020-01-01', 'lt2021', 'ne2020'],
  account: [secret.account, `Account/${secret.account}`],
  status: ['booked', 'completed', 'free', 'busy', 'active', 'in-progress', 'planned', 'finished'],
  description: [secret.family],
  'part-status': ['accepted', 'tentative'],
  type: [secret.code],
  _lastUpdated: ['ge2020-01-01', 'lt2020-01-01'],
};

type Own = Awaited<ReturnType<typeof ownData>>;

/** The ids of resources, by type. */
function idsByType(resources: readonly Resource[]): Record<string, string[]> {
  const ids: Record<string, string[]> = {};
  for (const { resourceType, id } of resources) {
    ids[resourceType] = [...(ids[resourceType] ?? []), id ?? ''];
  }
  return ids;
}

async function wantedOf(clinic: Clinic, own: Own, foreign: Foreign): Promise<Wanted> {
  const published = [...(await stored('CodeSystem', '')).slice(0, 1), ...(await stored('ValueSet', '')).slice(0, 1)];
  const stable = idsByType([...Object.values(clinic), own.booking.slot, foreign.booking.slot, ...published]);
  const personal = [own, foreign].flatMap(({ patient, booking, encounter }) => [
    patient,
    booking.appointment,
    encounter,
  ]);
  const known = idsByType([...personal, ...foreign.others]);
  const references: Record<string, string[]> = {
    QuestionnaireResponse: [own.booking.answers, foreign.booking.answers],
    ...Object.fromEntries(
      Object.entries({ ...stable, ...known }).map(([type, ids]) => [type, ids.map((id) => `${type}/${id}`)]),
    ),
  };
  const values = {
    ...guesses,
    identifier: foreign.patient.identifier?.flatMap(({ value }) => value ?? []) ?? [],
    url: [clinic.questionnaire.url ?? ''],
    _id: Object.values(references).flatMap((all) => all.map((one) => one.split('/')[1] ?? '')),
    _tag: foreign.booking.appointment.meta?.tag?.map(({ system, code }) => `${system}|${code}`) ?? [],
  };
  return { values, references, stable };
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
  const foreign = await foreignData(clinic.schedule);
  const own = await ownData(clinic, foreign);
  const { patient, others, booking, encounter } = foreign;
  return {
    wanted: await wantedOf(clinic, own, foreign),
    telling: `_id=${own.patient.id}&link:Patient.family=${secret.family}`,
    exchange: async () => {
      await edit('Patient', patient.id, otherPatient);
      await Promise.all(others.map(({ id }) => medplum('front-desk', 'DELETE', `/Patient/${id}`)));
      await medplum('front-desk', 'DELETE', `/RelatedPerson/${own.relative.id}`);
      await edit('RelatedPerson', booking.person, { name: [{ family: 'Anders' }], telecom: [] });
      await edit('Encounter', encounter.id, {
        status: 'finished',
        type: [],
        identifier: [],
        account: [],
        period: { start: '2025-05-05' },
      } satisfies Partial<Encounter>);
      await edit('QuestionnaireResponse', booking.answers.split('/')[1], {
        status: 'in-progress',
        questionnaire: 'https://example.org/other',
        authored: '2025-05-05T10:00:00Z',
      } satisfies Partial<QuestionnaireResponse>);
      await edit('Appointment', booking.appointment.id, {
        description: 'other',
        reasonCode: [],
        participant: booking.appointment.participant.map((participant) => ({ ...participant, status: 'tentative' })),
      } satisfies Partial<Appointment>);
    },
  };
}
