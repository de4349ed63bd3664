import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Resource, Task } from '@medplum/fhirtypes';
import { waitsSince } from '../../core/booking/jobs/booking-task.ts';
import { openStatuses } from '../../core/booking/jobs/confirmation-task.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { type Outbox, type OutboxStatus, outboxesOf } from '../../core/notifications/delivery/outbox.ts';
import { eventsQuery } from '../../core/notifications/events/event.ts';
import { type RowCode, rowCodes } from '../../core/rows/row.ts';
import { chunks } from '../../core/rows/search.ts';
import { searchAll } from '../medplum/project.ts';

/** The queues, each with its meaning. */
export const kinds = {
  notifications: 'events that are not delivered yet',
  jobs: 'asynchronous bookings that are not carried out yet',
  requests: 'appointments that the clinic has not confirmed or cancelled yet (pending)',
  overdue: 'requests whose deadline has passed and that have not been ended yet',
  holds: 'appointments that are held and not booked yet (proposed)',
} as const;

/** Name of a queue. */
export type Kind = keyof typeof kinds;

/** Length of a queue, and the age of its oldest entry in seconds; 0 if it is empty. */
export interface Queue {
  readonly count: number;
  readonly oldest: number;
}

/** The queues at one moment. */
export interface Snapshot {
  readonly waiting: Readonly<Record<Kind, Queue>>;
  readonly subscriptions: ReadonlyMap<OutboxStatus, number>;
  /** Seconds since Medplum last started the scheduled Bot retry-deliveries; `undefined` if it never did. */
  readonly clock: number | undefined;
}

const CHUNK = 50;

const noStore = { cache: 'no-store' } as const;

const since = (instant: string | undefined, now: number): number => {
  const age = (now - Date.parse(instant ?? '')) / 1000;
  return Number.isFinite(age) ? Math.max(0, age) : 0;
};

/** Counts the appointments with a status, and reads the age of the one that is unchanged for longest. */
async function queueOf(medplum: MedplumClient, status: Appointment['status'], now: number): Promise<Queue> {
  const first = { status, _sort: '_lastUpdated', _count: '1', _total: 'accurate' };
  const found = await medplum.search('Appointment', first, noStore);
  return { count: found.total ?? 0, oldest: since(found.entry?.[0]?.resource?.meta?.lastUpdated, now) };
}

async function readOverdue(medplum: MedplumClient, config: BookingConfig, now: number): Promise<Queue> {
  const overdue = {
    code: rowCodes(['confirm'], config),
    status: openStatuses.join(','),
    'due-date': `lt${formatInstant(now)}`,
  };
  const first = { ...overdue, _sort: 'due-date', _count: '1', _total: 'accurate' };
  const found = await medplum.search('Task', first, noStore);
  const deadline = found.entry?.[0]?.resource?.restriction?.period?.end;
  return { count: found.total ?? 0, oldest: deadline ? since(deadline, now) : 0 };
}

async function tasksOf(medplum: MedplumClient, code: RowCode, config: BookingConfig, more = {}): Promise<Task[]> {
  return searchAll(medplum, 'Task', { code: rowCodes([code], config), ...more, _sort: '_lastUpdated' });
}

async function firstEvents(medplum: MedplumClient, queries: readonly string[]): Promise<string[]> {
  const found: (Resource | undefined)[] = [];
  for (const some of chunks(queries, CHUNK)) {
    const entry = some.map((url): BundleEntry => ({ request: { method: 'GET', url } }));
    const answer = await medplum.executeBatch({ resourceType: 'Bundle', type: 'batch', entry });
    found.push(...(answer.entry ?? []).map(({ resource }) => resource));
  }
  return found.flatMap((one) => {
    const event = isResource(one, 'Bundle') ? one.entry?.[0]?.resource : undefined;
    return isResource(event, 'Communication') && event.sent ? [event.sent] : [];
  });
}

/** State of the delivery of a Subscription's events. */
export interface Delivery extends Pick<Outbox, 'status' | 'events' | 'delivered' | 'error'> {
  /** Id of the Subscription. */
  readonly id: string;
  /** Seconds since the last change. */
  readonly age: number;
}

/** Reads the state of all Subscriptions' deliveries. */
export const readDeliveries = async (medplum: MedplumClient, config: BookingConfig, now: number): Promise<Delivery[]> =>
  (await tasksOf(medplum, 'outboxes', config)).flatMap((task) =>
    [...outboxesOf(task).of].map(([id, outbox]) => ({ ...outbox, id, age: since(task.meta?.lastUpdated, now) })),
  );

/** Counts the waiting asynchronous bookings, and reads the age of the oldest. */
export async function readJobs(medplum: MedplumClient, config: BookingConfig, now: number): Promise<Queue> {
  const jobs = await tasksOf(medplum, 'book', config, { status: 'requested' });
  const ages = jobs.map((job) => Math.max(0, now - (waitsSince(job) ?? now)) / 1000);
  return { count: jobs.length, oldest: Math.max(0, ...ages) };
}

/** Seconds since Medplum last started the scheduled Bot retry-deliveries; `undefined` if it never did. */
export async function readCronAge(
  medplum: MedplumClient,
  config: BookingConfig,
  now: number,
): Promise<number | undefined> {
  const [checkpoint] = await tasksOf(medplum, 'event-all', config);
  return checkpoint && since(checkpoint.meta?.lastUpdated, now);
}

async function readNotifications(
  medplum: MedplumClient,
  deliveries: readonly Delivery[],
  config: BookingConfig,
  now: number,
) {
  const late = deliveries.filter(({ status, events, delivered }) => status !== 'cancelled' && events > delivered);
  const first = late.map(({ id, delivered }) => eventsQuery([[id, delivered + 1]], config));
  const ages = (await firstEvents(medplum, first)).map((sent) => since(sent, now));
  const count = late.reduce((sum, { events, delivered }) => sum + events - delivered, 0);
  return { count, oldest: Math.max(0, ...ages) };
}

/**
 * Reads the queues of an installation. It writes nothing.
 *
 * @param now - milliseconds since 1970 UTC
 * @throws Error when Medplum does not respond
 */
export async function readWaiting(medplum: MedplumClient, config: BookingConfig, now: number): Promise<Snapshot> {
  const deliveries = readDeliveries(medplum, config, now);
  const [all, notifications, jobs, requests, overdue, holds, clock] = await Promise.all([
    deliveries,
    deliveries.then((found) => readNotifications(medplum, found, config, now)),
    readJobs(medplum, config, now),
    queueOf(medplum, 'pending', now),
    readOverdue(medplum, config, now),
    queueOf(medplum, 'proposed', now),
    readCronAge(medplum, config, now),
  ]);
  const byStatus = Map.groupBy(all, ({ status }) => status);
  const subscriptions = new Map([...byStatus].map(([status, found]) => [status, found.length]));
  return { waiting: { notifications, jobs, requests, overdue, holds }, subscriptions, clock };
}
