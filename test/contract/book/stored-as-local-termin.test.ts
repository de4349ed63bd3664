import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { aClinic, appointmentsOn, book, ct, proposed } from '../fixtures.ts';
import { issuesOf } from '../http.ts';
import { config } from '../installation.ts';

const url = artefactUri(config, 'LocalTerminPriorityExtension');
const urgent = { system: config.terminologySystem, code: '103391001' };
const withCoding = (coding: object) => ({ url, valueCodeableConcept: { coding: [coding] } });
const priority = (...extension: object[]) => ({ _priority: { extension } });

it('meta.profile contains LocalTermin although the request claims none', async () => {
  const { slot, patient } = await aClinic();
  const { meta: _, ...body } = proposed(patient, [slot]);
  expect((await book(body)).status).toBe(201);
  const [appointment] = await appointmentsOn(slot);
  expect(appointment?.meta?.profile).toContain(artefactUri(config, 'LocalTermin'));
});

describe('what LocalTermin does not allow is refused: 422, and nothing is booked', () => {
  it.each<[string, Partial<Appointment> & { _priority?: object }, string[]]>([
    [
      'a service type without a system',
      { serviceType: [ct, { coding: [{ code: 'ct' }] }] },
      ['profile-violation Appointment.serviceType[1].coding[0]'],
    ],
    [
      'a service type without a code',
      { serviceType: [ct, { coding: [{ system: 'urn:types' }] }] },
      ['profile-violation Appointment.serviceType[1].coding[0]'],
    ],
    [
      'a specialty that is text only',
      { specialty: [{ text: 'Radiology' }] },
      ['profile-violation Appointment.specialty[0].coding'],
    ],
    [
      'two priorities',
      priority(withCoding(urgent), withCoding(urgent)),
      ['profile-violation Appointment.priority.extension'],
    ],
    ['another extension', priority({ url: 'urn:other' }), ['profile-violation Appointment.priority.extension']],
    [
      'a priority without a system',
      priority(withCoding({ code: '103391001' })),
      ['profile-violation Appointment.priority.extension[0].value.coding[0]'],
    ],
    [
      'a priority that is text only',
      priority({ url, valueCodeableConcept: { text: 'urgent' } }),
      ['profile-violation Appointment.priority.extension[0].value.coding'],
    ],
  ])('%s', async (_, change, issues) => {
    const { slot, patient } = await aClinic();
    const answer = await book({ ...proposed(patient, [slot]), ...change });
    expect(answer.status).toBe(422);
    expect(issuesOf(answer).filter((issue) => issue.startsWith('profile-violation'))).toEqual(issues);
    expect(await appointmentsOn(slot)).toEqual([]);
  });
});
