import './config.ts';
import { beforeAll, expect, it } from '@jest/globals';
import type { Appointment, HealthcareService, Resource, Task } from '@medplum/fhirtypes';
import { handler as offerReleasedTime } from '../../bots/booking/offer-released-time.ts';
import { handler as retryDeliveries } from '../../bots/notifications/retry-deliveries.ts';
import { checkpointTask } from '../../core/notifications/delivery/retention.ts';
import { chunks } from '../../core/rows/search.ts';
import { releaseRow } from '../../core/waitlist/release.ts';
import { aType, bookable, eventOf, extension, inMinutes } from './booking/fixtures.ts';
import { later } from './clock.ts';
import { config } from './config.ts';
import { subscribe } from './lib/notifications/outboxes.ts';
import { withMedplum } from './medplum.ts';

const MANY = 10_000;
const HOUR = 3_600_000;

const medplum = withMedplum();

async function store(resource: Resource, count: number, of: (index: number) => Partial<Resource>): Promise<void> {
  const all = Array.from({ length: count }, (_, index) => ({ ...resource, ...of(index) }));
  for (const some of chunks(all, 500)) {
    const entry = some.map((one) => ({ request: { method: 'POST', url: one.resourceType }, resource: one }));
    await medplum().fhir('POST', '', { resourceType: 'Bundle', type: 'batch', entry });
  }
}

/** How many resources a Bot reads. */
async function countRead(run: (client: ReturnType<typeof medplum>['medplum']) => Promise<unknown>): Promise<number> {
  let count = 0;
  const { connections } = medplum().medplum;
  const client = Object.assign(Object.create(medplum().medplum), {
    connections: {
      ...connections,
      send: async (...request: Parameters<typeof connections.send>) => {
        const response = await connections.send(...request);
        count += JSON.stringify(response).split('"resourceType":').length;
        return response;
      },
    },
  });
  await run(client);
  return count;
}

const waiting = (serviceType: Appointment['serviceType']): Appointment => ({
  resourceType: 'Appointment',
  status: 'waitlist',
  serviceType,
  requestedPeriod: [{ start: inMinutes(0), end: inMinutes(500_000) }],
  participant: [{ status: 'accepted', actor: { display: 'Somebody' } }],
});

beforeAll(async () => {
  await store(waiting([aType()]), MANY, () => ({}));
  const subscriber = await subscribe(medplum());
  const { id: _, meta: __, ...row } = subscriber.task;
  await store(row, MANY, (index) => ({
    groupIdentifier: { ...row.groupIdentifier, value: `portal-${index}` },
  }));
}, 600_000);

it('freed time reads those who wait for its service, not all who wait', async () => {
  const refilled = extension('LocalBookingPolicy', { extension: [{ url: 'refill', valueBoolean: true }] });
  const { patient, schedule, slot } = await bookable(medplum(), { extension: [refilled] });
  const service: HealthcareService = { resourceType: 'HealthcareService', type: schedule.serviceType ?? [] };
  await medplum().create(service);
  const participant = [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' as const }];
  await medplum().create<Appointment>({ ...waiting(schedule.serviceType), participant });
  const [start, end] = [Date.parse(slot.start), Date.parse(slot.end)];
  const row = await medplum().create<Task>(
    releaseRow({ schedule: schedule.id ?? '', due: Date.now() - 1_000, start, end }, config),
  );
  const count = await countRead((client) => offerReleasedTime(client, eventOf(row)));
  expect(await medplum().find('Appointment?status=proposed')).toHaveLength(1);
  expect(count).toBeLessThan(200);
}, 120_000);

it('the clock reads the outboxes that are due, not all that are open', async () => {
  const settled = Date.now() + HOUR;
  await medplum().create<Task>(checkpointTask({ until: settled, settled }, config));
  expect(await later(HOUR, () => countRead((client) => retryDeliveries(client)))).toBeLessThan(200);
}, 120_000);
