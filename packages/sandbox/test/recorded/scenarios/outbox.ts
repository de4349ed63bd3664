import type { Scenario } from '../scenario.ts';
import type { Stored } from '../stage.ts';
import { tag } from './resources.ts';

const entryOf = (resource: Stored, status: string) => ({
  resource: { ...resource, status },
  request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}`, ifMatch: `W/"${resource.meta.versionId}"` },
});

const get = (url: string) => ({ request: { method: 'GET', url } });

/** Subscribers, their outboxes (Tasks) and events (Communications), as the Bots look for them and write them. */
export const outbox: Scenario = async ({ admin: { send }, unique }) => {
  const code = { coding: [{ system: 'urn:task', code: unique }] };
  const subscriber = await send('POST Subscription', {
    resourceType: 'Subscription',
    meta: tag(unique),
    extension: [{ url: 'urn:extension', valueInteger: 7 }],
    status: 'requested',
    reason: 'Test',
    criteria: 'https://example.org/topic',
    _criteria: { extension: [{ url: 'urn:filter', valueString: 'Appointment?status=booked' }] },
    channel: {
      type: 'rest-hook',
      endpoint: 'https://example.com/hook',
      payload: 'application/fhir+json',
      _payload: { extension: [{ url: 'urn:content', valueCode: 'id-only' }] },
      header: ['Authorization: Bearer a'],
    },
  });
  const focus = { reference: `Subscription/${subscriber.id}` };
  const appointment = await send('POST Appointment', {
    resourceType: 'Appointment',
    status: 'proposed',
    participant: [{ status: 'needs-action', type: [{ text: 'someone' }] }],
  });
  const task = {
    resourceType: 'Task',
    status: 'ready',
    intent: 'order',
    code,
    focus,
    output: [{ type: { text: 'n' }, valueInteger: 1 }],
  };
  const event = (number: number) => ({
    resourceType: 'Communication',
    status: 'in-progress',
    identifier: [{ system: 'urn:event', value: `${unique}/${number}` }],
    basedOn: [{ reference: `Appointment/${appointment.id}` }],
    about: [focus],
    sent: '2031-03-04T09:00:00Z',
  });
  const entry = [
    { resource: task, request: { method: 'POST', url: 'Task', ifNoneExist: `code=urn:task|${unique}` } },
    ...[1, 2, 3].map((number) => ({ resource: event(number), request: { method: 'POST', url: 'Communication' } })),
  ];
  await send('POST ', { resourceType: 'Bundle', type: 'transaction', entry });
  await send('POST ', { resourceType: 'Bundle', type: 'transaction', entry: entry.slice(0, 1) });
  const found = await send(`GET Subscription/${subscriber.id}`);
  const waiting = `code=urn:task%7C${unique}&status=ready,in-progress,on-hold,accepted,failed`;
  const looks = [
    `Task?${waiting}&_sort=_id&_count=1000&_offset=0`,
    `Subscription?_has:Task:focus:code=urn:task%7C${unique}&_has:Task:focus:status=ready,in-progress,on-hold,accepted,failed&_sort=_id&_count=1000&_offset=0`,
    `Subscription?_has:Task:focus:code=urn:task%7C${unique}&_has:Task:focus:status=completed&_sort=_id&_count=1000&_offset=0`,
    `Subscription?_id=${subscriber.id}&_sort=_id&_count=1000&_offset=0`,
    `Subscription?_tag=urn:owner|${unique}&status=requested%2Cactive%2Cerror&_count=0&_total=accurate`,
    `Subscription?criteria=https://example.org/topic&_tag=urn:owner|${unique}`,
    `Subscription?url=https://example.com/hook&_tag=urn:owner|${unique}`,
    `Subscription?type=rest-hook&_tag=urn:owner|${unique}&_count=200`,
    `Task?code=urn:task|${unique}&focus=Subscription/${subscriber.id}&_sort=_id&_count=1000&_offset=0`,
    `Task?code=urn:task|${unique}&status=ready&_lastUpdated=lt2020-01-01T00:00:00.000Z&_sort=_lastUpdated&_count=50`,
    `Communication?identifier=urn%3Aevent%7C${unique}%2F1,urn%3Aevent%7C${unique}%2F3&_count=2&_sort=_lastUpdated,identifier`,
    `Communication?identifier=urn%3Aevent%7C${unique}%2Flast`,
    `Communication?based-on=Appointment/${appointment.id}&_count=1000&_summary=count`,
    `Communication?_id=${appointment.id}`,
  ];
  for (const look of looks) {
    await send(`GET ${look}`);
  }
  await send('POST ', { resourceType: 'Bundle', type: 'transaction', entry: looks.slice(0, 5).map(get) });
  await send('POST ', { resourceType: 'Bundle', type: 'transaction', entry: [entryOf(found.resource, 'active')] });
  await send('POST ', { resourceType: 'Bundle', type: 'transaction', entry: [entryOf(found.resource, 'error')] });
  await send(`GET Subscription/${subscriber.id}/_history?_count=1`);
  await send('POST ', {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [{ request: { method: 'DELETE', url: `Subscription/${subscriber.id}` } }],
  });
  await send(`GET ${looks[1]}`);
};
