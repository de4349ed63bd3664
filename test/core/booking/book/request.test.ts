import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { asksForDryRun, parseBookRequest } from '../../../../core/booking/book/request/request.ts';
import { told } from '../../../lib/told.ts';
import { appointment, at, config, parameters, plan, resourceParameter } from '../support.ts';

describe('the form of a request', () => {
  it('of any JSON value whatsoever ends in a plan, never in an exception', () => {
    const keys = fc.constantFrom(
      'resourceType',
      'parameter',
      'name',
      'resource',
      'slot',
      'participant',
      'actor',
      'reference',
      'status',
      'start',
      'meta',
      'tag',
      '__proto__',
    );
    const words = fc.constantFrom(
      'Appointment',
      'Parameters',
      'Patient',
      'appt-resource',
      'patient',
      'proposed',
      'Slot/nine',
      at('09:00'),
    );
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 6 },
        words,
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie('json'), { maxLength: 3 }),
        fc.dictionary(keys, tie('json')),
      ),
    }));
    const shaped = fc.record(
      {
        ...Object.fromEntries(
          Object.keys(appointment()).map((key) => [key, fc.oneof(fc.constant(appointment()[key as 'slot']), json)]),
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          json,
          shaped.map((some) => ({ ...some, resourceType: 'Appointment' })),
        ),
        (body) => {
          const result = plan(body);
          expect(result.kind !== 'refuse' || result.issues.length > 0).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });
});

it.each<[unknown, boolean]>([
  [[{ name: 'dry-run', valueBoolean: true }], true],
  [[null, { name: 'x' }, { name: 'dry-run', valueBoolean: true }], true],
  [[{ name: 'dry-run', valueBoolean: false }], false],
  [[{ name: 'other', valueBoolean: true }], false],
  ['dry-run', false],
  [undefined, false],
])('the parameters %j ask for a dry run: %s', (parameter, expected) => {
  expect(asksForDryRun({ resourceType: 'Parameters', parameter })).toBe(expected);
  expect(asksForDryRun({ resourceType: 'Bundle', parameter })).toBe(false);
});

describe('a request to hold a time', () => {
  const { participant: _, ...anonymous } = appointment();
  const replacing = parameters(resourceParameter('appt-resource', appointment()), {
    name: 'cancelled-appt-id',
    valueReference: { reference: 'Appointment/a1' },
  });
  const issues = (body: unknown, purpose: 'book' | 'hold') => told(parseBookRequest(body, config, purpose).issues);

  it('needs no patient, unlike a booking', () => {
    expect(issues(anonymous, 'hold')).toEqual([]);
    expect(issues(anonymous, 'book')).not.toEqual([]);
  });

  it('replaces no appointment, unlike a booking', () => {
    expect(issues(replacing, 'hold')).toEqual(['parameter-unknown Parameters.parameter[1].valueReference']);
    expect(parseBookRequest(replacing, config, 'hold').request?.replaced).toBeUndefined();
    expect(parseBookRequest(replacing, config, 'book').request?.replaced?.value).toBe('a1');
  });
});
