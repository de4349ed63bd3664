import { type Browser, expect, type Page } from '@playwright/test';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { expectFits, smallest } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning, origin } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';
import { config } from '../../../../test/contract/installation.ts';
import { bookedBy, calendarOf, maria, signInThere } from './desk.ts';

const dialog = (page: Page) => page.getByRole('dialog');
const entry = (page: Page, name: RegExp) => page.locator('.grid').getByRole('button', { name });

async function germanPage(browser: Browser): Promise<Page> {
  return (await browser.newContext({ viewport: smallest, locale: 'de-DE', reducedMotion: 'reduce' })).newPage();
}

test('every page of the front desk fits into 320 pixels in German', async ({ browser }) => {
  test.slow();
  const page = await germanPage(browser);
  const service = await aService({ starts: halfHours(morning(6), 4), confirmation: 'manual', confirmWithin: 240 });
  await bookedBy('portal-a', service, 0, 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerk');
  await page.goto(calendarOf(service));
  await expect(page.getByRole('button', { name: 'Mit Medplum anmelden' })).toBeVisible();
  await expectFits(page);
  await signInThere(page, maria);
  await expect(entry(page, /Donaudampf/)).toBeVisible();
  await expectFits(page);
  await page.goto(calendarOf(service, '&span=week'));
  await expect(entry(page, /Donaudampf/)).toBeVisible();
  await expectFits(page);
  await page.goto(calendarOf(service));

  await entry(page, /Donaudampf/).click();
  await expect(dialog(page).locator('.history li')).toHaveCount(1);
  await expectFits(page);
  await dialog(page).getByRole('button', { name: 'Ablehnen' }).click();
  await expectFits(page);
  await page.keyboard.press('Escape');
  await expect(dialog(page)).toHaveCount(0);

  await entry(page, /frei$/).first().click();
  await dialog(page).getByText('Neu', { exact: true }).click();
  await expectFits(page);
  await dialog(page).getByRole('tab', { name: 'Sperren' }).click();
  await expectFits(page);
  await dialog(page).getByRole('button', { name: 'Sperren' }).click();
  await expectFits(page);
  await page.locator('.announcer').getByRole('button', { name: 'Schließen' }).click();
  await expect(dialog(page).getByRole('button', { name: 'Diese Zeit wieder anbieten' })).toBeVisible();
  await expectFits(page);
  await page.keyboard.press('Escape');

  await entry(page, /Donaudampf/).click();
  await dialog(page).getByRole('button', { name: 'Verschieben' }).click();
  await expect(page.locator('.moving')).toBeVisible();
  await expectFits(page);
  await entry(page, /hierher|Hierher|frei/)
    .last()
    .click();
  await expect(dialog(page)).toBeVisible();
  await expectFits(page);
});

test('requests, opening hours and notifications fit into 320 pixels in German', async ({ browser }) => {
  test.slow();
  const page = await germanPage(browser);
  const service = await aService({ starts: halfHours(morning(6), 1), confirmation: 'manual', confirmWithin: 300 });
  const asked = await bookedBy('portal-b', service, 0, 'Klein');
  await page.goto(`${origin}/front-desk/requests?open=${asked.id}`);
  await signInThere(page, maria);
  await expect(page.locator('.history li')).toHaveCount(1);
  await expectFits(page);

  // What the service has done by itself is said in the language of the page.
  const [stands] = await stored('Appointment', `_id=${asked.id}`);
  const expired = { code: 'confirmation-expired', display: 'The clinic did not confirm the request in time' };
  const cancelationReason = { coding: [{ system: artefactUri(config, 'LocalBookingError'), ...expired }] };
  const body = { ...stands, status: 'cancelled', cancelationReason };
  expect((await medplum('front-desk', 'PUT', `/Appointment/${asked.id}`, { body })).status).toBe(200);
  await page.goto(calendarOf(service, `&open=Appointment/${asked.id}`));
  await expect(dialog(page).locator('.facts')).toContainText('Die Anfrage wurde nicht rechtzeitig beantwortet.');
  await expect(dialog(page).locator('.facts')).not.toContainText('did not confirm');
  await expectFits(page);
  await page.goto(`${origin}/front-desk/hours`);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expectFits(page);
  await page.goto(`${origin}/front-desk/hours?of=closed-days`);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expectFits(page);
  await page.goto(`${origin}/front-desk/notifications`);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expectFits(page);
  await page.goto(`${origin}/front-desk/clinic`);
  await expect(page.getByRole('button', { name: 'Für Patienten speichern' })).toBeVisible();
  await expectFits(page);
  await page.goto(`${origin}/front-desk/messages`);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expectFits(page);
  await page.goto(`${origin}/front-desk/calendar?date=2026-02-31&calendars=nothing`);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expectFits(page);
});
