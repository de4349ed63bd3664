import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Basic, BundleEntry, Resource } from '@medplum/fhirtypes';
import * as reading from '../../../bots/lib/read.ts';
import { withMedplum } from '../medplum.ts';

const medplum = withMedplum();

const basic = (text: string) => medplum().create<Basic>({ resourceType: 'Basic', code: { text } });

const idsOf = (found: readonly Resource[] | undefined) => found?.map(({ id }) => id);

describe('a read', () => {
  it.each([
    ['batch', reading.readInBatch],
    ['transaction', reading.readInTransaction],
  ] as const)('of searches, histories and ids gives resources (%s)', async (_, read) => {
    const one = await basic('one');
    const newer = await medplum().change<Basic>(one, { code: { text: 'newer' } });
    const found = await read(medplum().medplum, [
      `Basic?_id=${one.id}`,
      `Basic/${one.id}/_history`,
      `Basic/${one.id}`,
      'Basic?_id=absent',
    ]);
    expect(found.map(idsOf)).toEqual([[one.id], [one.id, one.id], [one.id], []]);
    expect(found[1]?.map(({ meta }) => meta?.versionId)).toEqual([newer.meta?.versionId, one.meta.versionId]);
  });

  it('has the rights of the Bot, or of somebody else', async () => {
    const one = await basic('one');
    const caller = await medplum().addClient('Reader', [{ resourceType: 'Patient', interaction: ['read', 'search'] }]);
    const { authorization } = caller;
    expect(await reading.readInTransaction(medplum().medplum, [`Basic?_id=${one.id}`])).toHaveLength(1);
    await expect(
      reading.readInTransaction(medplum().medplum, [`Basic?_id=${one.id}`], { authorization }),
    ).rejects.toThrow(reading.ReadError);
  });

  it('shows who has written a resource', async () => {
    const one = await basic('one');
    const [[found] = []] = await reading.readInBatch(medplum().medplum, [`Basic/${one.id}`]);
    expect(found?.meta?.author).toBeDefined();
  });

  it('is an error that has a name', async () => {
    medplum().interfere(() => 'not-connected');
    const failure = await reading.readInBatch(medplum().medplum, ['Basic']).catch((reason: unknown) => reason);
    expect(String(failure)).toBe('ReadError: The FHIR server could not be read. The FHIR server cannot be reached.');
  });

  it('that one of them refuses says so', async () => {
    const one = await basic('one');
    await expect(
      reading.readInBatch(medplum().medplum, [`Basic/${one.id}`, 'Basic/00000000-0000-4000-8000-000000000000']),
    ).rejects.toThrow('The FHIR server could not be read. It did not answer every entry of the batch.');
  });
});

describe('histories', () => {
  it('have deletions, too', async () => {
    const one = await basic('one');
    await medplum().fhir('DELETE', `Basic/${one.id}`);
    const [history] = await reading.readHistories(medplum().medplum, [`Basic/${one.id}/_history`]);
    expect(history?.entry?.map(({ resource }) => resource?.id)).toEqual([undefined, one.id]);
  });

  it('of which nothing is known are empty', async () => {
    const entry = [{ response: { status: '200' } }];
    medplum().interfere(() => ({ status: 200, body: { resourceType: 'Bundle', type: 'batch-response', entry } }));
    expect(await reading.readHistories(medplum().medplum, ['Basic/1/_history'])).toEqual([
      { resourceType: 'Bundle', type: 'history' },
    ]);
  });
});

describe('what a search leaves out', () => {
  const search = (url: string): BundleEntry => ({ request: { method: 'GET', url } });
  const whole = search('Slot?start=lt2031-01-01T00:00:00.000Z&end=gt2030-01-01T00:00:00.000Z&_count=950');
  const answer = (hasMore: boolean): BundleEntry => ({
    response: { status: '200' },
    resource: {
      resourceType: 'Bundle',
      type: 'searchset',
      ...(hasMore && { link: [{ relation: 'next', url: 'https://medplum.example/more' }] }),
    },
  });
  const rest = (...given: Parameters<typeof reading.readRest> extends [unknown, ...infer Others] ? Others : never) =>
    reading.readRest(medplum().medplum, ...given);

  it('is read if it must be whole, with the same rights', async () => {
    const { authorization } = await medplum().addClient('Everything');
    expect(await rest([whole], [answer(true)], { authorization })).toEqual([]);
  });

  it.each<[string, BundleEntry[], BundleEntry[]]>([
    ['there is no more', [whole], [answer(false)]],
    ['the first ones are enough', [search('Slot?end=gt2030&_sort=start')], [answer(true)]],
    ['it is about something else', [search('Basic')], [answer(true)]],
    ['nobody has asked', [], [answer(true)]],
  ])('is nothing if %s', async (_, searches, answers) => {
    expect(await rest(searches, answers)).toEqual([]);
  });
});

describe('searches that are read to their end', () => {
  it('give everything that they find', async () => {
    const one = await basic('one');
    const found = await reading.readWhole(medplum().medplum, [
      { request: { method: 'GET', url: `Basic?_id=${one.id}` } },
      {},
    ]);
    expect(idsOf(found)).toEqual([one.id]);
  });
});

it('the resources of one type are found among others', () => {
  const slot = { resourceType: 'Slot', id: '1' } as Resource;
  expect(reading.ofType('Slot', [slot, { resourceType: 'Basic', code: {} }])).toEqual([slot]);
  expect(reading.ofType('Slot')).toEqual([]);
});
