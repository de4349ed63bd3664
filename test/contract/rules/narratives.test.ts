import { describe, expect, it } from '@jest/globals';
import { aClinic, aPatient, appointmentsOn, book, proposed, succeeded } from '../fixtures.ts';
import { issuesOf, medplum, request } from '../http.ts';

const xhtml = (inner: string) => ({
  status: 'additional' as const,
  div: `<div xmlns="http://www.w3.org/1999/xhtml">${inner}</div>`,
});
const safe = xhtml('<p>Please <b>ring</b> twice.</p>');
const active = xhtml('<img src="#x" onerror="alert(1)"/>');
const endless = { status: 'additional' as const, div: '<'.repeat(30_000) };
const parameters = (...parameter: readonly object[]) => ({ resourceType: 'Parameters', parameter });

describe('a narrative that is safe is stored as it is', () => {
  it('in a Patient', async () => {
    const answer = await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient', text: safe } });
    expect(succeeded('Patient', answer).text).toEqual(safe);
  });

  it('in an Appointment', async () => {
    const { slot, patient } = await aClinic();
    const answer = await book(proposed(patient, [slot], { text: safe }));
    expect(succeeded('Appointment', answer).text).toEqual(safe);
  });
});

describe.each([
  ['active', active],
  ['endless', endless],
])('a narrative that is %s is refused, and nothing is stored', (_, text) => {
  it('in a Patient that is created', async () => {
    const answer = await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient', text } });
    expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'profile-violation Patient.text.div']);
  });

  it('in a Patient that is written to Medplum itself', async () => {
    const { id: _, ...own } = await aPatient();
    expect((await medplum('portal-a', 'POST', '/Patient', { body: own })).status).toBe(201);
    expect((await medplum('portal-a', 'POST', '/Patient', { body: { ...own, text } })).status).toBeGreaterThan(399);
  });

  it('in what a Patient contains', async () => {
    const contained = [{ resourceType: 'Organization', id: 'o', name: 'O', text }];
    const body = { resourceType: 'Patient', contained, managingOrganization: { reference: '#o' } };
    const answer = await request('portal-a', 'POST', '/Patient', { body });
    expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'profile-violation Patient.contained[0].text.div']);
  });

  it('in a section of what a Patient contains', async () => {
    const section = [{ title: 'x', section: [{ text }] }];
    const contained = [{ resourceType: 'Composition', id: 'c', section }];
    const answer = await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient', contained } });
    expect([answer.status, ...issuesOf(answer)]).toEqual([
      422,
      'profile-violation Patient.contained[0].section[0].section[0].text.div',
    ]);
  });

  it('in a Patient that is replaced', async () => {
    const patient = await aPatient();
    const answer = await request('portal-a', 'PUT', `/Patient/${patient.id}`, { body: { ...patient, text } });
    expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'profile-violation Patient.text.div']);
  });

  it('in every resource of $book', async () => {
    const { slot } = await aClinic();
    const appointment = { ...proposed(await aPatient(), [slot], { text }), participant: [] };
    const participant = [
      { status: 'needs-action', actor: { reference: 'urn:uuid:a8e2ee0e-9a0c-4b1f-8f3e-0f6a4a1c6a01' } },
    ];
    const answers = {
      resourceType: 'QuestionnaireResponse',
      status: 'completed',
      item: [{ linkId: '1', text: 'Q' }],
      text,
    };
    const answer = await book(
      parameters(
        { name: 'appt-resource', resource: { ...appointment, participant } },
        { name: 'patient', resource: { resourceType: 'Patient', text } },
        { name: 'related-person', resource: { resourceType: 'RelatedPerson', text } },
        { name: 'patientSubmittedInformation', resource: answers },
      ),
    );
    const found = issuesOf(answer).filter((issue) => issue.startsWith('profile-violation'));
    expect(answer.status).toBe(422);
    expect(found).toEqual(
      [0, 1, 2, 3].map((index) => `profile-violation Parameters.parameter[${index}].resource.text.div`),
    );
    expect(await appointmentsOn(slot)).toEqual([]);
  });

  it('in what a PATCH makes of an Appointment: 400', async () => {
    const { slot, patient } = await aClinic();
    const { id } = succeeded('Appointment', await book(proposed(patient, [slot])));
    const answer = await request('portal-a', 'PATCH', `/Appointment/${id}`, {
      headers: { 'content-type': 'application/json-patch+json' },
      body: [{ op: 'add', path: '/text', value: text }],
    });
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'profile-violation Appointment.text.div']);
  });
});

it('a narrative in XML is judged alike', async () => {
  const answer = await request('portal-a', 'POST', '/Patient', {
    headers: { 'content-type': 'application/fhir+xml' },
    body: `<Patient xmlns="http://hl7.org/fhir"><text><status value="additional"/>${active.div}</text></Patient>`,
  });
  expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'profile-violation Patient.text.div']);
});
