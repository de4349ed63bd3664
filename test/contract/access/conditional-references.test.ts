/**
 * A reference that is a search (`Patient?family=…`) would be resolved by the server when it stores the resource, with the
 * rights of whoever stores it: an answer about resources that the caller may not read. None is taken.
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { aClinic, aPatient, book, parameters, proposed, slotsOf } from '../fixtures.ts';
import { isActionable, issuesOf, request, resourceIn } from '../http.ts';
import { subscription } from '../notifications/fixtures.ts';
import { aBooking, patch } from '../patch/fixtures.ts';

/** A search that finds a patient of portal B, and no other. */
async function aSearch(): Promise<string> {
  const value = randomUUID();
  await aPatient('portal-b', { identifier: [{ system: 'https://example.org/patients', value }] });
  return `Patient?identifier=${value}`;
}

const text = { status: 'generated' as const, div: '<div xmlns="http://www.w3.org/1999/xhtml">Allergies: none</div>' };
const item = [{ linkId: '1', text: 'Allergies', answer: [{ valueString: 'none' }] }];

type Sent = (reference: string) => readonly [appointment: object, ...others: (readonly [string, object])[]];

describe('a reference that is a search is refused', () => {
  it.each<[string, Sent, string]>([
    [
      'in the appointment',
      (reference) => [{ reasonReference: [{ reference }] }],
      'Parameters.parameter[0].resource.reasonReference[0].reference',
    ],
    [
      'in an extension',
      (reference) => [{ extension: [{ url: 'https://example.org/x', valueReference: { reference } }] }],
      'Parameters.parameter[0].resource.extension[0].valueReference.reference',
    ],
    [
      'in the patient',
      (reference) => [
        { participant: [{ actor: { reference: '#new' }, status: 'accepted' }] },
        ['patient', { resourceType: 'Patient', id: 'new', link: [{ type: 'seealso', other: { reference } }] }],
      ],
      'Parameters.parameter[1].resource.link[0].other.reference',
    ],
    [
      'in the answers',
      (reference) => [
        {},
        [
          'patientSubmittedInformation',
          { resourceType: 'QuestionnaireResponse', status: 'completed', text, item, source: { reference } },
        ],
      ],
      'Parameters.parameter[1].resource.source.reference',
    ],
  ])('%s of a booking', async (_, sent, expression) => {
    const { schedule, slot, patient } = await aClinic();
    const [appointment, ...others] = sent(await aSearch());
    const answer = await book(parameters({ ...proposed(patient, [slot]), ...appointment }, ...others));
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, `malformed-request ${expression}`]);
    expect(isActionable(answer)).toBe(true);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
  });

  it('also if it finds nothing, and asynchronously', async () => {
    const { slot, patient } = await aClinic();
    const body = { ...proposed(patient, [slot]), reasonReference: [{ reference: 'Patient?family=nobody' }] };
    for (const prefer of ['return=minimal', 'respond-async']) {
      const answer = await book(body, 'portal-a', { prefer });
      const expression = 'Appointment.reasonReference[0].reference';
      expect([answer.status, ...issuesOf(answer)]).toEqual([400, `malformed-request ${expression}`]);
    }
  });

  it('by PATCH', async () => {
    const { id } = await aBooking();
    const value = [{ reference: await aSearch() }];
    const answer = await patch(id, [{ op: 'add', path: '/reasonReference', value }]);
    expect([answer.status, ...issuesOf(answer)]).toEqual([
      400,
      'patch-invalid Appointment.reasonReference[0].reference',
    ]);
    const stored = resourceIn('Appointment', await request('portal-a', 'GET', `/Appointment/${id}`));
    expect(stored.reasonReference).toBeUndefined();
  });

  it('in a Patient', async () => {
    const own = await aPatient();
    const link = [{ type: 'seealso', other: { reference: await aSearch() } }];
    for (const [method, path, id] of [
      ['POST', '/Patient', undefined],
      ['PUT', `/Patient/${own.id}`, own.id],
    ] as const) {
      const answer = await request('portal-a', method, path, { body: { resourceType: 'Patient', id, link } });
      expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'malformed-request Patient.link[0].other.reference']);
    }
  });

  it('in a Subscription', async () => {
    const extension = [{ url: 'https://example.org/x', valueReference: { reference: await aSearch() } }];
    const body = subscription('https://example.org/hook', { more: { extension } });
    const answer = await request('portal-a', 'POST', '/Subscription', { body });
    expect([answer.status, ...issuesOf(answer)]).toEqual([
      400,
      'malformed-request Subscription.extension[0].valueReference.reference',
    ]);
  });
});
