import { expect, it } from '@jest/globals';
import type { Patient } from '@medplum/fhirtypes';
import { duplicatesOf, mergeTransaction } from '../../../../core/booking/patient/deduplicate.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { config } from '../support.ts';

const submitted = (id: string, second: number, { owner = 'portal', author = 'Bot/1', value = 'A' } = {}): Patient => ({
  resourceType: 'Patient',
  id,
  meta: {
    versionId: `${id}-1`,
    lastUpdated: `2027-01-01T00:00:0${second}.000Z`,
    author: { reference: author },
    tag: [requestorTag(owner, config)],
  },
  identifier: [{ system: 'urn:kvnr', value }],
});

it('of patients that bookings have made at the same moment the eldest stays', () => {
  const [one, two, three] = [submitted('a', 1), submitted('b', 2), submitted('c', 3)];
  for (const patient of [one, two, three]) {
    expect(duplicatesOf(patient, [three, two, one], config)).toEqual({ oldest: one, duplicates: [two, three] });
  }
});

it.each<[string, Patient]>([
  ["another requestor's", submitted('b', 2, { owner: 'other' })],
  ['submitted directly', submitted('b', 2, { author: 'ClientApplication/portal' })],
  ['with another identifier', submitted('b', 2, { value: 'B' })],
  ['inactive', { ...submitted('b', 2), active: false }],
])('one that is %s is nobody’s twin', (_, other) => {
  const patient = submitted('a', 1);
  expect(duplicatesOf(patient, [patient, other], config).duplicates).toEqual([]);
  expect(duplicatesOf(other, [patient, other], config).duplicates).toEqual([]);
});

it('what the gateway has written counts as written by the service', () => {
  const own = { ...config, gatewayClient: 'gateway' };
  const [one, two] = [submitted('a', 1), submitted('b', 2, { author: 'ClientApplication/gateway' })];
  expect(duplicatesOf(one, [one, two], own)).toEqual({ oldest: one, duplicates: [two] });
});

it('is merged under its version', () => {
  const [entry] = mergeTransaction(submitted('b', 2), submitted('a', 1)).entry ?? [];
  expect(entry).toMatchObject({
    request: { method: 'PUT', url: 'Patient/b', ifMatch: 'W/"b-1"' },
    resource: { active: false, link: [{ type: 'replaced-by', other: { reference: 'Patient/a' } }] },
  });
});
