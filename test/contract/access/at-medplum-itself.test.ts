import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Appointment, Patient } from '@medplum/fhirtypes';
import { aClinic, aPatient, book, parameters, proposed } from '../fixtures.ts';
import { medplum, resourceIn } from '../http.ts';
import { medplumBase, tokenOf } from '../installation.ts';

/** What an answer must not contain: neither family name nor answers of the other portal's patient. */
const SECRETS = ['Verborgen', 'Geheimnis'];

let patient: Patient;
let appointment: Appointment;
let own: Patient;

beforeAll(async () => {
  const name = [{ family: SECRETS[0] ?? '', given: ['Eva'] }];
  const [clinic, named] = [await aClinic(), await aPatient('portal-a', { name })];
  const answers = {
    resourceType: 'QuestionnaireResponse',
    status: 'completed',
    text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${SECRETS[1]}</div>` },
    item: [{ linkId: '1', text: 'Why?', answer: [{ valueString: SECRETS[1] }] }],
  };
  const request = parameters(proposed(named, [clinic.slot]), ['patientSubmittedInformation', answers]);
  patient = named;
  appointment = resourceIn('Appointment', await book(request));
  own = await aPatient('portal-b');
});

const references = (): string[] => [
  `Patient/${patient.id}`,
  `Appointment/${appointment.id}`,
  appointment.supportingInformation?.[0]?.reference ?? '',
];

const ask = (method: string, path: string, body?: unknown, headers = {}) =>
  medplum('portal-b', method, path, { ...(body !== undefined && { body }), headers });

/** Whether an answer says nothing of the other portal's patient. */
const isSilent = ({ text }: { readonly text: string }): boolean => SECRETS.every((secret) => !text.includes(secret));

describe("with its credentials at Medplum itself, a portal and another's patient, appointment and answers", () => {
  it.each([
    ['GET', ''],
    ['GET', '/_history'],
    ['POST', '/$everything'],
    ['GET', '/$everything'],
    ['GET', '/$graph?graph=any'],
    ['GET', '/$summary'],
    ['GET', '/$ccda-export'],
    ['POST', '/$expunge'],
    ['POST', '/$set-accounts'],
  ])('%s [reference]%s: refused', async (method, suffix) => {
    for (const reference of references()) {
      const body = method === 'POST' ? { resourceType: 'Parameters' } : undefined;
      const answer = await ask(method, `/${reference}${suffix}`, body);
      expect({ reference, refused: answer.status >= 400 && answer.status < 500 }).toEqual({ reference, refused: true });
      expect(isSilent(answer)).toBe(true);
    }
  });

  it('single versions: not found', async () => {
    for (const { resourceType, id, meta } of [patient, appointment]) {
      expect((await ask('GET', `/${resourceType}/${id}/_history/${meta?.versionId}`)).status).toBe(404);
    }
  });

  it('batches, transactions and GraphQL: nothing of them', async () => {
    const entry = references().map((url) => ({ request: { method: 'GET', url } }));
    const type = ['batch', 'transaction'];
    for (const body of type.map((one) => ({ resourceType: 'Bundle', type: one, entry }))) {
      expect(isSilent(await ask('POST', '', body))).toBe(true);
    }
    const query = `{ Patient(id: "${patient.id}") { name { family } } PatientList { name { family } } }`;
    expect(isSilent(await ask('POST', '/$graphql', { query }))).toBe(true);
  });

  it.each([
    '_include=Slot:schedule&_revinclude=Appointment:slot',
    '_revinclude=Appointment:slot&_include:iterate=Appointment:patient',
  ])('a search for the slot with %s: nothing of them', async (include) => {
    const slot = appointment.slot?.[0]?.reference?.split('/')[1];
    const answer = await ask('GET', `/Slot?_id=${slot}&${include}`);
    const types = (resourceIn('Bundle', answer).entry ?? []).map(({ resource }) => resource?.resourceType);
    expect(types.filter((one) => one !== 'Slot' && one !== 'Schedule')).toEqual([]);
  });

  it('a link to the patient includes nothing of it', async () => {
    const link = [{ type: 'seealso', other: { reference: `Patient/${patient.id}` } }];
    await ask('PUT', `/Patient/${own.id}`, { ...own, link });
    expect(isSilent(await ask('GET', `/Patient?_id=${own.id}&_include=Patient:link`))).toBe(true);
    const query = `{ PatientList(_id: "${own.id}") { link { other { resource { ... on Patient { name { family } } } } } } }`;
    expect(isSilent(await ask('POST', '/$graphql', { query }))).toBe(true);
  });

  it('conditional writes change nothing of them', async () => {
    const value = patient.identifier?.[0]?.value;
    const body = { resourceType: 'Patient', meta: own.meta, gender: 'male' };
    const patch = [{ op: 'add', path: '/gender', value: 'male' }];
    await ask('PUT', `/Patient?identifier=${value}`, body);
    await ask('PATCH', `/Patient?identifier=${value}`, patch, { 'content-type': 'application/json-patch+json' });
    await ask('DELETE', `/Patient?identifier=${value}`);
    await ask('PUT', `/Patient/${patient.id}`, { ...body, id: patient.id });
    const stored = resourceIn('Patient', await medplum('portal-a', 'GET', `/Patient/${patient.id}`));
    expect(stored.meta?.versionId).toBe(patient.meta?.versionId);
  });

  it.each<[string, object]>([
    ['Subscription', { status: 'active', reason: 'x', criteria: 'Appointment', channel: { type: 'websocket' } }],
    [
      'Subscription',
      {
        status: 'active',
        reason: 'x',
        criteria: 'Patient',
        channel: { type: 'rest-hook', endpoint: 'https://example.org' },
      },
    ],
    ['Communication', { status: 'completed' }],
    ['Binary', { contentType: 'text/plain' }],
    ['Group', { type: 'person', actual: true }],
  ])('cannot have Medplum tell it of them by a %s of its own', async (resourceType, elements) => {
    expect((await ask('POST', `/${resourceType}`, { resourceType, meta: own.meta, ...elements })).status).toBe(403);
  });

  it.each(['$export', 'Patient/$export', 'Group/any/$export'])('%s: refused', async (operation) => {
    expect((await ask('GET', `/${operation}`)).status).toBeGreaterThanOrEqual(400);
  });

  it('administration of the project and the server: refused', async () => {
    const server = medplumBase.replace(/fhir\/R4$/, '');
    for (const path of ['admin/projects/any', 'admin/super/reindex', 'scim/v2/Users']) {
      const method = path.endsWith('reindex') ? 'POST' : 'GET';
      const headers = {
        authorization: `Bearer ${await tokenOf('portal-b', 'medplum')}`,
        'content-type': 'application/json',
      };
      const answer = await fetch(`${server}${path}`, { method, headers, ...(method === 'POST' && { body: '{}' }) });
      expect({ path, refused: answer.status >= 400 && answer.status < 500 }).toEqual({ path, refused: true });
    }
  });
});
