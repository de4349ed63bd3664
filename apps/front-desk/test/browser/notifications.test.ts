import type { Subscription } from '@medplum/fhirtypes';
import { expect, type Locator, type Page } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { origin } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { aPatient, succeeded } from '../../../../test/contract/fixtures.ts';
import { request } from '../../../../test/contract/http.ts';
import {
  aBooking,
  about,
  confirm,
  submit,
  subscribed,
  subscription,
  turnsTo,
  unsubscribeAll,
} from '../../../../test/contract/notifications/fixtures.ts';
import { type Listener, listen, numbersAt, ofKind } from '../../../../test/contract/notifications/listener.ts';
import { jan, maria, visitDesk } from './desk.ts';

const address = `${origin}/front-desk/notifications`;
const cardOf = (page: Page, { id }: Pick<Subscription, 'id'>): Locator => page.locator(`[data-subscription="${id}"]`);

let listener: Listener;
test.beforeEach(async () => {
  listener = await listen();
});
test.afterEach(async () => {
  await unsubscribeAll();
  await listener.close();
});

/** A Subscription whose handshake was refused, to the appointments of a patient of its own: no other test causes an event of it. */
async function aFailed(): Promise<Subscription> {
  const own = about(await aPatient());
  listener.reply = 500;
  const secret = ['Authorization: Bearer top-secret'];
  const { id } = succeeded('Subscription', await submit(subscription(listener, { ...own, header: secret })));
  return turnsTo('error', id);
}

/** A Subscription whose first event waits for its next attempt. */
async function aWaiting(): Promise<Subscription> {
  const patient = await aPatient();
  const stored = await subscribed(listener, about(patient));
  listener.reply = 503;
  await confirm(await aBooking('manual', 'portal-a', patient));
  return stored;
}

test('a Subscription in error is switched on again by keyboard, once, and what it has become appears by itself', async ({
  page,
}) => {
  test.slow();
  const stored = await aFailed();
  const notified: string[] = [];
  page.on(
    'response',
    (response) =>
      void response
        .text()
        .then((text) => notified.push(text))
        .catch(() => undefined),
  );
  await visitDesk(page, address);
  const card = cardOf(page, stored);
  await expect(card.getByRole('heading')).toContainText('Changes to appointments, to an address of the portal: failed');
  await expect(card).toContainText('The endpoint answered with status 500.');
  await expect(card).toContainText('The service has given up.');
  // Whoever looks at the calendar sees it, too.
  await page.getByRole('link', { name: 'Calendar', exact: true }).click();
  await page.getByRole('link', { name: /^Notifications [1-9]\d*$/ }).click();
  await expectAccessible(page);
  expect(notified.filter((text) => text.includes('top-secret') || text.includes(listener.url))).toEqual([]);

  listener.reply = 200;
  await card.getByRole('button', { name: 'Switch on again' }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await expect(page.getByText('The portal is being asked again.')).toBeVisible();
  await expect(card.getByRole('heading')).toBeFocused();
  await expect(card.getByRole('heading')).toContainText('all delivered');
  await expect(card.getByRole('button')).toHaveCount(0);
  expect(ofKind(listener, 'handshake')).toHaveLength(2);
});

test('a receiver that still fails is shown with its new reason, and nothing is hidden', async ({ page }) => {
  test.slow();
  const stored = await aFailed();
  await visitDesk(page, address);
  const card = cardOf(page, stored);
  listener.reply = 503;
  await card.getByRole('button', { name: 'Switch on again' }).dblclick();
  await expect(card).toContainText('The endpoint answered with status 503.');
  await expect(card.getByRole('button', { name: 'Switch on again' })).toBeEnabled();
});

test('two people send what waits at the same moment: it is sent once more, and both see that it arrived', async ({
  browser,
}) => {
  test.slow();
  const stored = await aWaiting();
  const pages = await Promise.all(
    [maria, jan].map(async (person) => {
      const page = await (await browser.newContext()).newPage();
      await visitDesk(page, address, person);
      return page;
    }),
  );
  const cards = pages.map((page) => cardOf(page, stored));
  for (const card of cards) {
    await expect(card.getByRole('heading')).toContainText('waiting');
    await expect(card).toContainText('Next attempt');
    await expect(card.locator('.facts')).toContainText('0 of 1');
  }
  const before = ofKind(listener, 'event-notification').length;
  listener.reply = (response) => setTimeout(() => response.writeHead(200).end(), 500);
  await Promise.all(cards.map((card) => card.getByRole('button', { name: 'Send again now' }).click()));
  for (const card of cards) {
    await expect(card.getByRole('heading')).toContainText('all delivered');
    await expect(card.locator('.facts')).toContainText('1 of 1');
    await expect(card.getByRole('alert')).toHaveCount(0);
  }
  expect(numbersAt(listener)).toHaveLength(before + 1);
  expect(new Set(numbersAt(listener))).toEqual(new Set([1]));

  const [page] = pages;
  const [card] = cards;
  await card?.getByText('The last notifications').click();
  await expect
    .poll(() => card?.locator('.events li').allTextContents())
    .toEqual([expect.stringContaining('delivered')]);
  await card?.getByRole('link', { name: 'Appointment (1)' }).click();
  await expect.poll(() => page?.getByRole('dialog').textContent()).toContain('Muster');
});

test('what has ended while somebody looked is refused, and the page says what is so now', async ({ page }) => {
  test.slow();
  const stored = await aFailed();
  await visitDesk(page, address);
  const card = cardOf(page, stored);
  await expect(card.getByRole('button', { name: 'Switch on again' })).toBeVisible();
  // The page does not learn of it before the button is pressed.
  await page.route(/\/fhir\/R4\/(Subscription|Task)\?/, (route) => route.abort());
  const ended = { ...stored, status: 'off', channel: { ...stored.channel, endpoint: listener.url } };
  expect((await request('portal-a', 'PUT', `/Subscription/${stored.id}`, { body: ended })).status).toBe(200);
  await card.getByRole('button', { name: 'Switch on again' }).click();
  await expect(card.getByRole('alert')).toContainText('That is not possible');
  await card.getByRole('alert').getByText('What the server says').click();
  await expect(card.getByRole('alert')).toContainText('only its subscriber can start it anew');
  await expectAccessible(page);
  await card.getByRole('button', { name: 'Load again' }).click();
  await expect(card.getByRole('heading')).toContainText('ended');
  await expect(card.getByRole('button')).toHaveCount(0);
});

test.describe('in German on a small screen', () => {
  test.use({ locale: 'de-DE', viewport: { width: 320, height: 640 } });

  test('everything is there, and nothing is wider than the screen', async ({ page }) => {
    test.slow();
    const stored = await aFailed();
    await visitDesk(page, address);
    await page.getByRole('link', { name: 'Benachrichtigungen' }).click();
    const card = cardOf(page, stored);
    await expect(card.getByRole('heading')).toContainText(
      'Änderungen an Terminen, an eine Adresse des Portals: fehlgeschlagen',
    );
    await expect(card.getByRole('button', { name: 'Wieder einschalten' })).toBeVisible();
    const said = card.getByText('The endpoint answered with status 500.');
    await expect(said).toBeHidden();
    await card.getByText('Meldung des Servers').click();
    await expect(said).toBeVisible();
    expect(await said.evaluate((one) => one.closest('[lang]')?.getAttribute('lang'))).toBe('en');
    await card.getByText('Die letzten Benachrichtigungen').click();
    await expect(card).toContainText('Es gab noch nichts mitzuteilen');
    await expectAccessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
  });
});

test('where nobody has subscribed, and where the rights are missing, the page says so', async ({ page }) => {
  const answerOf = (entry: object) => ({ resourceType: 'Bundle', type: 'batch-response', entry: [entry, entry] });
  const empty = { resource: { resourceType: 'Bundle', type: 'searchset' } };
  const forbidden = { response: { status: '403' }, resource: { resourceType: 'OperationOutcome', issue: [] } };
  let json = answerOf(empty);
  await page.route(/\/fhir\/R4$/, async (route) => {
    const isOurs = route.request().postData()?.includes('LocalSubscriptionTermin');
    await (isOurs ? route.fulfill({ json }) : route.continue());
  });
  await visitDesk(page, address);
  await expect(page.getByText('No portal has subscribed to notifications.')).toBeVisible();
  await expectAccessible(page);
  json = answerOf(forbidden);
  await page.reload();
  await expect(page.getByRole('alert')).toContainText('You are not allowed to do that');
  await expectAccessible(page);
});
