import '../../../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment, Bundle, BundleEntry, Task } from '@medplum/fhirtypes';
import type { Answer } from '../../../../../bots/lib/medplum.ts';
import {
  isCut,
  momentOf,
  readAppointmentHistories,
} from '../../../../../bots/lib/notifications/events/appointment-histories.ts';
import type { SubscriptionOutbox } from '../../../../../bots/lib/notifications/outbox-store.ts';
import { checkpointTask } from '../../../../../core/notifications/delivery/checkpoint.ts';
import { config } from '../../../config.ts';
import { withMedplum } from '../../../medplum.ts';
import { anAppointment, forgetOutboxes, rewrite, subscribe } from './fixtures.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

/** What was asked of Medplum since so many requests. */
const askedSince = (count: number): string[] =>
  medplum()
    .asked.slice(count)
    .flatMap(({ entries }) => entries.map((one) => one.replace(/^GET Appointment\/[^/]+/, '')));

async function readOf(
  appointments: readonly Pick<Appointment, 'id'>[],
  outboxes: readonly SubscriptionOutbox[],
): Promise<{ found: Bundle[]; asked: string[] }> {
  const before = medplum().asked.length;
  const about = appointments.map(({ id }) => `Appointment/${id}`);
  const found = await readAppointmentHistories(medplum().medplum, about, outboxes);
  return { found, asked: askedSince(before) };
}

const commentsIn = ({ entry = [] }: Bundle): (string | undefined)[] =>
  entry.map(({ resource }) => (resource?.resourceType === 'Appointment' ? resource.comment : undefined));

/** An appointment of which more versions were written than are usually looked at. */
async function changedOften(): Promise<Appointment> {
  const appointment = await anAppointment(medplum());
  await rewrite(medplum(), appointment, 53);
  return appointment;
}

const versionAt = ({ entry = [] }: Bundle, index: number) => {
  const resource = entry[index]?.resource;
  return resource?.resourceType === 'Appointment' ? resource : undefined;
};

const newestFirst = (count: number) => [
  ...Array.from({ length: count }, (_, index) => `Change ${count - 1 - index}`),
  undefined,
];

describe('the history of an appointment', () => {
  it('is read at once if it has few versions', async () => {
    const appointment = await anAppointment(medplum());
    await rewrite(medplum(), appointment, 3);
    const { found, asked } = await readOf([appointment], [await subscribe(medplum())]);
    expect(found.map(commentsIn)).toEqual([newestFirst(3)]);
    expect(asked).toEqual(['/_history?_count=50']);
  });

  it('is read to the moment at which the first subscriber began to listen', async () => {
    const appointment = await changedOften();
    const other = await anAppointment(medplum());
    const outboxes = [await subscribe(medplum(), { outbox: { since: Date.now() } }), await subscribe(medplum())];
    const { found, asked } = await readOf([other, appointment, other], outboxes);
    expect(found.map(({ entry }) => entry?.length)).toEqual([1, 54, 1]);
    expect(found.map(commentsIn)[1]).toEqual(newestFirst(53));
    expect(asked).toEqual([
      ...Array(3).fill('/_history?_count=50'),
      expect.stringMatching(/^GET Task\?code=.*announce$/),
      '/_history?_count=200&_offset=50',
    ]);
  });

  it.each([
    ['the oldest version that was read', 0, 54],
    ['a later one', 1, 50],
  ])('with older versions is read on if a subscriber listens since %s', async (_, more, count) => {
    const appointment = await changedOften();
    const { body } = await medplum().fhir<Bundle>('GET', `Appointment/${appointment.id}/_history?_count=50`);
    const since = momentOf(versionAt(body, 49)) + more;
    const { found } = await readOf([appointment], [await subscribe(medplum(), { outbox: { since } })]);
    expect(found.map(({ entry }) => entry?.length)).toEqual([count]);
  });

  it.each([
    ['since then', 10 * 60_000, 50],
    ['before', 60_000, 54],
  ])('with older versions is not read on if all events are recorded that happened %s', async (_, settled, count) => {
    const appointment = await changedOften();
    const now = Date.now();
    await medplum().create<Task>(checkpointTask({ until: now, settled: now + settled }, config));
    const { found } = await readOf([appointment], [await subscribe(medplum())]);
    expect(found.map(({ entry }) => entry?.length)).toEqual([count]);
  });

  it('has each version once, though another one is written while it is read', async () => {
    const appointment = await changedOften();
    const stored = await subscribe(medplum());
    medplum().interfere(async ({ entries }) => {
      if (entries[0]?.includes('_offset')) {
        await medplum().change(appointment, { comment: 'Meanwhile' });
      }
      return undefined;
    });
    const { found } = await readOf([appointment], [stored]);
    expect(found.map(commentsIn)).toEqual([newestFirst(53)]);
  });
});

describe('a history that somebody else keeps', () => {
  const versionOf = (number: number, age = 1000): BundleEntry => ({
    resource: {
      resourceType: 'Appointment',
      id: 'a1',
      status: 'booked',
      participant: [{ status: 'accepted' }],
      meta: { versionId: `v${number}`, lastUpdated: new Date(Date.now() - age).toISOString() },
    },
  });

  const deletionAt = (time: string): BundleEntry => ({
    request: { method: 'DELETE', url: 'Appointment/a1' },
    response: {
      status: '410',
      outcome: {
        resourceType: 'OperationOutcome',
        issue: [{ code: 'deleted', severity: 'error', details: { text: `Deleted on ${time}` } }],
      },
    },
  });

  /** Answers pages of a history: so many entries are said to be in it. */
  function keeping(pages: readonly (readonly BundleEntry[])[], total: number): void {
    let page = 0;
    medplum().interfere(({ entries }): Answer | undefined => {
      if (!entries[0]?.includes('/_history')) {
        return undefined;
      }
      const resource = { resourceType: 'Bundle', type: 'history', total, entry: pages[page] };
      page += 1;
      const entry = [{ response: { status: '200' }, resource }];
      return { status: 200, body: { resourceType: 'Bundle', type: 'batch-response', entry } };
    });
  }

  const many = (first: number, count: number) => Array.from({ length: count }, (_, index) => versionOf(first + index));

  it('is read as far as Medplum pages', async () => {
    const pages = [many(0, 50), ...Array.from({ length: 60 }, (_, index) => many(50 + index * 200, 200))];
    keeping(pages, 20_000);
    const { found, asked } = await readOf([{ id: 'a1' }], [await subscribe(medplum())]);
    expect(found.map(({ entry }) => entry?.length)).toEqual([10_050]);
    const offsets = asked.flatMap((one) => /_offset=(.*)$/.exec(one)?.[1] ?? []);
    expect(offsets).toEqual(Array.from({ length: 50 }, (_, index) => String(50 + index * 200)));
  });

  it.each([
    ['is empty', []],
    ['says nothing', undefined],
  ])('is not read on when a page %s', async (_, page) => {
    keeping([many(0, 50), ...(page ? [page] : [])], 300);
    const { found, asked } = await readOf([{ id: 'a1' }], [await subscribe(medplum())]);
    expect([found[0]?.entry?.length, asked.length]).toEqual([50, 3]);
  });

  it('is not read on from a page that goes back far enough', async () => {
    const since = Date.now() - 60_000;
    keeping([many(0, 50), [...many(50, 199), versionOf(249, 120_000)], many(250, 200)], 5_000);
    const { found } = await readOf([{ id: 'a1' }], [await subscribe(medplum(), { outbox: { since } })]);
    expect(found[0]?.entry).toHaveLength(250);
  });

  it('keeps no long texts of older versions', async () => {
    const long = many(50, 200).map(({ resource }) => ({ resource: { ...resource, comment: 'x'.repeat(100_000) } }));
    keeping([many(0, 50), long as BundleEntry[]], 250);
    const { found } = await readOf([{ id: 'a1' }], [await subscribe(medplum())]);
    expect(found[0]?.entry).toHaveLength(250);
    expect(JSON.stringify(found).length).toBeLessThan(100_000);
  });

  it('is not read on from an entry that says nothing', async () => {
    const unversioned = { resource: { ...versionOf(1).resource, meta: undefined } } as BundleEntry;
    keeping([[versionOf(2), {}, unversioned]], 5);
    const { asked } = await readOf([{ id: 'a1' }], [await subscribe(medplum())]);
    expect(asked).toHaveLength(2);
  });

  it('has each deletion once', async () => {
    const [first, second] = [deletionAt('531-01-06T08:00:00Z'), deletionAt('531-01-06T09:00:00Z')];
    keeping(
      [
        [versionOf(2), second],
        [second, versionOf(1), first],
      ],
      5,
    );
    const { found } = await readOf([{ id: 'a1' }], [await subscribe(medplum())]);
    const told = found[0]?.entry?.map(({ resource, response }) => resource?.meta?.versionId ?? response?.outcome);
    expect(told).toEqual(['v2', second.response?.outcome, 'v1', first.response?.outcome]);
  });

  it('that gives no versions is not read on', async () => {
    keeping([], 3);
    const { found, asked } = await readOf([{ id: 'a1' }], [await subscribe(medplum())]);
    expect([found[0]?.entry, asked.length]).toEqual([[], 2]);
  });
});

describe('what is said of a history', () => {
  const entry = [{ resource: { resourceType: 'Appointment' as const, status: 'booked' as const, participant: [] } }];

  it.each<[string, boolean, Pick<Bundle, 'entry' | 'total'> | undefined]>([
    ['as many versions as there are', false, { total: 1, entry }],
    ['fewer versions than there are', true, { total: 2, entry }],
    ['no versions of some', true, { total: 1 }],
    ['an unknown number of versions', false, { entry }],
    ['nothing', false, undefined],
  ])('one with %s is cut: %p', (_, expected, history) => {
    expect(isCut(history)).toBe(expected);
  });

  it('the moment of a version is when it was written, of a deletion when that was', () => {
    const version = { ...entry[0]?.resource, meta: { lastUpdated: '531-01-06T08:00:00Z' } } as Appointment;
    expect(momentOf(version)).toBe(Date.parse('531-01-06T08:00:00Z'));
    expect(momentOf({ deleted: '531-01-06T09:00:00Z' })).toBe(Date.parse('531-01-06T09:00:00Z'));
    expect(momentOf({ ...version, meta: undefined } as unknown as Appointment)).toBeNaN();
    expect(momentOf(undefined)).toBeNaN();
  });
});
