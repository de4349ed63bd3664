import type { Appointment } from '@medplum/fhirtypes';
import { expect } from '@playwright/test';
import { isResource } from '../../../../core/fhir/resource.ts';
import { sealSecret } from '../../../../gateway/sealing/sealed-secret.ts';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, fillPerson, halfHours, morning, origin, visit } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { medplum, resourceIn } from '../../../../test/contract/http.ts';
import { keys } from '../../../../test/contract/installation.ts';
import { scaled } from '../../../../test/lib/time-scale.ts';
import { createSeal, sealKey } from '../../session/seal.ts';

/** The seal of the running portal: made from its secret, as the clinic has handed it out. */
async function portalSeal() {
  const found = resourceIn('Bundle', await medplum('admin', 'GET', '/ClientApplication?name:exact=Portal%20A'));
  const client = found.entry?.[0]?.resource;
  const { id = '', secret = '' } = isResource(client, 'ClientApplication') ? client : {};
  return createSeal(sealKey(keys ? sealSecret(keys, id, secret) : secret), Date.now);
}

test('a link works until its end, and not a day longer; what was changed in it never did', async ({ page }) => {
  const seal = await portalSeal();
  const content = { patients: [], appointments: ['00000000-0000-4000-8000-000000000000'] };
  const open = async (text: string) =>
    (await page.goto(`${origin}/portal/link?${new URLSearchParams({ t: text })}`))?.status();
  const valid = await seal.close('link', content, Date.now() + 60_000);
  expect(await open(await seal.close('link', content, Date.now() - 1_000))).toBe(410);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('This link has expired');
  await expectAccessible(page);
  const forged = await createSeal(sealKey('another secret'), Date.now).close('link', content, Date.now() + 60_000);
  const changed = `${valid.slice(0, -2)}${valid.endsWith('A') ? 'BB' : 'AA'}`;
  const session = await seal.close('session', content, Date.now() + 60_000);
  for (const text of ['', 'x', forged, changed, session, `${valid}.`, 'x'.repeat(10_000)]) {
    expect(await open(text)).toBe(404);
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('This link is not valid');
  }
  await expectAccessible(page);
  expect(await open(valid)).toBe(200);
  await expect(page.getByText('You have no appointments.')).toBeVisible();
});

test('nobody sees, moves or cancels the appointment of another, and cannot tell it from one that is not there', async ({
  browser,
}) => {
  const service = await aService({ starts: halfHours(morning(8), 2) });
  const [owner, other] = await Promise.all([0, 1].map(async () => (await browser.newContext()).newPage()));
  if (!owner || !other) {
    throw new Error('Two pages are needed.');
  }
  for (const [page, time] of [
    [owner, '09:00'],
    [other, '09:30'],
  ] as const) {
    await visit(page, service);
    await page.getByRole('button', { name: time }).click();
    await fillPerson(page);
    await page.getByRole('button', { name: 'Book this appointment' }).click();
    await expect(page.locator('.state')).toHaveText('Confirmed');
  }
  const foreign = new URL(owner.url()).pathname;
  const none = '/portal/appointments/00000000-0000-4000-8000-000000000000';
  const headers = { origin };
  for (const path of [foreign, none]) {
    for (const part of ['', '/state', '/calendar.ics', '/cancel', '/move?time=x']) {
      expect((await other.request.get(`${origin}${path}${part}`)).status(), part).toBe(404);
    }
    for (const part of ['/cancel', '/move']) {
      const response = await other.request.post(`${origin}${path}${part}`, { headers, form: { time: 'x' } });
      expect(response.status(), part).toBe(404);
    }
  }
  await other.goto(`${origin}/portal/appointments`);
  await expect(other.locator('.cards li')).toHaveCount(1);
  const stranger = await (await browser.newContext()).newPage();
  expect((await stranger.goto(`${origin}${foreign}`))?.status()).toBe(403);
  await expect(stranger.getByRole('heading', { level: 1 })).toHaveText('Open your personal link');
  await expectAccessible(stranger);
  const [stays] = await stored('Appointment', `slot=Slot/${service.slots[0]?.id}`);
  expect(stays?.status).toBe('booked');
});

test('a link is opened where another appointment is shown only after a question that names both', async ({
  browser,
}) => {
  const service = await aService({ starts: halfHours(morning(8), 2) });
  const [owner, other] = await Promise.all([0, 1].map(async () => (await browser.newContext()).newPage()));
  if (!owner || !other) {
    throw new Error('Two pages are needed.');
  }
  for (const [page, time, given] of [
    [owner, '09:00', 'Olga'],
    [other, '09:30', 'Otto'],
  ] as const) {
    await visit(page, service);
    await page.getByRole('button', { name: time }).click();
    await fillPerson(page, given);
    await page.getByRole('button', { name: 'Book this appointment' }).click();
    await expect(page.locator('.state')).toHaveText('Confirmed');
  }
  await other.goto((await owner.locator('.link').textContent()) ?? '');
  expect(other.url()).toBe(`${origin}/portal/link`);
  await expect(other.locator('main')).toContainText(/Olga Muster[\s\S]*Otto Muster/);
  await expectAccessible(other);
  await other.goto(`${origin}/portal/appointments`);
  await expect(other.locator('.cards li')).toHaveCount(1);
  await other.goto(`${origin}/portal/link`);
  await other.getByRole('button', { name: 'Show only the link’s appointment here' }).click();
  await expect(other.locator('.cards li')).toContainText('Olga Muster');
});

test('the way back after signing out shows nothing of anybody, and neither does the address of the form', async ({
  page,
}) => {
  const service = await aService({ starts: halfHours(morning(8), 1) });
  await visit(page, service);
  await page.getByRole('button', { name: '09:00' }).click();
  await fillPerson(page, 'Berta', 'Zurück');
  const form = page.url();
  await page.getByRole('button', { name: 'Book this appointment' }).click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
  await page.goto(form);
  await expect(page.locator('.state')).toHaveText('Confirmed');
  const tab = await page.context().newPage();
  await tab.goto(page.url());
  await expect(tab.getByText('Berta')).not.toHaveCount(0);
  await page.getByRole('link', { name: 'Forget my appointments on this device' }).click();
  await page.getByRole('button', { name: 'Yes, forget them here' }).click();
  await expect(page.getByText('This device has forgotten your appointments.')).toBeVisible();
  await expect(tab.getByText('Open your personal link')).toBeVisible({ timeout: scaled(5_000) });
  await expect(tab.getByText('Berta')).toHaveCount(0);
  for (let steps = 0; steps < 4; steps += 1) {
    await page.goBack();
    await expect(page.getByText(/Berta|Zurück/)).toHaveCount(0);
    await expect(page.locator('input[value=Zurück]')).toHaveCount(0);
  }
  expect((await page.goto(form))?.status()).toBe(403);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('This form belongs to another browser');
  await expectAccessible(page);
});

test('a form of another site does nothing; the session is no script’s, and no token of Medplum reaches the browser', async ({
  page,
  context,
}) => {
  const service = await aService({ starts: halfHours(morning(8), 1) });
  const seen: string[] = [];
  page.on('response', async (response) => {
    seen.push(JSON.stringify(response.headers()), await response.text().catch(() => ''));
  });
  await visit(page, service);
  await page.getByRole('button', { name: '09:00' }).click();
  await fillPerson(page);
  await page.getByRole('button', { name: 'Book this appointment' }).click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
  const own = page.url().split('?')[0] ?? '';
  const [session] = (await context.cookies()).filter(({ name }) => name === 'portal_session');
  expect(session).toMatchObject({ httpOnly: true, sameSite: 'Lax', path: '/portal' });
  expect(await page.evaluate(() => document.cookie)).toBe('');
  const seal = await portalSeal();
  expect(await seal.open('session', session?.value ?? '')).toMatchObject({ aud: 'session' });
  expect(seen.join('\n')).not.toMatch(/Bearer|access_token|client_secret/);

  await page.route('https://evil.example/', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<form method="post" action="${own}/cancel"><button>Win</button></form>`,
    }),
  );
  await page.goto('https://evil.example/');
  await page.getByRole('button', { name: 'Win' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('This did not come from this page');
  await expectAccessible(page);
  const forgeries: Record<string, string>[] = [
    {},
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin, 'sec-fetch-site': 'cross-site' },
  ];
  for (const headers of forgeries) {
    expect((await page.request.post(`${own}/cancel`, { headers })).status()).toBe(403);
  }
  const [stays] = await stored('Appointment', `slot=Slot/${service.slots[0]?.id}`);
  expect(stays?.status).toBe('booked');
});

test('what clinics and portals have stored is text, never markup or script', async ({ page }) => {
  const attack = '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>';
  const service = await aService({
    starts: halfHours(morning(8), 1),
    name: attack,
    doctor: attack,
    questionnaire: { title: attack, item: [{ linkId: attack, text: attack, type: 'string' }] },
  });
  await visit(page, service);
  await expect(page.locator('.chosen')).toContainText(attack);
  await page.getByRole('button', { name: '09:00' }).click();
  await expect(page.locator('legend', { hasText: attack })).toBeVisible();
  await fillPerson(page, attack.slice(0, 60), attack.slice(0, 60));
  await page.locator('[name=comment]').fill(attack);
  await page.getByRole('button', { name: 'Book this appointment' }).click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
  const [booked] = await stored('Appointment', `slot=Slot/${service.slots[0]?.id}`);
  const body: Partial<Appointment> = { ...booked, patientInstruction: attack, description: attack };
  expect((await medplum('front-desk', 'PUT', `/Appointment/${booked?.id}`, { body })).status).toBe(200);
  await page.reload();
  await expect(page.locator('.notes')).toHaveText(attack);
  expect(await page.evaluate(() => 'attacked' in window)).toBe(false);
  expect(await page.locator('main img, main script').count()).toBe(0);
});

test('the language switch leads to no other site', async ({ request }) => {
  for (const back of [
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    'javascript:alert(1)',
    '/fhir/R4/metadata',
    '',
  ]) {
    const response = await request.post(`${origin}/portal/language`, {
      headers: { origin },
      form: { language: 'de', back },
      maxRedirects: 0,
    });
    expect([response.status(), response.headers().location]).toEqual([303, '/portal/']);
  }
});
