import { expect, type Page } from '@playwright/test';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { expectFits, smallest } from '../../../../test/browser/axe.ts';
import {
  aService,
  aVisit,
  fillPerson,
  halfHours,
  morning,
  origin,
  stepIn,
  type TestService,
  visit,
} from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { config } from '../../../../test/contract/installation.ts';
import { MINUTE_LIMIT } from '../../../../test/lib/time-scale.ts';

const headingIs = (page: Page, text: string) => expect(page.getByRole('heading', { level: 1 })).toHaveText(text);

async function bookFirst(page: Page, service: TestService): Promise<void> {
  await visit(page, service);
  await page.locator('.time').first().click();
  await fillPerson(page, 'Ina', 'Frei');
  await page.locator('button.primary').click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
}

async function join(page: Page, service: Pick<TestService, 'address'>): Promise<void> {
  await visit(page, service);
  await page.getByRole('link', { name: 'Wait for a time that becomes free' }).click();
  await fillPerson(page, 'Kim', 'Muster');
}

async function cancel(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Cancel the appointment' }).click();
  await page.locator('button.danger').click();
  await expect(page.locator('.state')).toHaveText('Cancelled');
}

/** The offer, once it is made. */
async function seeOffer(page: Page): Promise<void> {
  await expect(async () => {
    await page.goto(`${origin}/portal/appointments`);
    await expect(page.getByRole('heading', { name: 'A time is free for you' })).toBeVisible({ timeout: 500 });
  }).toPass();
}

test('who waits is offered the time that is freed, and takes it; who leaves is offered nothing', async ({
  browser,
}) => {
  test.slow();
  const service = await aService({ starts: halfHours(morning(9), 1), hasWaitlist: true });
  const [first, waiting, plain] = [
    await (await browser.newContext()).newPage(),
    await (await browser.newContext({ viewport: smallest })).newPage(),
    await (await browser.newContext({ javaScriptEnabled: false })).newPage(),
  ];
  await bookFirst(first, service);

  await join(plain, service);
  await plain.locator('button.primary').click();
  await headingIs(plain, 'You are on the waitlist');
  await join(waiting, service);
  const day = (name: string) => waiting.getByLabel(name, { exact: false }).inputValue();
  const wished = await Promise.all(['First day', 'Last day'].map(day));
  await expectFits(waiting);
  await waiting.locator('button.primary').click();
  await headingIs(waiting, 'You are on the waitlist');
  await expect(waiting.locator('#state')).toContainText('Your place2');
  const [from, to] = wished.map((one) =>
    new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long' }).format(new Date(`${one}T12:00Z`)),
  );
  await expect(waiting.locator('#state')).toContainText(new RegExp(`${from}.* to .*${to}`));
  await expectFits(waiting);

  await plain.getByRole('link', { name: 'Leave the waitlist' }).click();
  await headingIs(plain, 'Leave the waitlist?');
  await plain.locator('button.danger').click();
  await headingIs(plain, 'You have left the waitlist.');
  await waiting.goto(`${origin}/portal/appointments`);
  await expect(waiting.locator('.cards')).toContainText('Your place: 1');
  await expectFits(waiting);

  await waiting.locator('.cards a').first().click();
  await headingIs(waiting, 'Waitlist');
  await cancel(first);
  await expect(waiting.getByRole('heading', { name: 'A time is free for you' })).toBeVisible({ timeout: MINUTE_LIMIT });
  await expect(waiting.locator('#state-status')).toHaveText('A time is free for you');
  await expectFits(waiting);
  await waiting.locator('.card.offer button').click();
  await headingIs(waiting, 'Your appointment is booked');
  await expect(waiting.locator('.state')).toHaveText('Confirmed');
  await cancel(waiting);
  await waiting.goto(`${origin}/portal/appointments`);
  await expect(waiting.locator('.state')).toHaveText(['Cancelled']);
});

test('something earlier is offered beside an appointment, which stays if it is declined, all without a script', async ({
  browser,
}) => {
  test.slow();
  const service = await aService({ starts: halfHours(morning(9), 2), hasWaitlist: true });
  const [first, later] = [
    await (await browser.newContext()).newPage(),
    await (await browser.newContext({ javaScriptEnabled: false })).newPage(),
  ];
  await bookFirst(first, service);
  await bookFirst(later, service);
  const own = later.url();
  await later.getByRole('link', { name: 'Wait for an earlier time' }).click();
  await later.locator('button.primary').click();
  await headingIs(later, 'You are on the waitlist');

  await cancel(first);
  await seeOffer(later);
  await later.goto(own);
  await expect(later.locator('.card.offer')).toContainText('Your later appointment is then cancelled.');
  await later.getByRole('link', { name: 'Do not take it' }).click();
  await headingIs(later, 'Do not take this time?');
  await later.locator('button.danger').click();
  await headingIs(later, 'My appointments');
  await expect(later.locator('.state')).toHaveText(['Confirmed', 'On the waitlist']);
});

test('who moves to later is not offered the time just left, keeps the note, and by cancelling waits no more', async ({
  browser,
}) => {
  test.slow();
  const service = await aService({ starts: [morning(9), morning(10), morning(11)], hasWaitlist: true });
  const [first, page] = [await browser.newPage(), await browser.newPage()];
  await bookFirst(first, service);
  await visit(page, service);
  await page.locator('.time').first().click();
  await fillPerson(page, 'Ina', 'Frei');
  await page.locator('[name=comment]').fill('By wheelchair');
  await page.locator('button.primary').click();
  const own = page.url().replace(/\?.*/, '');
  await page.getByRole('link', { name: 'Wait for an earlier time' }).click();
  await page.locator('button.primary').click();
  await headingIs(page, 'You are on the waitlist');
  await page.goto(own);
  await page.getByRole('link', { name: 'Move', exact: true }).click();
  await page.locator('.time').first().click();
  await page.getByRole('button', { name: 'Move to this time' }).click();
  await headingIs(page, 'Your appointment was moved.');
  await cancel(first);
  await seeOffer(page);
  await expect(page.locator('.card.offer')).toContainText('09:00–09:30');
  expect((await stored('Appointment', `slot=Slot/${service.slots[0]?.id}&status=proposed`))[0]?.comment).toBe(
    'By wheelchair',
  );
  await page.goto(own);
  await page.getByRole('link', { name: 'Cancel the appointment' }).click();
  await page.locator('button.danger').click();
  await headingIs(page, 'Your appointment was cancelled.');
  await page.goto(`${origin}/portal/appointments`);
  await expect(page.locator('.state')).toHaveText(['Cancelled']);
  await expect(page.locator('.card.offer')).toHaveCount(0);
});

test('who waits for a whole visit is offered all of it as one, in place of a later one, and takes it', async ({
  browser,
}) => {
  test.slow();
  const starts = [morning(9), morning(10)];
  const [blood, ecg] = [
    await aService({ starts, hasWaitlist: true, doctor: 'Lab' }),
    await aService({ starts: starts.map((start) => start + 1_800_000), hasWaitlist: true, doctor: 'Dr. Herz' }),
  ];
  const order = [
    { url: 'after', valueString: blood.name },
    { url: 'gapMax', valueDuration: { value: 1, code: 'h' } },
  ];
  const release = {
    url: artefactUri(config, 'LocalBookingPolicy'),
    extension: [{ url: 'refill', valueBoolean: true }],
  };
  const whole = await aVisit('Check-up', [stepIn(blood), stepIn(ecg, ...order)], undefined, release);
  const [first, later, waiting] = [
    await (await browser.newContext()).newPage(),
    await (await browser.newContext({ viewport: smallest })).newPage(),
    await (await browser.newContext({ javaScriptEnabled: false })).newPage(),
  ];
  for (const page of [first, later]) {
    await visit(page, whole);
    await page.locator('.cards > .card').first().getByRole('button').click();
    await fillPerson(page, 'Ina', 'Frei');
    await page.locator('button.primary').click();
    await expect(page.locator('.state')).toHaveText('Confirmed');
  }
  await later.getByRole('link', { name: 'Wait for an earlier time' }).click();
  await later.locator('button.primary').click();
  await headingIs(later, 'You are on the waitlist');
  await join(waiting, whole);
  await waiting.locator('button.primary').click();
  await headingIs(waiting, 'You are on the waitlist');

  await first.getByRole('link', { name: 'Cancel the visit' }).click();
  await first.locator('button.danger').click();
  await expect(first.locator('.state')).toHaveText('Cancelled');
  const offer = later.locator('.card.offer');
  await expect(offer).toContainText('Your later appointment is then cancelled.', { timeout: MINUTE_LIMIT });
  await expect(offer).toHaveCount(1);
  await expect(offer.locator('ol li')).toHaveText([/09:00–09:30.*Lab/s, /09:30–10:00.*Dr\. Herz/s]);
  await expectFits(later);
  await offer.getByRole('button').click();
  await headingIs(later, 'Your appointment is booked');
  await expect(later.locator('.state')).toHaveText('Confirmed');
  await expect(later.locator('#state ol li')).toHaveText([/09:00–09:30.*Lab/s, /09:30–10:00.*Dr\. Herz/s]);

  // What it has given up is the next one's.
  await seeOffer(waiting);
  await expect(waiting.locator('.card.offer ol li')).toHaveCount(2);
  await waiting.locator('.card.offer button').click();
  await expect(waiting.locator('.state')).toHaveText('Confirmed');
});
