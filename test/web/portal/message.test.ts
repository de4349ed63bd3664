/** The page to which the link in a message leads. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Parameters } from '@medplum/fhirtypes';
import fastify, { type FastifyInstance } from 'fastify';
import { portal } from '../../../web/portal/server.ts';
import { aBrowser, aClinic, builtFiles, bundle, settings } from './installed.ts';

const files = builtFiles();
let clinic: FastifyInstance;
let app: FastifyInstance;
let answers: readonly string[] = [];
const asked: (string | undefined)[] = [];

beforeAll(async () => {
  clinic = aClinic();
  clinic.get('/fhir/R4/Schedule', async () => bundle());
  clinic.get('/fhir/R4/HealthcareService', async () =>
    bundle(
      { resourceType: 'HealthcareService', id: 'h', providedBy: { reference: 'Organization/o' } },
      { resourceType: 'Organization', id: 'o', telecom: [{ system: 'phone', value: '+49 30 1234' }] },
    ),
  );
  clinic.post<{ Body: string }>('/fhir/R4/Appointment/$answer', async ({ body }) => {
    const { parameter = [] }: Parameters = JSON.parse(body);
    asked.push(parameter.find(({ name }) => name === 'answer')?.valueCode);
    return {
      resourceType: 'Parameters',
      parameter: [
        { name: 'status', valueCode: 'booked' },
        { name: 'start', valueInstant: '2040-01-02T09:00:00Z' },
        ...answers.map((valueCode) => ({ name: 'answer', valueCode })),
      ],
    };
  });
  const baseUrl = `${await clinic.listen({ port: 0 })}/fhir/R4`;
  app = fastify();
  const { assets } = files;
  void app.register(portal({ ...settings, assets, baseUrl, path: '/portal' }), { prefix: '/portal' });
});
afterAll(async () => {
  await app.close();
  await clinic.close();
  files.remove();
});

const main = ({ body }: { readonly body: string }): string => /<main.*<\/main>/s.exec(body)?.[0] ?? '';
const buttons = (page: string): string[] => [...page.matchAll(/value="(\w+)"/g)].map(([, value = '']) => value);

test('another time can be asked for wherever one can cancel: where the portal cannot move, the page says what to do', async () => {
  const { send } = aBrowser(app, '192.0.2.1');
  answers = ['come', 'cancel', 'stop'];
  const first = main(await send('/portal/message/a.b'));
  expect(buttons(first)).toEqual(['come', 'move', 'cancel', 'stop']);
  expect(first).not.toContain('tel:');
  const next = main(await send('/portal/message/a.b', { answer: 'move' }));
  expect(next).toContain('This appointment cannot be moved here.');
  expect(next).toContain('href="tel:+49301234"');
  expect(next).toContain('href="/portal/"');
  expect(buttons(next)).toEqual(['cancel', 'stop']);
  expect(asked).toEqual([undefined, undefined]);
});

test('who can do nothing here any more finds the telephone', async () => {
  const { send } = aBrowser(app, '192.0.2.1');
  for (const possible of [['come', 'stop'], ['stop']]) {
    answers = possible;
    const page = main(await send('/portal/message/a.b'));
    expect(buttons(page)).toEqual(possible);
    expect(page).toContain('href="tel:+49301234"');
  }
});
