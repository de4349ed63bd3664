import { describe, expect, it } from '@jest/globals';
import { aClinic, aPatient, book, parameters, proposed, succeeded } from '../fixtures.ts';
import { issuesOf, request, resourceIn } from '../http.ts';
import { submit, subscription } from '../notifications/fixtures.ts';

/** Names that every JavaScript object has: an element of this name is taken for one that exists. */
const names = ['toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf', 'toLocaleString'] as const;

const jsonPatch = { headers: { 'content-type': 'application/json-patch+json' } };

describe.each(names)('an element %s, which FHIR does not have, is refused', (name) => {
  it('in a Patient', async () => {
    const body = { resourceType: 'Patient', name: [{ family: 'X', [name]: 'x' }] };
    const answer = await request('portal-a', 'POST', '/Patient', { body });
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, `malformed-request Patient.name[0].${name}`]);
    const patient = await aPatient();
    const put = await request('portal-a', 'PUT', `/Patient/${patient.id}`, { body: { ...patient, [name]: 'x' } });
    expect([put.status, ...issuesOf(put)]).toEqual([400, `malformed-request Patient.${name}`]);
  });

  it('in $book', async () => {
    const { slot, patient } = await aClinic();
    const participant = [{ status: 'accepted', actor: { reference: `Patient/${patient.id}`, [name]: {} } }];
    const inAppointment = await book({ ...proposed(patient, [slot]), participant });
    expect([inAppointment.status, ...issuesOf(inAppointment)]).toEqual([
      400,
      `malformed-request Appointment.participant[0].actor.${name}`,
    ]);
    const sent = { ...proposed(patient, [slot]), participant: undefined };
    const inPatient = await book(parameters(sent, ['patient', { resourceType: 'Patient', [name]: 'x' }]));
    expect([inPatient.status, ...issuesOf(inPatient)]).toEqual([
      400,
      `malformed-request Parameters.parameter[1].resource.${name}`,
    ]);
  });

  it('in what a PATCH makes of an Appointment', async () => {
    const { slot, patient } = await aClinic();
    const appointment = succeeded('Appointment', await book(proposed(patient, [slot])));
    for (const path of ['', '/meta', '/participant/0', '/participant/0/actor']) {
      const body = [{ op: 'add', path: `${path}/${name}`, value: 'x' }];
      const answer = await request('portal-a', 'PATCH', `/Appointment/${appointment.id}`, { body, ...jsonPatch });
      expect([answer.status, issuesOf(answer).every((issue) => issue.startsWith('patch-invalid'))]).toEqual([
        400,
        true,
      ]);
    }
    const now = await request('portal-a', 'GET', `/Appointment/${appointment.id}`);
    expect(resourceIn('Appointment', now)).toEqual(appointment);
  });

  it('in a Subscription, and where text is expected', async () => {
    const sent = subscription('https://example.com/notifications');
    const added = await submit({ ...sent, channel: { ...sent.channel, [name]: 'x' } });
    expect([added.status, ...issuesOf(added)]).toEqual([400, `malformed-request Subscription.channel.${name}`]);
    const object = { [name]: 1, toString: 1 };
    const channel = { type: object, endpoint: object, payload: object, header: [object] };
    const objects = await submit({ ...sent, status: object, criteria: object, end: object, channel });
    expect(objects.status).toBe(400);
    expect(objects.text.length).toBeLessThan(20_000);
  });
});

it('a value of an operation that is an object of such names counts as absent', async () => {
  const parameter = [{ name: 'id', valueId: { toString: 1 } }, { name: 'status', valueCode: [[{ valueOf: 1 }]] }, null];
  const body = { resourceType: 'Parameters', parameter };
  const answer = await request('portal-a', 'POST', '/Subscription/$status', { body });
  expect([answer.status, resourceIn('Bundle', answer).type]).toEqual([200, 'searchset']);
});
