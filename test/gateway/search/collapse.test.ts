import { describe, expect, test } from '@jest/globals';
import { createCollapsing } from '../../../gateway/search/collapse.ts';
import { until } from '../../lib/until.ts';

const MINUTE = 60_000;

/** Work that ends when the test says so; each run has the number in which it began. */
function gated() {
  const runs: { readonly resolve: () => void; readonly reject: (reason: Error) => void }[] = [];
  const work = (): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const number = runs.push({ resolve: () => resolve(number), reject });
    return promise;
  };
  return { runs, work };
}

const allHaveRun = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('who wants the same while it is under way', () => {
  test('waits for one more run together with all others who do, and never gets a result that began before', async () => {
    const { share } = createCollapsing<number>(MINUTE);
    const { runs, work } = gated();
    const first = share('a', work);
    const later = Array.from({ length: 20 }, () => share('a', work));
    await allHaveRun();
    expect(runs).toHaveLength(1);
    runs[0]?.resolve();
    expect(await first).toBe(1);
    await allHaveRun();
    const last = share('a', work);
    expect(runs).toHaveLength(2);
    runs[1]?.resolve();
    expect(await Promise.all(later)).toEqual(Array.from({ length: 20 }, () => 2));
    await allHaveRun();
    runs[2]?.resolve();
    expect(await last).toBe(3);
    const afterwards = share('a', work);
    expect(runs).toHaveLength(4);
    runs[3]?.resolve();
    expect(await afterwards).toBe(4);
  });

  test('does not wait for who wants something else', async () => {
    const { share } = createCollapsing<number>(MINUTE);
    const { runs, work } = gated();
    const both = [share('a', work), share('b', work)];
    expect(runs).toHaveLength(2);
    for (const { resolve } of runs) {
      resolve();
    }
    expect(await Promise.all(both)).toEqual([1, 2]);
  });

  test('fails with those with whom it waits, and not with the run before', async () => {
    const { share } = createCollapsing<number>(MINUTE);
    const { runs, work } = gated();
    const all = [share('a', work), share('a', work), share('a', work)];
    const settled = Promise.allSettled(all);
    runs[0]?.reject(new Error('first'));
    await expect(all[0]).rejects.toThrow('first');
    await allHaveRun();
    runs[1]?.reject(new Error('second'));
    expect((await settled).map((one) => one.status === 'rejected' && String(one.reason))).toEqual([
      'Error: first',
      'Error: second',
      'Error: second',
    ]);
    const again = share('a', work);
    runs[2]?.resolve();
    expect(await again).toBe(3);
  });

  test('fails where the work cannot even begin, and the next can', async () => {
    const { share } = createCollapsing<number>(MINUTE);
    const broken = (): Promise<number> => {
      throw new Error('at once');
    };
    const settled = await Promise.allSettled([share('a', broken), share('a', broken)]);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await share('a', async () => 5)).toBe(5);
  });

  test('waits no longer than it may for a run that does not end', async () => {
    const { share } = createCollapsing<number>(1);
    const { runs, work } = gated();
    const stuck = share('a', work);
    const next = share('a', async () => 7);
    expect(await next).toBe(7);
    const afterwards = share('a', async () => 8);
    expect(await afterwards).toBe(8);
    runs[0]?.resolve();
    expect(await stuck).toBe(1);
  });

  test('waits for a run that began late, though the one before ended only then', async () => {
    const { share } = createCollapsing<number>(1);
    const { runs, work } = gated();
    const stuck = share('a', work);
    const second = share('a', work);
    await until(() => runs.length === 2);
    runs[0]?.resolve();
    expect(await stuck).toBe(1);
    await allHaveRun();
    const third = share('a', work);
    expect(runs).toHaveLength(2);
    runs[1]?.resolve();
    await until(() => runs.length === 3);
    runs[2]?.resolve();
    expect(await Promise.all([second, third])).toEqual([2, 3]);
  });
});
