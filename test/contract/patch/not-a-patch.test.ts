import { describe, expect, it } from '@jest/globals';
import { isActionable, issuesOf } from '../http.ts';
import { aBooking, fhirPathPatch, operation, patch, read, replacing } from './fixtures.ts';

const op = (parts: Readonly<Record<string, object>>) => ({ resourceType: 'Parameters', parameter: [operation(parts)] });
const code = (value: string) => ({ valueCode: value });
const text = (value: string) => ({ valueString: value });
const number = (value: unknown) => ({ valueInteger: value });

const wrong: readonly (readonly [string, unknown])[] = [
  ['no operation', { resourceType: 'Parameters', parameter: [] }],
  ['another parameter', { resourceType: 'Parameters', parameter: [{ name: 'action' }] }],
  ['an unknown type', op({ type: code('upsert'), path: text('Appointment.status'), value: code('cancelled') })],
  ['no path', op({ type: code('replace'), value: code('cancelled') })],
  ['no value', op({ type: code('replace'), path: text('Appointment.status') })],
  ['replace of what is not there', fhirPathPatch(replacing('Appointment.comment', text('x')))],
  ['delete of what is not there', op({ type: code('delete'), path: text('Appointment.comment') })],
  ['an element that Appointment does not have', fhirPathPatch(replacing('Appointment.state', code('cancelled')))],
  ['another type', fhirPathPatch(replacing('Patient.active', { valueBoolean: false }))],
  [
    'add of a single element that is there',
    op({ type: code('add'), path: text('Appointment'), name: text('status'), value: code('cancelled') }),
  ],
  ['a path that climbs', fhirPathPatch(replacing('Appointment.slot.resolve().status', code('free')))],
  ['a union', fhirPathPatch(replacing('Appointment.status | Appointment.start', code('cancelled')))],
  ['unbalanced quotes', fhirPathPatch(replacing("Appointment.where(status = 'booked).status", code('cancelled')))],
  [
    '10,000 parentheses',
    fhirPathPatch(replacing(`${'('.repeat(10_000)}status${')'.repeat(10_000)}`, code('cancelled'))),
  ],
  [
    'insert far behind the end',
    op({
      type: code('insert'),
      path: text('Appointment.participant'),
      index: number(999_999_999),
      value: { valueReference: {} },
    }),
  ],
  [
    'insert before the beginning',
    op({ type: code('insert'), path: text('Appointment.participant'), index: number(-1), value: text('x') }),
  ],
  [
    'a text for a number',
    op({ type: code('insert'), path: text('Appointment.participant'), index: number('0'), value: text('x') }),
  ],
  ['a huge position', fhirPathPatch(replacing('Appointment.participant[999999999999999999999]', text('x')))],
  ['a negative position', fhirPathPatch(replacing('Appointment.participant[-1]', text('x')))],
  ['__proto__', op({ type: code('add'), path: text('Appointment'), name: text('__proto__'), value: text('x') })],
  ['constructor', op({ type: code('add'), path: text('Appointment'), name: text('constructor'), value: text('x') })],
  ['the id', fhirPathPatch(replacing('Appointment.id', { valueId: 'another' }))],
  ['the version', fhirPathPatch(replacing('Appointment.meta.versionId', { valueId: '1' }))],
  ['another resource type', fhirPathPatch(replacing('Appointment.resourceType', code('Patient')))],
  ['the whole', fhirPathPatch(replacing('Appointment', text('x')))],
  ['more than 100 operations', fhirPathPatch(...Array(1000).fill(replacing('Appointment.status', code('booked'))))],
  ['an unknown status', fhirPathPatch(replacing('Appointment.status', code('abandoned')))],
  ['a status of another kind', fhirPathPatch(replacing('Appointment.status', number(1)))],
  ['no status', op({ type: code('delete'), path: text('Appointment.status') })],
  [
    'an element that FHIR does not know',
    op({ type: code('add'), path: text('Appointment'), name: text('invented'), value: text('x') }),
  ],
  [
    'a value of the wrong kind',
    op({ type: code('add'), path: text('Appointment'), name: text('comment'), value: { valueInteger: 5 } }),
  ],
  [
    'a service type without system',
    fhirPathPatch(replacing('Appointment.serviceType[0].coding[0]', { valueCoding: { code: 'ct' } })),
  ],
  ['no participant status', op({ type: code('delete'), path: text('Appointment.participant[0].status') })],
  ["another requestor's tag", [{ op: 'add', path: '/meta/tag/1/code', value: 'another' }]],
  ['no profile', [{ op: 'remove', path: '/meta/profile' }]],
  ['JSON Patch: no list of operations', [{ path: '/status' }]],
  ['JSON Patch: a test that fails', [{ op: 'test', path: '/status', value: 'pending' }]],
  ['JSON Patch: no pointer', [{ op: 'replace', path: 'status', value: 'cancelled' }]],
  ['JSON Patch: a property of a list', [{ op: 'replace', path: '/participant/length', value: 0 }]],
  ['JSON Patch: behind the end', [{ op: 'add', path: '/participant/99999999', value: {} }]],
  ['JSON Patch: constructor', [{ op: 'add', path: '/constructor', value: {} }]],
  ['JSON Patch: prototype', [{ op: 'add', path: '/constructor/prototype/polluted', value: true }]],
  ['JSON Patch: __proto__', [{ op: 'add', path: '/__proto__/polluted', value: true }]],
  ['JSON Patch: the whole', [{ op: 'replace', path: '', value: { resourceType: 'Patient' } }]],
  ['JSON Patch: null', [{ op: 'replace', path: '/status', value: null }]],
  ['JSON Patch: doubling', Array.from({ length: 60 }, (_, index) => ({ op: 'copy', from: '', path: `/copy${index}` }))],
];

describe('what is no patch, or leads to no valid appointment', () => {
  it.each(wrong)('%s: 400, nothing changed', async (_, body) => {
    const { id, booked } = await aBooking();
    const answer = await patch(id, body);
    expect(answer.status).toBe(400);
    expect(issuesOf(answer)[0]).toMatch(/^(patch-invalid|immutable-element|profile-violation|malformed-request)/);
    expect(isActionable(answer)).toBe(true);
    expect(await read(id)).toEqual(booked);
  });

  it.each<[string, unknown, number, string]>([
    ['5 MB', JSON.stringify([{ op: 'add', path: '/comment', value: 'x'.repeat(5_000_000) }]), 413, 'json-patch+json'],
    ['not JSON', '{"resourceType":', 400, 'fhir+json'],
    ['no body', undefined, 400, 'fhir+json'],
    ['another resource', { resourceType: 'Appointment', status: 'cancelled' }, 400, 'fhir+json'],
    ['a list as FHIR', '[{"op":"replace","path":"/status","value":"cancelled"}]', 400, 'fhir+json'],
    ['Parameters as JSON Patch', { resourceType: 'Parameters' }, 400, 'json-patch+json'],
    ['a key that reaches the prototype', '[{"op":"test","path":"","__proto__":{"x":1}}]', 400, 'json-patch+json'],
    ['XML Patch', '<diff/>', 415, 'xml-patch+xml'],
    ['merge patch', { status: 'cancelled' }, 415, 'merge-patch+json'],
  ])('%s: %#', async (_, body, status, type) => {
    const { id, booked } = await aBooking();
    const answer = await patch(id, body, 'portal-a', { 'content-type': `application/${type}` });
    expect(answer.status).toBe(status);
    expect(isActionable(answer)).toBe(true);
    expect(await read(id)).toEqual(booked);
  });

  it('the next request is served', async () => {
    const { id } = await aBooking();
    const answer = await patch(id, fhirPathPatch(replacing('Appointment.status', code('cancelled'))));
    expect(answer.status).toBe(200);
  });
});
