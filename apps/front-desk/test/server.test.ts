import { afterAll, describe, expect, test } from '@jest/globals';
import fastify from 'fastify';
import { loadConfig } from '../../../scripts/cli/load-config.ts';
import { frontDesk } from '../server.ts';

const app = fastify();
// As behind a gateway, which lets staff alone ask for holidays.
app.decorateRequest('caller', undefined);
void app.register(
  frontDesk({
    config: loadConfig(),
    medplumUrl: 'https://medplum.example/',
    clientId: 'the-client',
    assets: { folder: process.cwd(), page: () => ({ script: 'main.js', style: 'main.css' }) },
  }),
  { prefix: '/front-desk' },
);
afterAll(() => app.close());

test.each(['/front-desk/', '/front-desk/calendar?date=2027-01-11', '/front-desk/signed-in?code=x'])(
  '%s is the page, which may call Medplum and run no script of others',
  async (url) => {
    const { statusCode, headers, body } = await app.inject(url);
    expect([statusCode, headers['cache-control']]).toEqual([200, 'no-cache']);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("connect-src 'self' https://medplum.example;");
    expect(body).toContain('src="/front-desk/assets/main.js"');
  },
);

test('the page is told nothing of networks and limits', async () => {
  const { body } = await app.inject('/front-desk/');
  const [, settings = ''] = body.match(/data-settings="([^"]*)"/) ?? [];
  const shown = JSON.parse(settings.replaceAll('&quot;', '"'));
  expect(Object.keys(shown)).toEqual(['medplumUrl', 'clientId', 'hasPortal', 'config']);
  expect(Object.keys(shown.config).toSorted()).toEqual([
    'baseUrl',
    'calendar',
    'confirmation',
    'metaTagSystem',
    'smallestBooking',
    'timeZone',
    'uris',
  ]);
});

describe('public holidays', () => {
  test('of a country and of a state, as days that can be closed', async () => {
    const bavaria = (await app.inject('/front-desk/holidays/DE-BY/2027')).json();
    expect(bavaria).toContainEqual({ start: '2027-01-06', end: '2027-01-06', reason: 'Heilige Drei Könige' });
    const all = (await app.inject('/front-desk/holidays/de/2027')).json();
    expect(all).toContainEqual(expect.objectContaining({ start: '2027-10-03' }));
    expect(all).not.toContainEqual(expect.objectContaining({ start: '2027-01-06' }));
  });

  test('are known of these countries and states', async () => {
    const { statusCode, headers, body } = await app.inject('/front-desk/holidays');
    const countries: { code: string; states: object[] }[] = JSON.parse(body);
    expect([statusCode, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(countries.find(({ code }) => code === 'DE')?.states).toContainEqual({ code: 'BY', name: 'Bayern' });
    expect(body.length).toBeLessThan(100_000);
  });

  test.each(['XX/2027', 'DE-XX/2027', 'DE/1999', 'DE/2101', 'DE/x', 'DE-..%2F..%2Fetc/2027', '__proto__/2027'])(
    'of %s there are none: 404, and why',
    async (path) => {
      const response = await app.inject(`/front-desk/holidays/${path}`);
      expect([response.statusCode, typeof response.json().problem]).toEqual([404, 'string']);
    },
  );
});
