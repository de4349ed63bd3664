import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { answers, aPatient, aSchedule, aSlot, book, proposed, simultaneously, slotsOf, stored } from '../fixtures.ts';
import { refusalOf, resourceIn } from '../http.ts';
import { config } from '../installation.ts';

const child = (id: string): Patient => ({
  resourceType: 'Patient',
  id,
  identifier: [{ system: 'https://example.org/patients', value: randomUUID() }],
  name: [{ family: 'Muster', given: [id] }],
});

/** Appointments of a family in one calendar, one after the other, each for whom its reference names. */
async function aFamily(...references: readonly string[]) {
  const schedule = await aSchedule();
  const slots = await simultaneously(references.length, (index) => aSlot(schedule, index * 30, index * 30 + 30));
  const appointments = references.map(
    (reference, index): Appointment => ({
      ...proposed(child('nobody'), slots.slice(index, index + 1), { from: index * 30, to: index * 30 + 30 }),
      participant: [{ actor: { reference }, status: 'accepted' }],
    }),
  );
  const body = (...more: readonly (readonly [name: string, resource: unknown])[]) => ({
    resourceType: 'Parameters',
    parameter: [
      ...appointments.map((resource) => ({ name: 'appt-resource', resource })),
      ...more.map(([name, resource]) => ({ name, resource })),
    ],
  });
  return { schedule, body };
}

describe('a family', () => {
  it('is booked in one request: each for its own patient, answers with theirs, no visit', async () => {
    const parent = await aPatient();
    const { schedule, body } = await aFamily('#emma', '#paul', `Patient/${parent.id}`, '#emma');
    const [emma, paul] = [child('emma'), child('paul')];
    const response = await book(
      body(
        ['patient', emma],
        ['patient', paul],
        ['patientSubmittedInformation', { ...answers, subject: { reference: '#paul' } }],
      ),
    );
    const booked = (resourceIn('Bundle', response).entry ?? []).flatMap(({ resource }) =>
      isResource(resource, 'Appointment') ? [resource] : [],
    );
    const patients = await Promise.all(
      [emma, paul].map(({ identifier }) => stored('Patient', `identifier=${identifier?.[0]?.value}`)),
    );
    const [made, other] = patients.map((found) => found.map(({ id }) => `Patient/${id}`));
    expect([made?.length, other?.length]).toEqual([1, 1]);
    expect(booked.map(({ participant }) => participant[0]?.actor?.reference)).toEqual([
      made?.[0],
      other?.[0],
      `Patient/${parent.id}`,
      made?.[0],
    ]);
    const system = artefactUri(config, 'LocalVisitGroup');
    const groups = booked.map(({ identifier = [] }) => identifier.find((one) => one.system === system)?.value);
    expect([groups[0] === groups[3], groups[1], groups[2]]).toEqual([true, undefined, undefined]);
    expect(booked.map(({ supportingInformation = [] }) => supportingInformation.length)).toEqual([0, 1, 0, 0]);
    expect((await slotsOf(schedule)).every((slot) => slot.startsWith('busy '))).toBe(true);
  });

  it.each<[string, readonly string[], readonly string[], readonly [number, string]]>([
    [
      'a patient whom no appointment names',
      ['#a', '#a'],
      ['a', 'b'],
      [400, 'malformed-request Parameters.parameter[3].resource.id'],
    ],
    [
      'a patient who is not sent',
      ['#a', '#c'],
      ['a', 'b'],
      [400, 'malformed-request Parameters.parameter[1].resource.participant[0].actor'],
    ],
  ])('is refused as a whole: %s', async (_, references, ids, refusal) => {
    const { schedule, body } = await aFamily(...references);
    const refused = await book(body(...ids.map((id) => ['patient', child(id)] as const)));
    const [status, issue] = refusal;
    expect([refused.status, refused.text]).toEqual([status, expect.stringContaining(issue.split(' ')[1] ?? '')]);
    expect((await slotsOf(schedule)).every((slot) => slot.startsWith('free '))).toBe(true);
  });

  it.each<[string, (ids: readonly string[]) => readonly string[], readonly string[]]>([
    ['stored patients', (ids) => ids.map((id) => `Patient/${id}`), []],
    ['one that is sent', ([id]) => [`Patient/${id}`, '#emma'], ['emma']],
  ])('answers are only of whom they are about: %s', async (_, references, sent) => {
    const people = await simultaneously(2, () => aPatient());
    const ids = people.map(({ id = '' }) => id);
    const { schedule, body } = await aFamily(...references(ids));
    const patients = sent.map((id) => ['patient', child(id)] as const);
    const at = 2 + patients.length;
    expect(refusalOf(await book(body(...patients, ['patientSubmittedInformation', answers])))).toEqual([
      400,
      `malformed-request Parameters.parameter[${at}].resource.subject`,
    ]);
    expect(await slotsOf(schedule)).toEqual(['free 0-30', 'free 30-60']);
    const subject = { reference: references(ids)[0] };
    const response = await book(body(...patients, ['patientSubmittedInformation', { ...answers, subject }]));
    const booked = (resourceIn('Bundle', response).entry ?? []).flatMap(({ resource }) =>
      isResource(resource, 'Appointment') ? [resource] : [],
    );
    expect(booked.map(({ supportingInformation = [] }) => supportingInformation.length)).toEqual([1, 0]);
    const [reference] = booked[0]?.supportingInformation ?? [];
    const [kept] = await stored('QuestionnaireResponse', `_id=${reference?.reference?.split('/')[1]}`);
    expect(kept?.subject?.reference).toBe(`Patient/${ids[0]}`);
  });

  it('is refused as a whole with a patient of another portal', async () => {
    const foreign = await aPatient('portal-b');
    const { schedule, body } = await aFamily('#a', `Patient/${foreign.id}`);
    expect(refusalOf(await book(body(['patient', child('a')])))).toEqual([
      422,
      'patient-not-found Parameters.parameter[1].resource.participant[0].actor',
    ]);
    expect(await slotsOf(schedule)).toEqual(['free 0-30', 'free 30-60']);
  });
});
