import { beforeAll, describe, expect, it } from '@jest/globals';
import { parseSearchRequest } from '@medplum/core';
import type { ResourceType } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { loadDefinitions } from '../../repository/definitions.ts';
import { idsToTry } from '../../search/plan.ts';
import { predicateOf } from '../../search/predicate.ts';
import type { SearchSource } from '../../search/source.ts';
import type { StoredResource, Write } from '../../storage/change.ts';
import { createStore } from '../../storage/store.ts';
import { beginTransaction, directUnit, type UnitOfWork } from '../../storage/unit-of-work.ts';

beforeAll(loadDefinitions);

const ids = [1, 2, 3].map((number) => `00000000-0000-4000-8000-00000000000${number}`);
const [first = '', second = ''] = ids;
const id = fc.constantFrom(...ids);
const flag = fc.boolean();
const code = fc.constantFrom('red', 'blue');
const questionnaires = ['https://example.org/one', 'https://example.org/two'];
const url = fc.constantFrom(...questionnaires);

/** Resources that refer to one another, of few ids, so that most references have a target. */
const resource: fc.Arbitrary<StoredResource> = fc.oneof(
  fc.record({ resourceType: fc.constant('Practitioner' as const), id, active: flag }),
  fc.record({
    resourceType: fc.constant('Schedule' as const),
    id,
    active: flag,
    actor: fc.array(
      id.map((one) => ({ reference: `Practitioner/${one}` })),
      { minLength: 1, maxLength: 2 },
    ),
  }),
  fc.record({
    resourceType: fc.constant('Slot' as const),
    id,
    status: fc.constantFrom('free', 'busy'),
    start: fc.constant('2027-01-01T09:00:00Z'),
    end: fc.constant('2027-01-01T10:00:00Z'),
    schedule: id.map((one) => ({ reference: `Schedule/${one}` })),
    identifier: fc.array(
      code.map((value) => ({ system: 'https://example.org', value })),
      { maxLength: 2 },
    ),
  }),
  fc.record({
    resourceType: fc.constant('Appointment' as const),
    id,
    status: fc.constantFrom('booked', 'pending'),
    participant: fc.constant([]),
    slot: fc.array(
      id.map((one) => ({ reference: `Slot/${one}` })),
      { maxLength: 2 },
    ),
  }),
  fc.record({ resourceType: fc.constant('Questionnaire' as const), id, status: fc.constant('active' as const), url }),
  fc.record({
    resourceType: fc.constant('QuestionnaireResponse' as const),
    id,
    status: fc.constant('completed' as const),
    questionnaire: url,
  }),
) as fc.Arbitrary<StoredResource>;

/** A version of a resource, or its end. */
const change = fc.record({ resource, isDeleted: fc.boolean() });
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const queries = [
  `Slot?_id=${first},${second}`,
  'Slot?status=free',
  `Slot?schedule=Schedule/${first}&status=busy`,
  'Slot?identifier=https://example.org|red',
  `Slot?schedule.actor=Practitioner/${first}`,
  `Slot?schedule.actor=Practitioner/${first}&status=free`,
  'Slot?schedule.active=true',
  `Slot?schedule:Schedule._has:Slot:schedule:_id=${first}`,
  `Slot?_has:Appointment:slot:_id=${second}`,
  'Slot?_has:Appointment:slot:status=booked',
  'Appointment?slot:Slot.identifier=https://example.org|blue',
  'Appointment?slot.schedule.actor:Practitioner.active=true',
  'Practitioner?_has:Schedule:actor:_has:Slot:schedule:status=free',
  `QuestionnaireResponse?questionnaire:Questionnaire._id=${first}`,
  `Questionnaire?_has:QuestionnaireResponse:questionnaire:_id=${first}`,
  `Slot?_id:not=${first}&schedule=Schedule/${second}`,
];

const sourceOf = (unit: UnitOfWork): SearchSource => ({ ...unit, assertSearchable: () => undefined });

describe('the resources among which a search looks', () => {
  it('have all that it is to find, in the same order: outside and inside of a transaction', async () => {
    const changes = fc.array(change, { maxLength: 15 });
    await fc.assert(
      fc.asyncProperty(changes, changes, changes, async (before, inside, meanwhile) => {
        const store = createStore(() => new Date());
        let count = 0;
        const writeOf = ({ resource: written, isDeleted }: Change): Write => ({
          type: written.resourceType,
          id: written.id,
          versionId: `${++count}`,
          lastUpdated: '2027-01-01T00:00:00Z',
          ...(!isDeleted && { resource: written }),
        });
        const compare = (unit: UnitOfWork): void => {
          const source = sourceOf(unit);
          for (const query of queries) {
            const { resourceType, filters = [] } = parseSearchRequest(query);
            const isWanted = predicateOf(source, resourceType, filters);
            const found = (among?: ReadonlySet<string>) =>
              [...source.newest(resourceType as ResourceType, among)]
                .filter((one) => one.resource && isWanted(one.resource))
                .map(({ versionId }) => versionId);
            expect([query, found(idsToTry(source, resourceType, filters))]).toEqual([query, found()]);
          }
        };
        store.apply(before.map(writeOf));
        const direct = directUnit(store, async () => undefined);
        compare(direct);
        const transaction = beginTransaction(
          store,
          async () => undefined,
          async () => undefined,
        );
        for (const write of inside.map(writeOf)) {
          await transaction.write({ write, interaction: write.resource ? 'update' : 'delete' });
        }
        compare(transaction);
        store.apply(meanwhile.map(writeOf));
        compare(transaction);
        compare(direct);
      }),
    );
  });
});

describe('the plan of a search', () => {
  it.each([
    [`Slot?_id=${first}`, [first]],
    [`Slot?schedule:Schedule._has:Slot:schedule:_id=${first}`, [first, second]],
    [`Slot?status=free&_has:Appointment:slot:_id=${second}`, [second]],
    [`Appointment?slot.schedule.actor=Practitioner/${first}`, [second]],
    ['Slot?_filter=status eq "free"', undefined],
  ])('%s looks at what it can find alone', (query, wanted) => {
    const store = createStore(() => new Date());
    const resources: StoredResource[] = [
      { resourceType: 'Schedule', id: first, actor: [{ reference: `Practitioner/${first}` }] },
      { resourceType: 'Schedule', id: second, actor: [] },
      ...ids.map((slot, at) => ({
        resourceType: 'Slot' as const,
        id: slot,
        status: 'free' as const,
        start: '2027-01-01T09:00:00Z',
        end: '2027-01-01T10:00:00Z',
        schedule: { reference: `Schedule/${at < 2 ? first : second}` },
      })),
      {
        resourceType: 'Appointment',
        id: second,
        status: 'booked',
        participant: [],
        slot: [{ reference: `Slot/${second}` }],
      },
    ];
    store.apply(
      resources.map((storedResource) => ({
        type: storedResource.resourceType,
        id: storedResource.id,
        versionId: storedResource.id,
        lastUpdated: '2027-01-01T00:00:00Z',
        resource: storedResource,
      })),
    );
    const { resourceType, filters = [] } = parseSearchRequest(query);
    const found = idsToTry(sourceOf(directUnit(store, async () => undefined)), resourceType, filters);
    expect(found && [...found].sort()).toEqual(wanted);
  });
});
