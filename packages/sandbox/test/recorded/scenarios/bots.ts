import type { Scenario } from '../scenario.ts';

const json = { 'content-type': 'application/json' };

/** Runs the code that it is sent. */
const runner = `exports.handler = async (medplum, event) => {
  const run = event.input.run;
  return new Function('medplum', 'event', 'require', 'return (async () => {' + run + '})()')(medplum, event, require);
};`;

/** What a handler may return or throw, and what becomes of it. */
export const botOutput: Scenario = async (stage) => {
  const { admin } = stage;
  const id = await stage.bot(runner);
  const ids = ['ok', 'created', 'accepted', 'not-found', 'gone', 'conflict', 'precondition-failed', 'business-rule'];
  const others = [
    'forbidden',
    'unauthorized',
    'multiple-matches',
    'too-many-requests',
    'server-timeout',
    'unsupported',
    'x',
  ];
  const outcome = (of: string) => ({
    resourceType: 'OperationOutcome',
    id: of,
    issue: [
      { severity: of === 'ok' ? 'information' : 'error', code: 'processing', details: { text: 'said by the Bot' } },
    ],
  });
  const runs = [
    ...[...ids, ...others].map((of) => `return ${JSON.stringify(outcome(of))}`),
    `return ${JSON.stringify({ ...outcome('x'), id: undefined })}`,
    'return { a: 1 }',
    'return [1, "a"]',
    'return "text"',
    'return ""',
    'return 42',
    'return 0',
    'return true',
    'return false',
    'return null',
    'return undefined',
    'return () => 1',
    'return { resourceType: "Patient", id: "x" }',
    'return { resourceType: "Patient", meta: { author: { reference: "x" } } }',
    'return { resourceType: "Bundle", type: "searchset" }',
    'return { resourceType: "Nonsense" }',
    'throw new Error("boom")',
    'throw "text"',
    `throw ${JSON.stringify(outcome('conflict'))}`,
    'throw undefined',
    'return await medplum.readResource("Patient", "00000000-0000-4000-8000-000000000000")',
    'return await medplum.createResource({ resourceType: "Patient", colour: "red" })',
    'nonsense(',
  ];
  for (const run of runs) {
    await admin.send(`POST Bot/${id}/$execute`, { run }, json);
  }
  await admin.send(`POST Bot/${id}/$execute`, { run: 'return { a: 1 }' });
  await admin.send(`POST Bot/${id}/$execute`, { run: 'return "text"' }, { ...json, prefer: 'return=minimal' });
  await admin.send(`POST Bot/${id}/$execute`, 'plain', { 'content-type': 'text/plain' });
  await admin.send(`POST Bot/${id}/$execute`, '{', json);
};

/** What a handler is given. */
export const botInput: Scenario = async (stage) => {
  const { admin, unique } = stage;
  const identifier = [{ system: 'urn:bot', value: unique }];
  const code = `exports.handler = async (medplum, { bot, contentType, headers, input, requester, secrets, traceId, ...others }) => {
    const { reference } = (await medplum.createResource({ resourceType: 'Basic', code: { text: 'x' } })).meta.author;
    const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => /^(x-|prefer|accept$|content-type)/.test(name)));
    return { bot, contentType, headers: kept, input, requester, secrets, trace: typeof traceId, others: Object.keys(others),
      author: reference, baseUrl: medplum.getBaseUrl(), token: medplum.getAccessToken().split('.').length };
  };`;
  const id = await stage.bot(code, { identifier });
  const asUser = await stage.bot(code, {
    identifier: [{ system: 'urn:bot', value: `${unique}-user` }],
    runAsUser: true,
  });
  const caller = await stage.member('caller', [
    {
      resourceType: 'Bot',
      criteria: `Bot?identifier=urn:bot|${unique}`,
      hiddenFields: ['sourceCode', 'executableCode'],
    },
  ]);
  const headers = { ...json, 'x-custom': 'a', prefer: 'respond-later', accept: 'application/fhir+json' };
  await admin.send(`POST Bot/${id}/$execute`, { a: 1 }, headers);
  await admin.send(`POST Bot/$execute?identifier=urn:bot|${unique}`, { a: 1 }, json);
  await admin.send(`POST Bot/$execute?identifier=${encodeURIComponent(`urn:bot|${unique}`)}`, {
    resourceType: 'Parameters',
  });
  await admin.send(`GET Bot/$execute?identifier=urn:bot|${unique}&a=1&a=2&b=`);
  await admin.send(`GET Bot/${id}/$execute?a=1`);
  await admin.send(`POST Bot/${asUser}/$execute`, {}, json);
  await admin.send(`POST Bot/${id}/$execute`, 'a=1&b=2', { 'content-type': 'application/x-www-form-urlencoded' });
  await admin.send(`POST Bot/${id}/$execute`, '', json);
  await admin.send(`POST Bot/${id}/$execute`);
  await admin.send('POST Bot/$execute', {}, json);
  await admin.send('POST Bot/$execute?identifier=urn:bot|nobody', {}, json);
  await admin.send('POST Bot/00000000-0000-4000-8000-000000000000/$execute', {}, json);
  await admin.send(`DELETE Bot/${id}/$execute`);
  await caller.send(`POST Bot/${id}/$execute`, { a: 1 }, json);
  await caller.send(`POST Bot/${asUser}/$execute`, {}, json);
  await caller.send(`POST Bot/$execute?identifier=urn:bot|${unique}-user`, {}, json);
  await caller.send(`GET Bot/${id}`);
  await stage.nobody.send(`POST Bot/${id}/$execute`, {}, json);
};
