import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import { requestPublication, requestRollForward } from '../../../../bots/lib/calendar/request.ts';
import type { Answer } from '../../../../bots/lib/medplum.ts';
import { withCalendars } from '../../calendar/fixtures.ts';
import { config } from '../../config.ts';

const medplum = withCalendars();

const overtaken: Answer = { status: 412, body: { resourceType: 'OperationOutcome', issue: [] } };

const written = () => medplum().asked.filter(({ type }) => type === 'transaction');

const tasks = () => medplum().find<Task>('Task?_count=1000');

describe('the pass through all Schedules', () => {
  const request = (what: 'begin' | 'go-on') => requestRollForward(medplum().medplum, what);

  it.each(['begin', 'go-on'] as const)('is created if there is none (%s)', async (what) => {
    await request(what);
    const pass = await medplum().passThrough();
    expect(pass).toMatchObject({ status: 'requested', offset: 0, lastBegan: undefined });
    expect(Date.now() - (pass?.began ?? 0)).toBeLessThan(60_000);
    await request('go-on');
    expect(await tasks()).toHaveLength(1);
  });

  it('is created once, by whomever', async () => {
    let isFirst = true;
    medplum().interfere(async ({ type }) => {
      if (type === 'transaction' && isFirst) {
        isFirst = false;
        await medplum().pass();
      }
      return undefined;
    });
    await request('begin');
    expect(await tasks()).toHaveLength(1);
  });

  it('begins again, and remembers when the last one began', async () => {
    const { id } = await medplum().pass({ status: 'completed', offset: undefined, began: 1_000, madeUpAt: 5_000 });
    await request('begin');
    const pass = await medplum().passThrough();
    expect(pass).toMatchObject({ status: 'requested', offset: 0, lastBegan: 1_000, madeUpAt: 5_000, task: { id } });
    expect(pass?.began).toBeGreaterThan(1_000);
  });

  it('goes on where it was, if it has ended', async () => {
    const { id } = await medplum().pass({ status: 'completed', offset: undefined, began: 1_000, lastBegan: 500 });
    await request('go-on');
    expect(await medplum().passThrough()).toMatchObject({
      status: 'requested',
      offset: undefined,
      began: 1_000,
      lastBegan: 500,
      task: { id },
    });
  });

  it.each(['requested', 'in-progress'] as const)('needs no request to go on if it is %s', async (status) => {
    await medplum().pass({ status, offset: 50, began: 1_000 });
    await request('go-on');
    expect(written()).toEqual([]);
  });

  it.each(['begin', 'go-on'] as const)('begins again if somebody has cancelled its Task (%s)', async (what) => {
    const { id } = await medplum().change<Task>(await medplum().pass(), { status: 'cancelled' });
    await request(what);
    expect(await medplum().passThrough()).toMatchObject({ status: 'requested', offset: 0, task: { id } });
    expect(await tasks()).toHaveLength(1);
  });

  it('is requested on condition of its version, again if somebody was faster', async () => {
    await medplum().pass({ status: 'completed', offset: undefined, began: 1_000 });
    let isFirst = true;
    medplum().interfere(async ({ type }) => {
      const pass = await medplum().passThrough();
      if (type === 'transaction' && isFirst && pass) {
        isFirst = false;
        await medplum().change<Task>(pass.task, { status: 'in-progress' });
      }
      return undefined;
    });
    await request('begin');
    expect(written()).toHaveLength(2);
    expect(await medplum().passThrough()).toMatchObject({ status: 'requested', lastBegan: 1_000 });
  });

  it('is given up when others are always faster', async () => {
    medplum().interfere(({ type }) => (type === 'transaction' ? overtaken : undefined));
    await expect(request('begin')).rejects.toThrow(
      'The publication of all Schedules could not be requested: other requests were faster at each attempt.',
    );
    expect(written()).toHaveLength(config.maxAttempts);
  });

  it.each(['begin', 'go-on'] as const)('that cannot be written is an error (%s)', async (what) => {
    medplum().interfere(({ type }) => (type === 'transaction' ? 'not-connected' : undefined));
    await expect(request(what)).rejects.toThrow('The publication of all Schedules could not be requested (failed).');
    expect(written()).toHaveLength(1);
  });
});

describe('the publication of a Schedule', () => {
  const request = (schedule: string) => requestPublication(medplum().medplum, schedule);
  const publicationOf = (id: string) => medplum().publicationOf({ resourceType: 'Schedule', id, actor: [] });

  it('is requested at once, without asking for all others', async () => {
    await request('one');
    expect(await publicationOf('one')).toMatchObject({ status: 'requested', from: undefined });
    expect(await tasks()).toHaveLength(1);
    expect(medplum().asked.map(({ type }) => type)).toEqual(['batch', 'transaction']);
  });

  it('is created once, by whomever', async () => {
    let isFirst = true;
    medplum().interfere(async ({ type }) => {
      if (type === 'transaction' && isFirst) {
        isFirst = false;
        await medplum().publication({ schedule: 'one', status: 'requested' });
      }
      return undefined;
    });
    await request('one');
    await request('two');
    expect(await tasks()).toHaveLength(2);
  });

  it.each(['completed', 'failed', 'in-progress', 'accepted'] as const)('begins again after %s', async (status) => {
    const { id } = await medplum().publication({ schedule: 'one', status, from: 1_000, inputs: 'some' });
    await request('one');
    const publication = await publicationOf('one');
    expect(publication).toMatchObject({ status: 'requested', task: { id } });
    expect(publication?.task.input).toBeUndefined();
  });

  it('that waits for its first run is not requested twice', async () => {
    await medplum().publication({ schedule: 'one', status: 'requested' });
    await request('one');
    expect(written()).toEqual([]);
  });

  it('that is to go on begins again', async () => {
    await medplum().publication({ schedule: 'one', status: 'requested', from: 1_000 });
    await request('one');
    expect((await publicationOf('one'))?.from).toBeUndefined();
    expect(written()).toHaveLength(1);
  });

  it.each([
    ['two are', ['requested', 'in-progress'], 'accepted'],
    ['one is', ['in-progress'], 'requested'],
    ['others are done or wait', ['completed', 'failed', 'accepted', 'requested'], 'requested'],
  ] as const)('waits for its turn if others are published: %s', async (_, others, expected) => {
    for (const [index, status] of others.entries()) {
      await medplum().publication({ schedule: `other-${index}`, status });
    }
    await request('one');
    expect((await publicationOf('one'))?.status).toBe(expected);
    const pass = await medplum().passThrough();
    expect(pass?.status).toBe(expected === 'accepted' ? 'requested' : undefined);
  });

  it('does not wait for itself', async () => {
    await medplum().publication({ schedule: 'one', status: 'in-progress' });
    await medplum().publication({ schedule: 'two', status: 'in-progress' });
    await request('one');
    expect((await publicationOf('one'))?.status).toBe('requested');
    expect(await medplum().passThrough()).toBeUndefined();
  });

  it('that waits already still needs the pass', async () => {
    await medplum().publication({ schedule: 'two', status: 'in-progress' });
    await medplum().publication({ schedule: 'three', status: 'in-progress' });
    await medplum().publication({ schedule: 'one', status: 'accepted' });
    await request('one');
    expect(written().map(({ entries }) => entries)).toEqual([['POST Task']]);
    expect((await medplum().passThrough())?.status).toBe('requested');
  });

  it('that waits leaves a pass alone that goes on anyway', async () => {
    await medplum().publication({ schedule: 'two', status: 'in-progress' });
    await medplum().publication({ schedule: 'three', status: 'in-progress' });
    await medplum().pass({ status: 'in-progress', offset: 50 });
    await request('one');
    expect(await medplum().passThrough()).toMatchObject({ status: 'in-progress', offset: 50 });
  });

  it('is decided again if somebody was faster', async () => {
    await medplum().publication({ schedule: 'one', status: 'completed' });
    let isFirst = true;
    medplum().interfere(async ({ type }) => {
      const publication = await publicationOf('one');
      if (type === 'transaction' && isFirst && publication) {
        isFirst = false;
        await medplum().change<Task>(publication.task, { status: 'requested' });
      }
      return undefined;
    });
    await request('one');
    expect(written()).toHaveLength(1);
    expect((await publicationOf('one'))?.status).toBe('requested');
  });

  it('is given up when others are always faster', async () => {
    medplum().interfere(({ type }) => (type === 'transaction' ? overtaken : undefined));
    await expect(request('one')).rejects.toThrow(
      'The publication of Schedule/one could not be requested: other requests were faster at each attempt.',
    );
  });

  it('that cannot be written is an error', async () => {
    medplum().interfere(({ type }) => (type === 'transaction' ? 'no-answer' : undefined));
    await expect(request('one')).rejects.toThrow('The publication of Schedule/one could not be requested (lost).');
  });
});
