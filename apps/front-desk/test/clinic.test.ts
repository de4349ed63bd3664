/** How the clinic presents itself: what is typed, what is stored, and the portal's page as it would be. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Organization } from '@medplum/fhirtypes';
import fastify, { type FastifyInstance } from 'fastify';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { loadConfig } from '../../../scripts/cli/load-config.ts';
import { clinicPage } from '../../portal/preview.ts';
import { aClinic, builtFiles, settings } from '../../portal/test/installed.ts';
import { emptyPresentation, presentationOf, withPresentation, wrongIn } from '../clinic/presentation.ts';
import { frontDesk } from '../server.ts';

const url = 'urn:clinic';
const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const logo = `data:image/png;base64,${data}`;
const typed = {
  ...emptyPresentation,
  ...{ name: 'By the lake', logo, line: 'Seeweg 1', postalCode: '10115', city: 'Berlin', phone: '+49 30 1' },
  ...{ imprint: 'https://clinic.example/imprint', consent: 'I agree.' },
};

test('what was typed is stored, and what the form does not show stays', () => {
  const before: Organization = {
    resourceType: 'Organization',
    id: 'o',
    telecom: [
      { system: 'email', value: 'a@b.example' },
      { system: 'phone', value: '1' },
    ],
    address: [{ text: 'Somewhere' }, { city: 'Bonn' }],
    extension: [
      { url: 'urn:other', valueString: 'x' },
      { url, extension: [{ url: 'more', valueString: 'y' }] },
    ],
  };
  expect(presentationOf(before, url).line).toBe('Somewhere');
  const after = withPresentation(before, typed, url);
  expect(presentationOf(after, url)).toEqual(typed);
  expect(after.telecom).toEqual([
    { system: 'email', value: 'a@b.example' },
    { system: 'phone', value: '+49 30 1' },
  ]);
  expect(after.address?.[1]).toEqual({ city: 'Bonn' });
  expect(after.extension?.[0]).toEqual({ url: 'urn:other', valueString: 'x' });
  expect(after.extension?.[1]?.extension?.[0]).toEqual({ url: 'more', valueString: 'y' });
  const cleared = withPresentation(after, { ...emptyPresentation, name: 'N' }, url);
  expect(presentationOf(cleared, url)).toEqual({ ...emptyPresentation, name: 'N', line: '', city: 'Bonn' });
});

test('what cannot be stored is named', () => {
  expect(wrongIn(typed)).toEqual([]);
  const wrong = { ...typed, name: ' ', colour: 'red', imprint: 'javascript:alert(1)', privacy: 'clinic.example' };
  expect(wrongIn(wrong)).toEqual(['name', 'colour', 'imprint', 'privacy']);
  const svg = { ...typed, logo: 'data:image/svg+xml;base64,PHN2Zy8+' };
  expect(presentationOf(withPresentation({ resourceType: 'Organization' }, svg, url), url).logo).toBe('');
});

describe('POST /front-desk/clinic-preview', () => {
  const files = builtFiles();
  let clinic: FastifyInstance;
  let app: FastifyInstance;
  const send = (payload: object) => app.inject({ method: 'POST', url: '/front-desk/clinic-preview', payload });

  beforeAll(async () => {
    clinic = aClinic();
    const baseUrl = `${await clinic.listen({ port: 0 })}/fhir/R4`;
    const extensions = { ...settings.extensions, clinic: artefactUri(loadConfig(), 'LocalPortal') };
    const portal = { ...settings, extensions, baseUrl, path: '/portal', assets: files.assets };
    app = fastify();
    app.decorateRequest('caller', undefined);
    const desk = { config: loadConfig(), medplumUrl: 'https://medplum.example/', clientId: 'c', assets: files.assets };
    void app.register(frontDesk({ ...desk, clinicPage: clinicPage(portal) }), { prefix: '/front-desk' });
  });
  afterAll(async () => {
    await app.close();
    await clinic.close();
    files.remove();
  });

  test('is the page that patients would see, in their language, with nothing that runs', async () => {
    const name = '<script>alert(1)</script>';
    const response = await send({
      ...typed,
      name,
      imprint: 'javascript:alert(1)',
      bring: 'A <i>card</i>',
      language: 'de',
    });
    expect([response.statusCode, response.headers['cache-control']]).toEqual([200, 'no-store']);
    const { page } = response.json();
    expect(page).toContain('<html lang="de"');
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page).toContain('Seeweg 1, 10115 Berlin');
    expect(page).toContain(`<img src="${logo}"`);
    expect(page).toContain('I agree.');
    expect(page).toContain('A &lt;i&gt;card&lt;/i&gt;');
    expect(page).not.toContain('javascript:alert');
  });

  test.each([[{ name: { family: 'x' } }], [['x', 1]], [{}, 200], [{ logo: 'x'.repeat(300_000) }]])(
    'of %j is refused, or the page of nothing',
    async (payload: object, status = 400) => {
      expect((await send(payload)).statusCode).toBe(status);
    },
  );
});
