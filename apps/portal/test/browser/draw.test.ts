import { expect, type Page } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, fillPerson, halfHours, morning, type TestService, visit } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { MINUTE_LIMIT, scaled } from '../../../../test/lib/time-scale.ts';

const ASKED = 'You have asked for this time';
const LOST = 'You did not get this time';

/** How long the two may ask, and how long the draw can take then, in milliseconds. */
const ASKING = scaled(4_000);
const DRAW = ASKING + MINUTE_LIMIT;

/** Asks for the first time, and keeps the link. */
async function ask(page: Page, service: TestService, name: string): Promise<string> {
  await visit(page, service);
  await expect(page.getByText(/^Given by lot: ask until .*\d\d:\d\d/)).toBeVisible();
  await page.getByRole('button', { name: '09:00 by lot' }).click();
  await expect(page.getByText(/^Given by lot: ask until/)).toBeVisible();
  await fillPerson(page, name, 'Muster');
  await page.getByRole('button', { name: 'Ask for this time' }).click();
  await expect(page.locator('.state')).toHaveText(ASKED);
  return (await page.locator('.link').textContent()) ?? '';
}

test('two ask for a time that is drawn: one sees it booked, the other that it went to somebody else, here or by the link', async ({
  browser,
}) => {
  test.setTimeout(2 * DRAW);
  const service = await aService({
    starts: halfHours(morning(6), 2),
    drawUntil: Date.now() + ASKING,
    isRefilled: true,
  });
  const open = async () => (await browser.newContext()).newPage();
  const [here, closed, back] = [await open(), await open(), await open()];
  const [, link] = await Promise.all([ask(here, service, 'Kim'), ask(closed, service, 'Robin')]);
  await expectAccessible(here);
  await closed.close();
  await back.goto(link);
  await expect(back.locator('.state')).toHaveText(ASKED);
  expect(back.url()).not.toBe(link);

  await expect(here.locator('.state')).toHaveText(/^(Confirmed|You did not get this time)$/, { timeout: DRAW });
  const isHere = (await here.locator('.state').textContent()) === 'Confirmed';
  const loser = isHere ? back : here;
  if (isHere) {
    await expect(here.getByRole('heading', { level: 1 })).toHaveText('Your appointment is booked');
  } else {
    await expect(back.getByRole('heading', { level: 1 })).toHaveText('My appointments', { timeout: DRAW });
    await back.getByRole('link', { name: /09:00/ }).click();
    await expect(back.locator('.state')).toHaveText('Confirmed');
  }
  await expectAccessible(here);
  expect(await stored('Appointment', `slot=Slot/${service.slots[0]?.id}&status=booked`)).toHaveLength(1);

  await expect(loser.locator('.state')).toHaveText(LOST, { timeout: DRAW });
  await expect(loser.getByText('Someone else was drawn for it.')).toBeVisible();
  await expect(loser.getByRole('link', { name: 'Tell me if a time becomes free' })).toBeVisible();
  await loser.getByRole('link', { name: 'See all free times' }).click();
  await expect(loser.getByRole('button', { name: '09:30' })).toBeVisible();
});
