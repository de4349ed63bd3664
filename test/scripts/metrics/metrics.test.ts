import { readFileSync } from 'node:fs';
import { type Sandbox, startSandbox } from '@appointment-booking/sandbox';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MedplumClient } from '@medplum/core';
import type { Appointment, Task } from '@medplum/fhirtypes';
import { Registry } from 'prom-client';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { newOutbox, noOutboxes, outboxesTask, withOutbox } from '../../../core/notifications/delivery/outbox.ts';
import { eventResource } from '../../../core/notifications/events/event.ts';
import { readWaiting, type Snapshot } from '../../../scripts/metrics/read.ts';
import { waitingMetrics } from '../../../scripts/metrics/registry.ts';
import { gatewayTo } from '../../gateway/fake-medplum.ts';
import { config } from '../installation.ts';

let sandbox: Sandbox;
let medplum: MedplumClient;

beforeAll(async () => {
  sandbox = await startSandbox();
  medplum = new MedplumClient({ baseUrl: sandbox.baseUrl, cacheTime: 0, maxRetries: 0 });
  await medplum.startClientLogin(sandbox.clientId, sandbox.clientSecret);
});
afterAll(() => sandbox.close());

const HOUR = 3_600_000;
const nothing = { count: 0, oldest: 0 };

test('where nothing waits all is zero, and the clock has not run', async () => {
  const waiting = { notifications: nothing, jobs: nothing, requests: nothing, overdue: nothing, holds: nothing };
  expect(await readWaiting(medplum, config, Date.now())).toEqual({
    waiting,
    subscriptions: new Map(),
    clock: undefined,
  });
});

test('each kind is counted, and its oldest is told by its age', async () => {
  const appointment = (status: Appointment['status']) =>
    medplum.createResource<Appointment>({
      resourceType: 'Appointment',
      status,
      start: '2031-01-06T08:00:00Z',
      end: '2031-01-06T08:30:00Z',
      participant: [{ actor: { display: 'Somebody' }, status: 'accepted' }],
    });
  await Promise.all((['pending', 'pending', 'proposed', 'booked'] as const).map(appointment));
  const now = Date.now() + HOUR;
  const job = (status: Task['status'], more: Partial<Task> = {}) =>
    medplum.createResource<Task>({
      resourceType: 'Task',
      status,
      intent: 'order',
      code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'book' }] },
      ...more,
    });
  await Promise.all([
    job('requested', { authoredOn: new Date(now - 2 * HOUR).toISOString() }),
    job('requested', { authoredOn: new Date(now - HOUR).toISOString() }),
    job('completed'),
  ]);
  const request = (status: Task['status'], deadline: number) =>
    medplum.createResource<Task>({
      resourceType: 'Task',
      status,
      intent: 'order',
      code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'confirm' }] },
      restriction: { period: { end: new Date(deadline).toISOString() } },
    });
  await Promise.all([
    request('requested', now - 120_000),
    request('in-progress', now - 60_000),
    request('requested', now + 60_000),
    request('cancelled', now - 500_000),
  ]);
  const outbox = { ...newOutbox(now), status: 'on-hold' as const, events: 7, delivered: 4 };
  await medplum.createResource(outboxesTask(withOutbox(noOutboxes('p1'), 's1', outbox), config));
  const timestamp = new Date(now - 2 * HOUR).toISOString();
  const event = { timestamp, appointment: 'a1', version: 'v1', kind: 'update' as const };
  await medplum.createResource(eventResource(event, new Map([['s1', 5]]), config));
  const { waiting, subscriptions } = await readWaiting(medplum, config, now);
  expect(waiting.jobs).toEqual({ count: 2, oldest: 7200 });
  expect([waiting.requests.count, waiting.holds.count]).toEqual([2, 1]);
  expect(waiting.requests.oldest).toBeGreaterThanOrEqual(3_590);
  expect(waiting.overdue).toEqual({ count: 2, oldest: 120 });
  expect(waiting.notifications).toEqual({ count: 3, oldest: 7200 });
  expect([...subscriptions]).toEqual([['on-hold', 1]]);
});

const snapshot: Snapshot = {
  waiting: {
    notifications: { count: 3, oldest: 60 },
    jobs: nothing,
    requests: nothing,
    overdue: nothing,
    holds: nothing,
  },
  subscriptions: new Map([['failed', 2]]),
  clock: 30,
};

test('what was read is told for a few seconds, for all who ask; what cannot be read is an error', async () => {
  let [reads, now] = [0, 0];
  const registry = waitingMetrics(
    async () => {
      reads++;
      if (now > 20_000) {
        throw new Error('Medplum does not answer');
      }
      return snapshot;
    },
    () => now,
  );
  const text = await registry.metrics();
  expect(text).toContain('booking_waiting{kind="notifications"} 3');
  expect(text).toContain('booking_waiting_oldest_seconds{kind="notifications"} 60');
  expect(text).toContain('booking_subscriptions{status="failed"} 2');
  expect(text).toContain('booking_clock_age_seconds 30');
  await registry.metrics();
  expect(reads).toBe(1);
  now = 10_000;
  await registry.metrics();
  expect(reads).toBe(2);
  now = 30_000;
  await expect(registry.metrics()).rejects.toThrow('Medplum does not answer');
});

test.each(['prometheus-rules.yml', 'grafana-dashboard.json'])('%s names metrics that there are', async (file) => {
  const metrics = new Registry();
  const gateway = gatewayTo({ url: 'http://127.0.0.1:1' }, {}, { metrics });
  const metricObjects = [...metrics.getMetricsAsArray(), ...waitingMetrics(async () => snapshot).getMetricsAsArray()];
  const names = new Set(metricObjects.map(({ name }) => name));
  const text = readFileSync(`docs/operations/${file}`, 'utf8');
  const named = [...text.matchAll(/\b(?:booking|nodejs|process)_[a-z0-9_]+/g)].map(([name]) => name);
  const unknown = named.filter((name) => !names.has(name) && !names.has(name.replace(/_(count|bucket|sum)$/, '')));
  expect(unknown).toEqual([]);
  expect(new Set(named).size).toBeGreaterThan(5);
  await gateway.close();
});
