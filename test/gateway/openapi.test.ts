import { expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { isObject } from '../../core/fhir/resource.ts';
import { openApi } from '../../gateway/openapi.ts';
import { fhirRoutes } from '../../gateway/route-table.ts';
import { searchParameters } from '../../gateway/search/parameters/parameters.ts';
import { base, bearer, withGateway } from './fake-medplum.ts';

const { inject } = withGateway();

const named = { StructureDefinition: [], OperationDefinition: [], SearchParameter: [] };
const routes = fhirRoutes(() => Promise.resolve({ status: 404 }), named);
const description: unknown = JSON.parse(JSON.stringify(openApi({ baseUrl: base }, routes)));
const member = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce((one, name) => (isObject(one) ? one[name] : undefined), value);
const operations = routes.map(({ method, path }) =>
  member(description, 'paths', path.replace(/:(\w+)/g, '{$1}') || '/', method.toLowerCase()),
);

test('the description is valid OpenAPI', async () => {
  const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(description)));
  expect([valid, errors]).toEqual([true, undefined]);
});

test('it describes every route, each by a name of its own', () => {
  const names = operations.map((operation) => member(operation, 'operationId'));
  expect(new Set(names).size).toBe(routes.length);
  expect(names).not.toContain(undefined);
  const summaries = operations.map((operation) => member(operation, 'summary'));
  expect(summaries.filter((summary) => routes.some(({ interaction }) => interaction === summary))).toEqual([]);
});

test('every reference leads to something', () => {
  const references = [...JSON.stringify(description).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path ?? '');
  expect(references.length).toBeGreaterThan(100);
  expect(references.filter((path) => member(description, ...path.split('/')) === undefined)).toEqual([]);
});

test('a search has the parameters that are checked', () => {
  const search = member(description, 'paths', '/Slot', 'get', 'parameters');
  const names = Array.isArray(search) ? search.map((one) => member(one, 'name')) : [];
  expect(names).toEqual(expect.arrayContaining([...Object.keys(searchParameters.Slot), '_id']));
});

test.each([
  ['/Appointment/$book', 'post', ['Prefer', 'If-Match'], ['Appointment', 'Bundle', 'OperationOutcome'], '202'],
  ['/Appointment/$find', 'post', [], ['Bundle'], '200'],
  ['/Patient', 'post', ['Prefer', 'If-None-Exist'], ['Patient', 'OperationOutcome'], '200'],
  ['/Subscription', 'post', ['Prefer'], ['Subscription', 'OperationOutcome'], '201'],
  ['/Subscription/{id}/$events', 'get', ['id', 'eventsSinceNumber', 'eventsUntilNumber', 'content'], ['Bundle'], '200'],
])('%s %s takes and gives what the service does', (path, method, takes, gives, status) => {
  const operation = member(description, 'paths', path, method);
  const last = (found: unknown): string[] =>
    [...JSON.stringify(found).matchAll(/(\w[\w-]*)"\}/g)].map(([, name]) => name ?? '');
  const given = member(operation, 'parameters') ?? [];
  const names = Array.isArray(given) ? given.map((one) => member(one, 'name') ?? last(one)[0]) : [];
  const answer = member(operation, 'responses', status, 'content', 'application/fhir+json');
  expect([names, last(answer)]).toEqual([takes, gives]);
  expect(Object.keys(Object(member(operation, 'responses')))[0]).toBe(path === '/Subscription' ? '201' : '200');
});

test('the gateway serves it with its own address, to whoever has a token', async () => {
  expect((await inject('/fhir/R4/openapi.json')).statusCode).toBe(401);
  const response = await inject({ url: '/fhir/R4/openapi.json', headers: bearer });
  expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
  expect(response.json()).toEqual(description);
  expect(response.body).toContain(`"servers":[{"url":"${base}"}]`);
});
