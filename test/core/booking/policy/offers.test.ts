import { expect, it } from '@jest/globals';
import type { Extension, HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import type { Role } from '../../../../core/booking/policy/caller-rights.ts';
import { bookableFilter } from '../../../../core/booking/policy/policy.ts';
import { parseBookRequest } from '../../../../core/booking/request/request.ts';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { SERVICE_TYPE_REFERENCE } from '../../../../core/fhir/reference.ts';
import { planBooking } from '../../../../core/visits/plan.ts';
import { appointment, config, now, patient, requestor, stateOf } from '../support.ts';

const HOUR = 3_600_000;
const iso = (moment: number) => new Date(moment).toISOString();

/** Hours, some of them impossible or absurd. */
const hours = fc.oneof({ arbitrary: fc.integer({ min: 0, max: 30 }), weight: 9 }, fc.constantFrom(-1, 100_000, 0.0001));

const part = fc
  .tuple(fc.constantFrom('leadTime', 'window'), hours)
  .map(([url, value]): Extension => ({ url, valueDuration: { value, code: 'h' } }));

const policy = fc
  .option(fc.array(part, { maxLength: 2 }), { nil: undefined })
  .map((extension) =>
    extension ? { extension: [{ url: artefactUri(config, 'LocalBookingPolicy'), extension }] } : {},
  );

const service = (id: string) =>
  policy.map((more): HealthcareService => ({ resourceType: 'HealthcareService', id, ...more }));

const referring = (id: string) => [
  { extension: [{ url: SERVICE_TYPE_REFERENCE, valueReference: { reference: `HealthcareService/${id}` } }] },
];

/** A Schedule: perhaps closed, with a policy, the calendar of a service, or naming one. */
const schedule = (id: string) =>
  fc
    .record({ active: fc.constantFrom(undefined, true, true, false), policy, actor: fc.boolean(), names: fc.boolean() })
    .map(
      ({ active, policy: more, actor, names }): Schedule => ({
        resourceType: 'Schedule',
        id,
        ...(active !== undefined && { active }),
        actor: [{ reference: actor ? 'HealthcareService/one' : 'Practitioner/1' }],
        ...(names && { serviceType: referring('two') }),
        ...more,
      }),
    );

/** A free Slot whose start lies on or beside the borders that policies draw. */
const slot = (id: string) =>
  fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: -2, max: 32 }), fc.constantFrom(-1, 0, 1)).map(
    ([of, hour, more]): Slot => ({
      resourceType: 'Slot',
      id,
      meta: { versionId: '1' },
      schedule: { reference: `Schedule/${of}` },
      status: 'free',
      start: iso(now + hour * HOUR + more),
      end: iso(now + hour * HOUR + more + HOUR / 2),
    }),
  );

/** Reads the conditions that `bookableFilter` writes, as a server does that knows `_filter`. */
function matches(filter: string | undefined, { schedule: { reference }, start = '' }: Slot): boolean {
  const condition = (text: string): boolean => {
    const [name, operator, value = ''] = text.split(' ');
    const operand = JSON.parse(value) as string;
    const holds: Record<string, boolean> = {
      'schedule ne': reference !== operand,
      'schedule re': reference === operand,
      'start ge': start >= operand,
      'start le': start <= operand,
    };
    const found = holds[`${name} ${operator}`];
    if (found === undefined) {
      throw new Error(`The filter has a condition that this test does not know: ${text}`);
    }
    return found;
  };
  const all = (text: string): boolean =>
    text
      .replace(/^\(|\)$/g, '')
      .split(' and ')
      .every(condition);
  return filter === undefined || filter.split(' or ').some(all);
}

it('what a search for free Slots offers can be booked, and what can be booked is offered', () => {
  const clinic = fc.record({
    schedules: fc.tuple(schedule('a'), schedule('b'), schedule('c')),
    services: fc.tuple(service('one'), service('two')),
    slots: fc.tuple(slot('1'), slot('2'), slot('3'), slot('4')),
    role: fc.constantFrom<Role>('requestor', 'staff'),
  });
  const seen = { offered: 0, refused: 0 };
  fc.assert(
    fc.property(clinic, ({ schedules, services, slots, role }) => {
      const filter = bookableFilter(schedules, services, [], role, now, config);
      const state = stateOf(patient, ...schedules, ...services, ...slots);
      const context = { now, requestor, config, newId: () => 'urn:uuid:1' };
      for (const one of slots) {
        const { serviceType: _, ...body } = appointment(whole(one));
        const plan = planBooking(parseBookRequest(body, config), { state, known: { role } }, context);
        const isOffered = Date.parse(one.start) > now && matches(filter, one);
        expect({ isOffered, kind: plan.kind }).toEqual({ isOffered, kind: isOffered ? 'write' : 'refuse' });
        seen[isOffered ? 'offered' : 'refused'] += 1;
      }
    }),
    { numRuns: 300 },
  );
  expect(Math.min(seen.offered, seen.refused)).toBeGreaterThan(100);
});

/** The elements of an appointment that takes the whole of a slot. */
function whole({ id, start, end }: Slot) {
  return {
    id: 'unknown',
    status: 'proposed' as const,
    start,
    end,
    slot: [{ reference: `Slot/${id}` }],
    meta: undefined,
  };
}
