import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { aService, halfHours, morning, origin, type TestService } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { stored, succeeded } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';
import { submit, subscription, turnsTo, unsubscribeAll } from '../../../../test/contract/notifications/fixtures.ts';
import { listen } from '../../../../test/contract/notifications/listener.ts';
import { bookedBy, calendarOf, dayOf, visitDesk } from './desk.ts';

/** Where the pictures go: `PICTURES=docs/pictures` renews those of docs/front-desk.md. */
const folder = process.env.PICTURES ?? 'dist/test-browser/pictures';

const devices = {
  desktop: { viewport: { width: 1100, height: 700 }, locale: 'en-GB' },
  phone: { viewport: { width: 360, height: 700 }, locale: 'de-DE' },
} as const;

/** Changes what is stored, as staff do. */
async function become(type: 'Appointment' | 'Slot', id: string | undefined, change: object): Promise<void> {
  const [before] = await stored(type, `_id=${id}`);
  const { status } = await medplum('front-desk', 'PUT', `/${type}/${id}`, { body: { ...before, ...change } });
  expect(status).toBe(200);
}

/** Two calendars on which everything stands that can. */
async function aFullDay(): Promise<readonly [TestService, TestService]> {
  const starts = halfHours(morning(9), 10);
  const first = await aService({ starts, name: 'Consultation', doctor: 'Dr. Ada Moreau' });
  const second = await aService({
    starts,
    name: 'Surgery',
    doctor: 'Dr. Jonas Weber',
    confirmation: 'manual',
    confirmWithin: 60,
  });
  for (const [index, family] of ['Albers', 'Bruns', 'Conrad', 'Dietz'].entries()) {
    const made = await bookedBy('portal-a', first, index, family);
    const status = ['fulfilled', 'arrived', 'noshow'][index];
    if (status) {
      await become('Appointment', made.id, { status });
    }
  }
  await become('Slot', first.slots[5]?.id, { status: 'busy-unavailable', comment: 'Team meeting' });
  await bookedBy('portal-b', second, 1, 'Ebert');
  await bookedBy('portal-a', second, 2, 'Funke');
  return [first, second];
}

for (const [device, options] of Object.entries(devices)) {
  test(`the front desk in pictures, ${device}`, async ({ browser }) => {
    test.slow();
    mkdirSync(folder, { recursive: true });
    const page = await (await browser.newContext({ ...options, reducedMotion: 'reduce' })).newPage();
    const take = (name: string) => page.screenshot({ path: join(folder, `desk-${name}-${device}.png`) });
    const [first, second] = await aFullDay();
    const calendar = `${calendarOf(first)},${second.schedule.id}`;
    await page.goto(calendar);
    await expect(page.getByRole('button', { name: /Sign in|anmelden/ })).toBeVisible();
    await take('sign-in');
    await visitDesk(page, calendar);
    await expect(page.getByRole('button', { name: /Funke/ })).toBeVisible();
    await take('day');
    await page.goto(`${calendar}&span=week`);
    await expect(page.getByRole('button', { name: /Funke/ })).toBeVisible();
    await page.getByRole('button', { name: /Albers/ }).scrollIntoViewIfNeeded();
    await take('week');
    await page.goto(calendar);
    await page.getByRole('button', { name: /Dietz/ }).click();
    await expect(page.locator('.history li')).toHaveCount(1);
    await take('appointment');
    await page.getByRole('button', { name: /^(Move|Verschieben)$/ }).click();
    await page
      .getByRole('button', { name: /(move here|hierher)$/ })
      .last()
      .click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await take('move');
    await page.goto(calendar);
    await page.getByRole('button', { name: /(Block time|Zeit sperren)/ }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await take('block');
    await page.keyboard.press('Escape');
    await page
      .getByRole('button', { name: /(free|frei)$/ })
      .last()
      .click();
    await expect(page.getByRole('tab').first()).toBeVisible();
    await page.getByText(/^(New patient|Neu)$/).click();
    await take('booking');
    const [waiting] = await stored('Appointment', `slot=Slot/${second.slots[1]?.id}`);
    await page.goto(`${origin}/front-desk/requests?open=${waiting?.id}`);
    await expect(page.locator('.history li')).toHaveCount(1);
    await take('requests');
    const [consultation] = await stored('HealthcareService', 'name=General%20medical%20consultation');
    await page.goto(`${origin}/front-desk/hours?of=${consultation?.id}`);
    await expect(page.getByRole('button', { name: /Add hours|Zeiten hinzufügen/ })).toBeVisible();
    await take('hours');
    await page.goto(`${origin}/front-desk/hours?of=closed-days`);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await page.waitForLoadState('networkidle');
    await take('closed-days');
    const failing = await listen(500);
    const { id } = succeeded('Subscription', await submit(subscription(failing)));
    await turnsTo('error', id);
    await page.goto(`${origin}/front-desk/notifications`);
    await expect(page.locator(`[data-subscription="${id}"]`)).toBeVisible();
    await take('notifications');
    await unsubscribeAll();
    await failing.close();
    expect(page.url()).not.toContain(dayOf(Date.now()));
  });
}
