import { describe, expect, it } from '@jest/globals';
import type { Basic } from '@medplum/fhirtypes';
import fc from 'fast-check';
import type { StoredResource, Write } from '../../../packages/sandbox/storage/change.ts';
import { createStore, type Lookup } from '../../../packages/sandbox/storage/store.ts';
import { beginTransaction, directUnit, type UnitOfWork } from '../../../packages/sandbox/storage/unit-of-work.ts';

const values = ['red', 'green', 'blue'];

/** A version of a resource; none of its values says that it is deleted. */
interface Step {
  readonly id: string;
  readonly colors: readonly string[];
}

const step: fc.Arbitrary<Step> = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  colors: fc.uniqueArray(fc.constantFrom(...values), { maxLength: 2 }),
});

const colorsOf = (resource: StoredResource): string[] =>
  resource.resourceType === 'Basic' ? (resource.identifier ?? []).flatMap(({ value }) => value ?? []) : [];

function versionOf({ id, colors }: Step, versionId: number): Write {
  const resource: Basic & { id: string } = {
    resourceType: 'Basic',
    id,
    code: {},
    identifier: colors.map((value) => ({ value })),
  };
  const lastUpdated = '2027-01-01T00:00:00Z';
  return { type: 'Basic', id, versionId: `${versionId}`, lastUpdated, ...(colors.length > 0 && { resource }) };
}

const lookup = (...wanted: string[]): Lookup => ({ name: 'color', valuesOf: colorsOf, wanted });

/** The versions that satisfy a lookup, among those of some ids. */
function found(unit: UnitOfWork, { wanted }: Lookup, ids?: ReadonlySet<string>): string[] {
  return [...unit.newest('Basic', ids)]
    .filter(({ resource }) => (resource ? colorsOf(resource) : []).some((color) => wanted.includes(color)))
    .map(({ id, versionId }) => `${id}/${versionId}`);
}

const asked = [lookup('red'), lookup('green', 'blue'), lookup()];

describe('what is looked up', () => {
  it('is what a look at everything finds, in the same order: outside and inside of a transaction', async () => {
    const steps = fc.array(step, { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(steps, steps, steps, steps, async (first, second, inside, meanwhile) => {
        const store = createStore(() => new Date());
        let count = 0;
        const commit = async (some: readonly Step[]) => store.apply(some.map((one) => versionOf(one, ++count)));
        const unit = directUnit(store, async () => undefined);
        const compare = (one: UnitOfWork) => {
          for (const each of asked) {
            const ids = one.ids('Basic', each);
            expect(ids.size).toBeLessThanOrEqual(one.mostIds('Basic', each));
            expect(found(one, each, ids)).toEqual(found(one, each));
          }
        };
        await commit(first);
        compare(unit);
        await commit(second);
        compare(unit);
        const transaction = beginTransaction(store, async () => undefined);
        for (const one of inside) {
          const write = versionOf(one, ++count);
          await transaction.write({ write, interaction: write.resource ? 'update' : 'delete' });
        }
        compare(transaction);
        await commit(meanwhile);
        compare(transaction);
        compare(unit);
      }),
    );
  });
});
