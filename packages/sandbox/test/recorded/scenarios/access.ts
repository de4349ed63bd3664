import type { Scenario } from '../scenario.ts';
import { appointment, patient, schedule, slot, tag } from './resources.ts';

/** A portal as the service deploys it: reads what is its own, writes patients that carry its tag. */
export const portal: Scenario = async (stage) => {
  const { admin, unique } = stage;
  const portal = await stage.member('portal', [
    { resourceType: 'Slot', interaction: ['read', 'search'] },
    { resourceType: 'Schedule', interaction: ['read', 'search'], hiddenFields: ['comment'] },
    {
      resourceType: 'Patient',
      criteria: 'Patient?_tag=urn:owner|%profile.id',
      interaction: ['read', 'search', 'vread', 'history', 'create', 'update'],
      writeConstraint: [
        { language: 'text/fhirpath', expression: "meta.tag.where(system.lower() = 'urn:owner').count() = 1" },
      ],
    },
    {
      resourceType: 'Appointment',
      criteria: 'Appointment?_tag=urn:owner|%profile.id',
      interaction: ['read', 'search', 'history'],
    },
    {
      resourceType: 'Subscription',
      criteria: 'Subscription?_tag=urn:owner|%profile.id',
      hiddenFields: ['channel.header'],
    },
    {
      resourceType: 'Task',
      criteria: 'Task?_tag=urn:owner|%profile.id',
      interaction: ['read', 'search'],
      hiddenFields: ['input'],
    },
    { resourceType: 'Questionnaire', readonly: true },
  ]);
  const mine = tag(portal.id);
  const own = await portal.send('POST Patient', patient(unique, { meta: mine }));
  const foreign = await admin.send(
    'POST Patient',
    patient(`${unique}-2`, { meta: tag('another'), name: [{ family: 'Foreign' }] }),
  );
  const calendar = await admin.send('POST Schedule', { ...schedule(unique, `Patient/${own.id}`), comment: 'secret' });
  const free = await admin.send('POST Slot', slot(calendar.id, '09:00'));
  const visit = await admin.send('POST Appointment', appointment(own.id, free.id, { meta: mine }));
  const answer = await admin.send('POST Appointment', appointment(foreign.id, free.id, { meta: tag('another') }));
  const job = await admin.send('POST Task', {
    resourceType: 'Task',
    meta: mine,
    status: 'requested',
    intent: 'order',
    input: [{ type: { text: 'booking' }, valueString: 'secret' }],
  });
  const reads = [
    `Patient/${own.id}`,
    `Patient/${own.id}/_history`,
    `Patient/${own.id}/_history/${own.resource.meta.versionId}`,
    `Patient/${foreign.id}`,
    `Patient/${foreign.id}/_history`,
    `Patient/${foreign.id}/_history/${foreign.resource.meta.versionId}`,
    `Patient?identifier=urn:patient|${unique},urn:patient|${unique}-2`,
    `Patient?_id=${foreign.id}`,
    `Patient?_id=${own.id},${foreign.id}&_total=accurate`,
    'Patient?name=foreign&_summary=count',
    `Slot/${free.id}`,
    `Slot/${free.id}/_history`,
    `Slot/${free.id}/_history/${free.resource.meta.versionId}`,
    `Slot?_id=${free.id}&_include=Slot:schedule&_include:iterate=Schedule:actor`,
    `Slot?_id=${free.id}&_revinclude=Appointment:slot`,
    `Schedule/${calendar.id}`,
    `Schedule?_id=${calendar.id}&_include=Schedule:actor`,
    `Appointment/${visit.id}`,
    `Appointment/${answer.id}`,
    `Appointment?slot=Slot/${free.id}&_sort=_lastUpdated`,
    `Appointment?slot=Slot/${free.id}&_include=Appointment:patient&_sort=_lastUpdated`,
    'Appointment?patient.name=foreign',
    `Task/${job.id}`,
    `Task?_id=${job.id}`,
    'Practitioner?_count=1',
    'Practitioner/00000000-0000-4000-8000-000000000000',
    'Questionnaire?name=nothing',
    'Slot?schedule.actor:Practitioner.name=x',
    'Slot?_has:Task:focus:status=requested',
    'Project?_count=1',
    'ProjectMembership?_count=5',
    'AccessPolicy?_count=1',
    'ClientApplication?_count=1',
    'Bot?_count=1',
  ];
  for (const read of reads) {
    await portal.send(`GET ${read}`);
  }
  const json = { 'content-type': 'application/json-patch+json' };
  const owned = own.resource;
  const foreignTag = { ...owned, meta: { ...owned.meta, ...tag('another') } };
  const twoTags = { ...owned, meta: { ...owned.meta, tag: [...mine.tag, ...tag('another').tag] } };
  const writes: readonly (readonly [string, unknown?, Readonly<Record<string, string>>?])[] = [
    ['POST Patient', patient(unique)],
    ['POST Patient', patient(unique, { meta: tag('another') })],
    ['POST Patient', patient(unique, { meta: mine }), { 'if-none-exist': `identifier=urn:patient|${unique}-2` }],
    [`PUT Patient/${own.id}`, { ...owned, active: true }],
    [`PUT Patient/${own.id}`, foreignTag],
    [`PUT Patient/${own.id}`, twoTags],
    [`PUT Patient/${foreign.id}`, { ...foreign.resource, active: true }],
    [`PATCH Patient/${own.id}`, [{ op: 'remove', path: '/meta/tag' }], json],
    [`PATCH Patient/${foreign.id}`, [{ op: 'add', path: '/gender', value: 'male' }], json],
    [`DELETE Patient/${own.id}`],
    [`DELETE Patient/${foreign.id}`],
    ['POST Slot', slot(calendar.id, '10:00')],
    [`PUT Slot/${free.id}`, { ...free.resource, status: 'busy' }],
    [`DELETE Slot/${free.id}`],
    ['POST Appointment', appointment(own.id, free.id, { meta: mine })],
    [`PUT Appointment/${visit.id}`, { ...visit.resource, status: 'cancelled' }],
    ['POST Questionnaire', { resourceType: 'Questionnaire', status: 'draft' }],
    ['POST Task', { resourceType: 'Task', status: 'requested', intent: 'order', meta: mine }],
    ['POST Project', { resourceType: 'Project', name: 'x' }],
    ['POST AccessPolicy', { resourceType: 'AccessPolicy', name: 'x' }],
    [`POST /admin/projects/${stage.projectId}/client`, { name: 'x' }],
    [`POST /admin/projects/${stage.projectId}/bot`, { name: 'x' }],
  ];
  for (const write of writes) {
    await portal.send(...write);
  }
  const entry = [
    { request: { method: 'GET', url: `Patient/${foreign.id}` } },
    { request: { method: 'GET', url: `Patient?_id=${foreign.id}` } },
    { request: { method: 'GET', url: 'Practitioner?_count=1' } },
    { resource: slot(calendar.id, '11:00'), request: { method: 'POST', url: 'Slot' } },
  ];
  await portal.send('POST ', { resourceType: 'Bundle', type: 'batch', entry });
  await portal.send('POST ', { resourceType: 'Bundle', type: 'transaction', entry: entry.slice(3) });
};

/** Access by a parameter of the membership, and fields that cannot be seen or written. */
export const parametersAndFields: Scenario = async (stage) => {
  const { admin, unique } = stage;
  const consumer = await stage.member(
    'consumer',
    [
      {
        resourceType: 'Appointment',
        criteria: 'Appointment?_tag=urn:owner|%requestor.id',
        interaction: ['read', 'search'],
      },
      { resourceType: 'Patient', hiddenFields: ['name', 'birthDate'], readonlyFields: ['gender'] },
      { resourceType: 'Subscription', hiddenFields: ['channel.header'] },
    ],
    [{ name: 'requestor', valueReference: { reference: `ClientApplication/${admin.id}` } }],
  );
  const person = await admin.send('POST Patient', patient(unique, { gender: 'female', birthDate: '1980-01-01' }));
  const calendar = await admin.send('POST Schedule', schedule(unique, `Patient/${person.id}`));
  const free = await admin.send('POST Slot', slot(calendar.id, '09:00'));
  const visit = await admin.send('POST Appointment', appointment(person.id, free.id, { meta: tag(admin.id) }));
  const answer = await admin.send('POST Appointment', appointment(person.id, free.id, { meta: tag('another') }));
  await consumer.send(`GET Appointment/${visit.id}`);
  await consumer.send(`GET Appointment/${answer.id}`);
  await consumer.send(`GET Appointment?slot=Slot/${free.id}`);
  const seen = await consumer.send(`GET Patient/${person.id}`);
  await consumer.send(`GET Patient?identifier=urn:patient|${unique}`);
  await consumer.send(`GET Patient?name=meyer&identifier=urn:patient|${unique}`);
  await consumer.send(`PUT Patient/${person.id}`, {
    ...seen.resource,
    gender: 'male',
    active: true,
    name: [{ family: 'New' }],
  });
  await admin.send(`GET Patient/${person.id}`);
  const notified = await consumer.send('POST Subscription', {
    resourceType: 'Subscription',
    status: 'off',
    reason: 'x',
    criteria: 'Appointment',
    channel: { type: 'rest-hook', endpoint: 'https://example.com/hook', header: ['Authorization: secret'] },
  });
  await consumer.send(`GET Subscription/${notified.id}`);
  await admin.send(`GET Subscription/${notified.id}`);
  await consumer.send('GET /auth/me');
  const id = consumer.id;
  await admin.send(`GET ProjectMembership?profile=ClientApplication/${id}`);
  await admin.send(`DELETE ClientApplication/${id}`);
  await consumer.send(`GET Appointment/${visit.id}`);
};
