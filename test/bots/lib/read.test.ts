import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import { readPages } from '../../../bots/lib/read.ts';
import { nextMoment } from '../clock.ts';
import { withMedplum } from '../medplum.ts';

const medplum = withMedplum();

/** Tasks of one code, each due at a minute. */
async function tasks(code: string, minutes: readonly number[]): Promise<Task[]> {
  const made: Task[] = [];
  for (const minute of minutes) {
    const start = new Date(Date.UTC(2030, 0, 1, 8, minute)).toISOString();
    const coding = [{ system: 'urn:test', code }];
    const task: Task = { resourceType: 'Task', status: 'requested', intent: 'order', code: { coding } };
    await nextMoment();
    made.push(await medplum().create<Task>({ ...task, restriction: { period: { start } } }));
  }
  return made;
}

const search = (code: string): string => `Task?code=urn:test|${code}&status=requested`;

type Paging = Parameters<typeof readPages>[2];

/** The ids that each page has. */
async function pagesOf(code: string, paging: Paging) {
  const pages: (string | undefined)[][] = [];
  for await (const [page = []] of readPages(medplum().medplum, [search(code)], paging)) {
    pages.push(page.map(({ id }) => id));
  }
  return pages;
}

const idsOf = (made: readonly Task[]) => made.map(({ id }) => id);

describe('what is read page by page', () => {
  it('comes in the order that was asked for, whole', async () => {
    const made = await tasks('order', [5, 4, 3, 2, 1]);
    const dueFirst = (await pagesOf('order', { order: 'due-date', count: 2 })).flat();
    expect([...new Set(dueFirst)]).toEqual(idsOf(made).reverse());
    const latestFirst = (await pagesOf('order', { isLatestFirst: true, count: 2 })).flat();
    expect([...new Set(latestFirst)]).toEqual(idsOf(made).reverse());
  });

  it('has all results that stand at one place in the order, however many pages they fill', async () => {
    const made = await tasks('same', [7, 7, 7, 7, 7, 8]);
    const read = (await pagesOf('same', { order: 'due-date', count: 2 })).flat();
    expect(new Set(read)).toEqual(new Set(idsOf(made)));
  });

  it('leaves nothing out when what was read is no longer found', async () => {
    const made = await tasks('ended', [1, 2, 3, 4, 5, 6]);
    const seen: (string | undefined)[] = [];
    for await (const [page = []] of readPages(medplum().medplum, [search('ended')], { order: 'due-date', count: 2 })) {
      seen.push(...page.map(({ id }) => id));
      const [first] = made.filter(({ id, status }) => id === page[0]?.id && status === 'requested');
      await (first && medplum().change(first, { status: 'completed' }));
    }
    expect(new Set(seen)).toEqual(new Set(idsOf(made)));
  });
});
