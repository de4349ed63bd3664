/**
 * Steps for the features of gematik's test suite (github.com/gematik/isik-testsuite, of which `ISIK_TESTSUITE` names a
 * checkout), with the meaning that its Java classes give them: `IsikGlue` and the glue of Tiger. `npm run test:features --
 * $ISIK_TESTSUITE/src/test/resources/features/Stufe3/Terminplanung` runs the unchanged features at the embedded service.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AfterAll, Before, Given, setDefaultTimeout } from '@cucumber/cucumber';
import { evalFhirPath } from '@medplum/core';
import type { Resource } from '@medplum/fhirtypes';
import { isObject, isResource } from '../../../../core/fhir/resource.ts';
import { publishedFaults, publishedFor } from '../../../../test/profiles/gematik.ts';
import { faultsIn } from '../../../../test/profiles/isik.ts';
import type { KitResponse } from '../../client.ts';
import { type Service, startService } from '../service.ts';
import { type FeatureStage, folders, prepare, shippedValues } from './prepared.ts';

const suite = process.env.ISIK_TESTSUITE ?? '.';

setDefaultTimeout(60_000);

interface Bench {
  readonly stage: FeatureStage;
  readonly service: Service;
  readonly values: Readonly<Record<string, string>>;
  readonly published: ReturnType<typeof publishedFor>;
}

/** Features of one stage run together. */
let bench: Bench | undefined;
/** The suite goes on with the last answer, also in the next scenario. */
let last: KitResponse = { status: 0, header: {}, text: '', resource: undefined };

Before({ timeout: 180_000 }, async ({ pickle }) => {
  const stage = (Object.keys(folders) as FeatureStage[]).find((one) =>
    pickle.tags.some(({ name }) => name === `@${folders[one]}`),
  );
  if (!bench) {
    const of = stage ?? 'isik3';
    const shipped = shippedValues(suite, of);
    const service = await startService(of);
    const values = await prepare(service, shipped);
    bench = { stage: of, service, values, published: publishedFor(of) };
  }
});

AfterAll(async () => {
  await bench?.service.stop();
});

function begun(): Bench {
  if (!bench) {
    throw new Error('No service is running.');
  }
  return bench;
}

/** A text with the values of `${data.…}`, and with the files that it names. */
const resolved = (text: string): string =>
  text
    .replace(/^!\{file\('([^']+)'\)\}$/, (_, path: string) => readFileSync(join(suite, path), 'utf8'))
    .replace(/\$\{data\.([\w-]+)\}/g, (_, name: string) => begun().values[name] ?? '');

const pathOf = (address: string): string => resolved(address).replace(/^http:\/\/fhirserver/, '');

async function get(address: string, contentType: string): Promise<void> {
  const { requestor } = begun().service;
  last = await requestor.send({
    method: 'GET',
    path: pathOf(address),
    ...(contentType === 'xml' && { format: 'xml' }),
  });
  const type = last.header['content-type'] ?? '';
  if (last.status !== 200 || !type.startsWith(`application/fhir+${contentType}`) || !/charset=utf-8/i.test(type)) {
    throw new Error(`${last.status} ${type} ${last.text.slice(0, 300)}`);
  }
}

const whole = (): Resource | undefined =>
  isObject(last.resource) && typeof last.resource.resourceType === 'string' ? Object(last.resource) : undefined;

/** The suite evaluates by HAPI, which compares a boolean with a text. */
function mustHold(expression: string, message = ''): void {
  const text = resolved(expression).replace("active = 'true'", 'active = true');
  const value = whole() ? evalFhirPath(text, last.resource) : [];
  if (value.length !== 1 || value[0] !== true) {
    throw new Error(`${message} ${text}: ${JSON.stringify(value)} ${last.text.slice(0, 400)}`);
  }
}

const references = (id: string): string => `reference.replaceMatches('/_history/.+','').matches('\\\\b${id}$')`;

function mustConform(resource: Resource | undefined, profile: string): void {
  const { stage, service, published } = begun();
  const claiming = resource && { ...resource, meta: { ...resource.meta, profile: [profile] } };
  const faults = claiming
    ? [...faultsIn(claiming, stage, service.config), ...(published ? publishedFaults(claiming, published) : [])]
    : ['is not there'];
  if (faults.length > 0) {
    throw new Error(`${profile}: ${faults.join('; ')}`);
  }
}

Given('Testbeschreibung: {string}', (_: string) => undefined);
Given('the Test Description: {string}', (_: string) => undefined);
Given('Mit den Vorbedingungen:', (_: string) => undefined);
Given('the Preconditions:', (_: string) => undefined);
Given('TGR find the last request', () => undefined);
Given('TGR set default header {string} to {string}', (_: string, __: string) => undefined);

Given('Get FHIR resource at {string} with content type {string}', get);

Given('TGR send empty GET request to {string}', async (address: string) => {
  last = await begun().service.requestor.send({ method: 'GET', path: pathOf(address) });
});

Given(
  /^TGR send (POST|PUT) request to "([^"]*)" with body "(.*)"$/,
  async (method: string, address: string, body: string) => {
    // A file may name values, too.
    last = await begun().service.requestor.send({
      method,
      path: pathOf(address),
      body: JSON.parse(resolved(resolved(body))),
    });
  },
);

Given('TGR current response with attribute {string} matches {string}', (attribute: string, expected: string) => {
  const element = /^\$\.(?:\.|body\.)(?:[A-Z]\w*\.)?(.+)\.(?:value|content)$/.exec(attribute)?.[1];
  const values =
    attribute === '$.responseCode' ? [last.status] : element && whole() ? evalFhirPath(element, last.resource) : [];
  if (!values.some((value) => new RegExp(`^(?:${resolved(expected)})$`).test(String(value)))) {
    throw new Error(`${attribute} is ${JSON.stringify(values)}, not ${expected}. ${last.text.slice(0, 400)}`);
  }
});

Given(
  /^FHIR current response body evaluates the FHIRPath (?:"([^"]*)"|'([^']*)') with error message (?:"([^"]*)"|'([^']*)')$/,
  (double: string | undefined, single: string | undefined, message: string | undefined, other: string | undefined) =>
    mustHold(double ?? single ?? '', message ?? other),
);

Given('FHIR current response body evaluates the FHIRPaths:', (expressions: string) => {
  for (const one of expressions.split('\n').filter((line) => line.trim() !== '')) {
    mustHold(one);
  }
});

Given(
  /^FHIR current response body is a valid (\S+) resource and conforms to profile "([^"]*)"$/,
  (_: string, profile: string) => mustConform(whole(), profile),
);

Given(
  /^Check if current response of resource "(\w+)" is valid (\S+) resource and conforms to profile "([^"]*)"$/,
  (type: string, _: string, profile: string) => {
    const first = isResource(last.resource, 'Bundle') ? last.resource.entry?.[0]?.resource : undefined;
    mustConform(first?.resourceType === type ? first : undefined, profile);
  },
);

const ofServer = (type: string, has: string): string =>
  `rest.where(mode = 'server').resource.where(type = '${type}' and ${has}.exists()).exists()`;

Given('CapabilityStatement contains interaction {string} for resource {string}', (code: string, type: string) =>
  mustHold(ofServer(type, `interaction.where(code = '${code}')`)),
);

Given('CapabilityStatement contains operation {string} for resource {string}', (name: string, type: string) =>
  mustHold(ofServer(type, `operation.where(name = '${name}')`)),
);

Given(
  'CapabilityStatement contains definition of search parameter {string} of type {string} for resource {string}',
  (name: string, kind: string, type: string) =>
    mustHold(ofServer(type, `searchParam.where(name = '${name}' and type = '${kind}')`)),
);

Given(/^resource has ID "([^"]*)"(?: with error message "([^"]*)")?$/, (id: string, message?: string) =>
  mustHold(`id = '${id}'`, message),
);

Given(
  'element {string} references resource with ID {string} with error message {string}',
  (element: string, id: string, message: string) => mustHold(`${element}.${references(resolved(id))}`, message),
);

Given(
  'element {string} in all bundle resources references resource with ID {string} with error message {string}',
  (element: string, id: string, message: string) =>
    mustHold(`entry.resource.all(${element}.${references(resolved(id))})`, message),
);

Given('response bundle contains resource with ID {string} with error message {string}', (id: string, message: string) =>
  mustHold(`entry.resource.where(id = '${id}').count() = 1`, message),
);
