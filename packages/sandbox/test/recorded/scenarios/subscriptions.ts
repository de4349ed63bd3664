import type { Extension } from '@medplum/fhirtypes';
import type { Scenario } from '../scenario.ts';
import type { Stage, Stored } from '../stage.ts';

const medplum = 'https://medplum.com/fhir/StructureDefinition';

const task = (code: string, fields: object = {}) => ({
  resourceType: 'Task',
  status: 'requested',
  intent: 'order',
  code: { coding: [{ system: 'urn:code', code }] },
  ...fields,
});

const subscription = (bot: string, code: string, extension: readonly Extension[] = []) => ({
  resourceType: 'Subscription',
  status: 'active',
  reason: 'Test',
  criteria: `Task?code=urn:code|${code}`,
  channel: { type: 'rest-hook', endpoint: `Bot/${bot}`, payload: 'application/fhir+json', header: ['X-Test: a: b'] },
  extension,
});

/** Bots that Medplum starts after a write: for which writes, and with what. */
export const subscriptionsToBots: Scenario = async (stage: Stage) => {
  const { admin, unique } = stage;
  const { send } = admin;
  const bot = await stage.bot(`exports.handler = async (medplum, { input, headers, requester, bot, contentType }) => {
    const task = input.deletedResource ?? input;
    const note = [{ text: JSON.stringify({ input: Object.keys(input).sort(), status: task.status, author: task.meta.author,
      requester: requester, bot, contentType, headers }) }];
    await medplum.createResource({ resourceType: 'Communication', status: 'completed', note,
      identifier: [{ system: 'urn:told', value: task.code.coding[0].code }] });
    if (task.description === 'fail') throw new Error('failed');
  };`);
  const notified = (code: string, count: number) => {
    const path = `Communication?identifier=urn:told|${code}&_sort=_lastUpdated&_fields=note`;
    return admin.until(path, (body) => body.split('"Communication"').length > count);
  };
  const only = (interaction: string) => ({
    url: `${medplum}/subscription-supported-interaction`,
    valueCode: interaction,
  });
  const expression = (valueString: string) => ({ url: `${medplum}/fhir-path-criteria-expression`, valueString });
  const change = (stored: Stored, fields: object) => send(`PUT Task/${stored.id}`, { ...stored, ...fields });

  const all = `${unique}-all`;
  await send('POST Subscription', subscription(bot, all));
  const first = await send('POST Task', task(all));
  await notified(all, 1);
  await change(first.resource, { status: 'accepted' });
  await notified(all, 2);
  await send(`DELETE Task/${first.id}`);
  await notified(all, 3);

  const narrow = `${unique}-narrow`;
  await send('POST Subscription', subscription(bot, narrow, [only('create')]));
  await send('POST Subscription', subscription(bot, narrow, [only('delete')]));
  const extension = [only('update'), expression("%previous.status = 'requested' and %current.status = 'completed'")];
  await send('POST Subscription', subscription(bot, narrow, extension));
  const author = `%current.meta.author.where(reference = 'ClientApplication/${admin.id}').exists()`;
  await send(
    'POST Subscription',
    subscription(bot, narrow, [only('update'), expression(`%current.status = 'failed' and ${author}`)]),
  );
  await send(
    'POST Subscription',
    subscription(bot, narrow, [only('update'), expression(`%current.status = 'failed' and (${author}).not()`)]),
  );
  const second = await send('POST Task', task(narrow));
  await notified(narrow, 1);
  await change(second.resource, { status: 'accepted' });
  await change(second.resource, { status: 'requested' });
  await change(second.resource, { status: 'completed' });
  await notified(narrow, 2);
  await change(second.resource, { status: 'failed' });
  await notified(narrow, 3);
  await send(`DELETE Task/${second.id}`);
  await notified(narrow, 4);

  const whole = `${unique}-whole`;
  await send('POST Subscription', subscription(bot, whole));
  const entry = [
    { resource: task(whole, { status: 'draft' }), request: { method: 'POST', url: 'Task' } },
    { resource: { resourceType: 'Task' }, request: { method: 'POST', url: 'Task' } },
  ];
  await send('POST ', { resourceType: 'Bundle', type: 'transaction', entry });
  await send('POST ', { resourceType: 'Bundle', type: 'transaction', entry: entry.slice(0, 1) });
  await notified(whole, 1);
  await send('POST Task', task(whole, { description: 'fail' }));
  await notified(whole, 2);

  const off = `${unique}-off`;
  await send('POST Subscription', { ...subscription(bot, off), status: 'off' });
  await send('POST Subscription', {
    ...subscription(bot, off),
    criteria: `Task?code=urn:code|${off}&status=completed`,
  });
  await send('POST Subscription', { ...subscription(bot, off), criteria: 'nonsense' });
  await send('POST Subscription', { ...subscription(bot, off), criteria: 'Task?colour=red' });
  await send('POST Subscription', { ...subscription(bot, off), status: 'requested', channel: { type: 'rest-hook' } });
  await send('POST Task', task(off));
  await send('POST Task', task(off, { status: 'completed' }));
  await notified(off, 1);
};

/** A Bot that is asked before a write. */
export const preCommit: Scenario = async (stage) => {
  const { admin, unique } = stage;
  const { send } = admin;
  const bot = await stage.bot(`exports.handler = async (medplum, { input, headers, requester }) => {
    const refusal = (id) => ({ resourceType: 'OperationOutcome', id,
      issue: [{ severity: 'error', code: 'business-rule', details: { text: 'refused' }, expression: ['Task.status'] }] });
    const text = input.description;
    const isDeletion = Boolean(headers['X-Medplum-Deleted-Resource']);
    if (text === 'keep' && isDeletion) return refusal('conflict');
    if (text === 'throw') throw new Error('thrown');
    if (text === 'throw outcome') throw refusal('conflict');
    if (text === 'refuse') return refusal('business-rule');
    if (text === 'no id') return refusal(undefined);
    if (text === 'undefined') return undefined;
    if (text === 'false') return false;
    if (text === 'context') return { ...input, description: JSON.stringify({ headers, requester, meta: Object.keys(input.meta).sort(), author: input.meta.author, id: typeof input.id }) };
    if (text === 'other') return { resourceType: 'Patient' };
    return true;
  };`);
  await send('POST Subscription', {
    ...subscription(bot, unique),
    extension: [{ url: `${medplum}/pre-commit-bot`, valueBoolean: true }],
  });
  const texts = ['allow', 'throw', 'throw outcome', 'refuse', 'no id', 'undefined', 'false', 'context', 'other'];
  for (const description of texts) {
    await send('POST Task', task(unique, { description }));
  }
  const kept = await send('POST Task', task(unique, { description: 'keep' }));
  const path = `Task/${kept.id}`;
  await send(`PUT ${path}`, { ...kept.resource, description: 'refuse' });
  await send(`PUT ${path}`, { ...kept.resource, description: 'context' });
  const back = await send(`GET ${path}`);
  const patch = [{ op: 'replace', path: '/description', value: 'refuse' }];
  await send(`PATCH ${path}`, patch, { 'content-type': 'application/json-patch+json' });
  await send(`PUT ${path}`, { ...back.resource, description: 'keep' });
  await send(`DELETE ${path}`);
  const refused = { ...kept.resource, description: 'refuse' };
  const entry = [
    {
      resource: { resourceType: 'Patient', identifier: [{ value: unique }] },
      request: { method: 'POST', url: 'Patient' },
    },
    { resource: refused, request: { method: 'PUT', url: path } },
  ];
  await send('POST ', { resourceType: 'Bundle', type: 'transaction', entry });
  await send('POST ', { resourceType: 'Bundle', type: 'batch', entry: entry.slice(1) });
  await send(`GET Patient?identifier=${unique}&_summary=count`);
  await send(`GET ${path}`);
};
