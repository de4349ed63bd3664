import { describe, expect, it } from '@jest/globals';
import type { OperationOutcome } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { aClinic, book, parameters, proposed } from '../fixtures.ts';
import { type Answer, issuesOf, medplum, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';

const codesOf = (answer: Answer): string[] => issuesOf(answer).map((issue) => issue.split(' ')[0] ?? '');

const many = <T>(count: number, entry: T): T[] => Array.from({ length: count }, () => entry);
const outcome = (answer: Awaited<ReturnType<typeof book>>): OperationOutcome => resourceIn('OperationOutcome', answer);

describe('what is too much is refused before any work: 400 malformed-request', () => {
  it('more than 50 slots or participants, more than 20 answers: one issue', async () => {
    const { slot, patient } = await aClinic();
    const body = proposed(patient, [slot]);
    const responses = many(21, ['patientSubmittedInformation', { resourceType: 'QuestionnaireResponse' }] as const);
    for (const sent of [
      { ...body, slot: many(51, { reference: `Slot/${slot.id}` }) },
      { ...body, slot: many(20_000, 0) },
      { ...body, participant: many(51, body.participant?.[0]) },
      parameters(body, ...responses.map(([name, resource]): [string, object] => [name, resource])),
    ]) {
      const answer = await book(sent);
      expect([answer.status, codesOf(answer)]).toEqual([400, ['malformed-request']]);
    }
    expect((await book(body)).status).toBe(201);
  });

  it.each([
    ['$book', (extension: object[]) => ({ extension: [{ url: 'urn:a', extension }] })],
    ['deep in a participant', (extension: object[]) => ({ participant: [{ status: 'accepted', extension }] })],
    ['codes', (extension: object[]) => ({ serviceType: [{ coding: extension }] })],
    ['contained', (item: object[]) => ({ contained: [{ resourceType: 'Questionnaire', id: 'q', item }] })],
  ])('more values than Medplum checks at one go: %s, as JSON, as a job, and at the Bot itself', async (_, more) => {
    const { slot, patient } = await aClinic();
    const body = { ...proposed(patient, [slot]), ...more(many(5_000, { url: 'urn:x', valueString: 'x' })) };
    const system = artefactUri(config, 'LocalBot');
    const answers = [
      await book(body),
      await book(body, 'portal-a', { prefer: 'respond-async' }),
      await request('portal-a', 'POST', '/Appointment/$hold', { body }),
      await medplum('portal-a', 'POST', `/Bot/$execute?identifier=${system}|book`, { body }),
    ];
    for (const answer of answers) {
      expect([answer.status, codesOf(answer)]).toEqual([400, ['malformed-request']]);
    }
  });

  it('more values than Medplum checks at one go, in a Patient, in XML, and in what a PATCH makes', async () => {
    const { slot, patient } = await aClinic();
    const given = many(10_000, 'x');
    const sent = { resourceType: 'Patient', name: [{ family: 'M', given }] };
    expect((await request('portal-a', 'POST', '/Patient', { body: sent })).status).toBe(400);
    const xml = `<Patient xmlns="http://hl7.org/fhir"><name>${'<given value="x"/>'.repeat(10_000)}</name></Patient>`;
    const headers = { 'content-type': 'application/fhir+xml' };
    const answer = await request('portal-a', 'POST', '/Patient', { body: xml, headers });
    expect([answer.status, codesOf(answer)]).toEqual([400, ['malformed-request']]);
    const { id } = resourceIn('Appointment', await book(proposed(patient, [slot])));
    const grow = (path: string, value: unknown) =>
      request('portal-a', 'PATCH', `/Appointment/${id}`, {
        body: [{ op: 'add', path, value }],
        headers: { 'content-type': 'application/json-patch+json' },
      });
    const category = { coding: many(900, { code: 'x' }) };
    expect((await grow('/serviceCategory', [category])).status).toBe(200);
    expect((await grow('/serviceCategory/-', category)).status).toBe(200);
    const refused = await grow('/serviceCategory/-', category);
    expect([refused.status, codesOf(refused)]).toEqual([400, ['patch-invalid']]);
  });

  it('texts that Medplum would be busy with for everybody, in lists above all; files are taken', async () => {
    const { slot, patient } = await aClinic();
    const body = proposed(patient, [slot]);
    const [long, listed] = ['x'.repeat(300_000), 'x'.repeat(40_000)];
    const system = artefactUri(config, 'LocalBot');
    const named = { resourceType: 'Patient', name: [{ given: [listed] }] };
    const xml = `<Patient xmlns="http://hl7.org/fhir"><name><given value="${listed}"/></name></Patient>`;
    const answers = [
      await book({ ...body, comment: long }),
      await book({ ...body, comment: long }, 'portal-a', { prefer: 'respond-async' }),
      await medplum('portal-a', 'POST', `/Bot/$execute?identifier=${system}|book`, {
        body: { ...body, comment: long },
      }),
      await book(parameters({ ...body, participant: undefined }, ['patient', named])),
      await request('portal-a', 'POST', '/Patient', { body: named }),
      await request('portal-a', 'PUT', `/Patient/${patient.id}`, { body: { ...named, id: patient.id } }),
      await request('portal-a', 'POST', '/Patient', { body: xml, headers: { 'content-type': 'application/fhir+xml' } }),
    ];
    for (const answer of answers) {
      expect([answer.status, codesOf(answer)]).toEqual([400, ['malformed-request']]);
    }
    const photo = { contentType: 'image/jpeg', data: 'eHh4'.repeat(150_000) };
    const response = {
      ...{ resourceType: 'QuestionnaireResponse', status: 'completed' },
      text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Photo</div>' },
      item: [{ linkId: '1', text: 'Photo', answer: [{ valueAttachment: photo }] }],
    };
    expect((await book(parameters(body, ['patientSubmittedInformation', response]))).status).toBe(201);
  });

  it('a patch that attaches more than a booking may: 400 patch-invalid, and nothing is read of it', async () => {
    const { slot, patient } = await aClinic();
    const { id } = resourceIn('Appointment', await book(proposed(patient, [slot])));
    const value = many(51, 0).map((_, index) => ({ reference: `QuestionnaireResponse/${index}` }));
    const answer = await request('portal-a', 'PATCH', `/Appointment/${id}`, {
      body: [{ op: 'add', path: '/supportingInformation', value }],
      headers: { 'content-type': 'application/json-patch+json' },
    });
    expect([answer.status, issuesOf(answer)]).toEqual([400, ['patch-invalid Appointment.supportingInformation']]);
  });

  it('more than 50 entries in a list of a person, or identifiers too long to be searched for', async () => {
    const { slot, patient } = await aClinic();
    const appointment = proposed(patient, [slot]);
    const long = [{ system: 'urn:x', value: 'ü'.repeat(10_000) }];
    for (const body of [
      { resourceType: 'Patient', identifier: many(51, { value: 'x' }) },
      { resourceType: 'Patient', contained: many(10_000, { resourceType: 'Organization', id: 'o' }) },
      { resourceType: 'Patient', identifier: long },
    ]) {
      const created = await request('portal-a', 'POST', '/Patient', { body });
      expect([created.status, codesOf(created)]).toEqual([400, ['malformed-request']]);
      const replaced = await request('portal-a', 'PUT', `/Patient/${patient.id}`, {
        body: { ...body, id: patient.id },
      });
      expect([replaced.status, codesOf(replaced)]).toEqual([400, ['malformed-request']]);
      const handedOver = await book(parameters({ ...appointment, participant: undefined }, ['patient', body]));
      expect([handedOver.status, codesOf(handedOver)]).toEqual([400, ['malformed-request']]);
    }
    const answer = await book({ ...appointment, identifier: long });
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'malformed-request Appointment.identifier']);
    const longest = many(50, 0).map((_, index) => ({ system: 's'.repeat(200), value: `${index}`.padEnd(120, '|') }));
    expect((await book({ ...appointment, identifier: longest })).status).toBe(201);
  });

  it('of very many problems fifty are named, the last saying that there are more', async () => {
    const { slot, patient } = await aClinic();
    const serviceType = many(200, { coding: [{ code: 'x' }] });
    const answer = await book(proposed(patient, [slot], { serviceType }));
    expect(outcome(answer).issue).toHaveLength(50);
    expect(outcome(answer).issue.at(-1)?.diagnostics).toMatch(/more problems/);
  });

  it('implicitRules, unknown modifierExtension, references by search', async () => {
    const { slot, patient } = await aClinic();
    const body = proposed(patient, [slot]);
    for (const more of [
      { implicitRules: 'https://clinic.example/rules' },
      { modifierExtension: [{ url: 'https://clinic.example/not', valueBoolean: true }] },
      { basedOn: [{ reference: 'ServiceRequest?identifier=1' }] },
    ]) {
      const answer = await book({ ...body, ...more });
      expect([answer.status, codesOf(answer)]).toEqual([400, ['malformed-request']]);
    }
  });

  it('a narrative that is no XHTML never reaches the store: 422 profile-violation', async () => {
    const { slot, patient } = await aClinic();
    const text = { status: 'generated', div: '<'.repeat(80_000) };
    const answer = await book({ ...proposed(patient, [slot]), text });
    expect([answer.status, codesOf(answer)]).toEqual([422, ['profile-violation']]);
  });

  it('a FHIRPath Patch that would cost too much: 400 patch-invalid', async () => {
    const { slot, patient } = await aClinic();
    const specialty = many(800, { coding: [{ system: 'urn:x', code: 'x' }] });
    const { id } = resourceIn('Appointment', await book(proposed(patient, [slot], { specialty, comment: 'x' })));
    const path = `Appointment.specialty${".where(coding.code != 'x')".repeat(12)}.first()`;
    const operation = (at: string) => ({
      name: 'operation',
      part: [
        { name: 'type', valueCode: 'replace' },
        { name: 'path', valueString: at },
        { name: 'value', valueString: 'y' },
      ],
    });
    const send = (paths: string[]) =>
      request('portal-a', 'PATCH', `/Appointment/${id}`, {
        body: { resourceType: 'Parameters', parameter: paths.map(operation) },
      });
    const refused = await send(many(10, path));
    expect([refused.status, codesOf(refused)]).toEqual([400, ['patch-invalid']]);
    expect((await send(['Appointment.comment'])).status).toBe(200);
  });

  it('a minute of a slot, or a part between its steps: 422 period-invalid', async () => {
    const { slot, patient } = await aClinic({}, { end: '2031-01-06T12:00:00Z' });
    for (const [from, to] of [
      [0, 1],
      [3, 15],
    ]) {
      const answer = await book(proposed(patient, [slot], { from, to }));
      expect([answer.status, codesOf(answer)]).toEqual([422, ['period-invalid']]);
    }
    expect((await book(proposed(patient, [slot], { from: 5, to: 10 }))).status).toBe(201);
  });
});
