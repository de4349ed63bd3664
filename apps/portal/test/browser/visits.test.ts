import { randomUUID } from 'node:crypto';
import { expect, type Page } from '@playwright/test';
import { DAY } from '../../../../core/time/time-zone.ts';
import { expectFits, smallest } from '../../../../test/browser/axe.ts';
import {
  aSeries,
  aService,
  aVisit,
  fillPerson,
  halfHours,
  morning,
  origin,
  stepIn,
  visit,
} from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { slotsOf } from '../../../../test/contract/fixtures.ts';

const aPage = async (browser: { newContext: (options: object) => Promise<{ newPage: () => Promise<Page> }> }) =>
  (await browser.newContext({ viewport: smallest })).newPage();

for (const [what, isByStep] of [
  ['that ends as a whole', false],
  ['whose steps could end one by one', true],
] as const) {
  test(`a visit of two steps ${what} is booked, shown, moved and cancelled as one`, async ({ browser }) => {
    test.slow();
    const [first, second] = [
      await aService({ starts: halfHours(morning(9), 3), name: `Blood ${randomUUID().slice(0, 8)}`, doctor: 'Lab' }),
      await aService({ starts: halfHours(morning(9), 4), name: `ECG ${randomUUID().slice(0, 8)}`, doctor: 'Dr. Herz' }),
    ];
    const byStep = isByStep ? [{ url: 'byStep', valueBoolean: true }] : [];
    const after = { url: 'after', valueString: first.name };
    const whole = await aVisit('Before the operation', [stepIn(first), stepIn(second, after), ...byStep]);
    const page = await aPage(browser);
    await page.goto(`${origin}/portal/`);
    await visit(page, whole);
    const offered = page.locator('.cards > .card');
    await expect(offered.nth(0).locator('li')).toHaveText([/^09:00–09:30.*Blood/, /^09:30–10:00.*ECG/]);
    await expectFits(page);
    await offered.nth(1).getByRole('button').click();
    await expect(page.locator('.hold .until')).toBeVisible();
    await expect(page.locator('.aside ol li')).toHaveText([/09:30–10:00.*Blood/, /10:00–10:30.*ECG/]);
    await expectFits(page);
    expect((await slotsOf(second.schedule)).filter((one) => !one.startsWith('free'))).toHaveLength(1);
    await fillPerson(page, 'Vera', 'Muster');
    await page.locator('button.primary').click();
    await expect(page.locator('.state')).toHaveText('Confirmed');
    await expect(page.locator('#state ol li')).toHaveText([/09:30–10:00.*Blood.*Lab/s, /10:00–10:30.*ECG.*Dr\. Herz/s]);
    const file = await page.request.get(`${page.url().replace(/\?.*/, '')}/calendar.ics`);
    expect((await file.text()).match(/UID:\S+?(?=@)/g)).toHaveLength(2);

    await page.getByRole('link', { name: 'Move the visit' }).click();
    await expect(page.locator('.cards > .card')).toHaveCount(2);
    await page.locator('.cards > .card').nth(1).getByRole('button').click();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Move the whole visit?');
    await expectFits(page);
    await page.getByRole('button', { name: 'Move to this time' }).click();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your visit was moved.');
    await expect(page.locator('#state ol li')).toHaveText([/10:00–10:30.*Blood/s, /10:30–11:00.*ECG/s]);

    await page.goto(`${origin}/portal/appointments`);
    const card = page.locator('.cards a');
    await expect(card).toHaveCount(1);
    await expect(card).toContainText('10:00–11:00');
    await expect(card).toContainText(`10:00 · ${first.name} · Lab`);
    await expectFits(page);
    await card.click();
    await page.getByRole('link', { name: 'Cancel the visit' }).click();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Cancel the whole visit?');
    await expectFits(page);
    await page.locator('button.danger').click();
    await expect(page.locator('.state')).toHaveText('Cancelled');
    expect((await slotsOf(second.schedule)).filter((one) => !one.startsWith('free'))).toEqual([]);
  });
}

test('a series whose third time is taken is proposed with another one, booked, and moved one by one', async ({
  browser,
}) => {
  test.slow();
  const nine = morning(9);
  const days = Array.from({ length: 3 }, (_, week) => nine + week * 7 * DAY);
  const starts = [days[0], days[1], (days[2] ?? 0) + 1_800_000, (days[2] ?? 0) + 3_600_000].map((one) => one ?? 0);
  const exercise = await aService({ starts, doctor: 'Kim Turner' });
  const series = await aSeries(3, exercise);
  const page = await aPage(browser);
  await visit(page, series);
  const offered = page.locator('.cards > .card').first();
  await expect(offered).toContainText('2 of 3 appointments are at their usual time.');
  await expect(offered).toContainText(/Instead of .*09:00: .*09:30/);
  await expectFits(page);
  await offered.getByRole('button').click();
  await fillPerson(page, 'Vera', 'Muster');
  await page.locator('button.primary').click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your appointments are booked');
  await expect(page.locator('p.link')).toBeVisible();
  await expectFits(page);
  const file = await page.request.get(`${page.url().replace(/\?.*/, '')}/calendar.ics`);
  expect((await file.text()).match(/UID:/g)).toHaveLength(3);

  const own = page.getByRole('heading', { name: 'All appointments of this series' }).locator('..').getByRole('link');
  await expect(own).toHaveCount(3);
  await own.nth(2).click();
  await page.getByRole('link', { name: 'Move', exact: true }).click();
  await page.getByRole('link', { name: 'Go to the next free time' }).click();
  await page.locator('.time').click();
  await page.getByRole('button', { name: 'Move to this time' }).click();
  await expect(page.locator('#state')).toContainText('10:00–10:30');
  await page.goto(`${origin}/portal/appointments`);
  await expect(page.locator('.cards .state')).toHaveText(['Confirmed', 'Confirmed', 'Confirmed']);

  await page.locator('.cards a').first().click();
  await page.getByRole('link', { name: 'Cancel all that are to come' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Cancel these appointments?');
  await expect(page.locator('main ol li')).toHaveText([/09:00/, /09:00/, /10:00/]);
  await page.locator('button.danger').click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your appointments were cancelled.');
  expect((await slotsOf(exercise.schedule)).filter((one) => !one.startsWith('free'))).toEqual([]);
});

test('of a series with more times than a page shows, the later ones follow without a gap', async ({ browser }) => {
  const nine = morning(9);
  const starts = halfHours(nine, 12).flatMap((start) => [start, start + 7 * DAY]);
  const series = await aSeries(2, await aService({ starts, doctor: 'Kim Turner' }));
  const page = await aPage(browser);
  await visit(page, series);
  const offered = page.locator('.cards > .card h2');
  await expect(offered).toHaveCount(10);
  await expect(offered.last()).toContainText('13:30');
  await page.getByRole('link', { name: 'Later days' }).click();
  await expect(offered.first()).toContainText('14:00');
});

test('the rest of a series is moved at once, what was moved by itself stays, and one link leads to all of it', async ({
  browser,
}) => {
  test.slow();
  const nine = morning(9);
  const weeks = Array.from({ length: 14 }, (_, week) => nine + week * 7 * DAY);
  const starts = [...weeks, ...weeks.map((start) => start + DAY), (weeks[3] ?? 0) + 3_600_000];
  const exercise = await aService({ starts, doctor: 'Kim Turner' });
  const series = await aSeries(14, exercise);
  const page = await aPage(browser);
  await visit(page, series);
  await page.locator('.cards > .card').first().getByRole('button').click();
  await fillPerson(page, 'Vera', 'Muster');
  await page.locator('button.primary').click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your appointments are booked');
  await page.goto(`${origin}/portal/appointments`);
  await expect(page.locator('.cards a')).toHaveCount(14);

  // The fourth to another hour of its day.
  await page.locator('.cards a').nth(3).click();
  await page.getByRole('link', { name: 'Move', exact: true }).click();
  await page.locator('#from').fill(new Date(weeks[3] ?? 0).toISOString().slice(0, 10));
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.locator('.time', { hasText: '10:00' }).first().click();
  await page.getByRole('button', { name: 'Move to this time' }).click();
  await expect(page.locator('#state')).toContainText('10:00–10:30');

  await page.goto(`${origin}/portal/appointments`);
  await page.locator('.cards a').first().click();
  await page.getByRole('link', { name: 'Move all that are to come' }).click();
  await expect(page.locator('main')).toContainText('These stay as they are:');
  await expectFits(page);
  const offered = page.locator('.cards > .card').first();
  await expect(offered).toContainText('13 of 13 appointments are at their usual time.');
  await offered.getByRole('button').click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Move these appointments?');
  const [from, to] = [page.locator('dd ol').first(), page.locator('dd ol').last()];
  await expect(to.locator('li')).toHaveCount(13);
  const days = (await from.locator('li').allTextContents()).map((text) => Date.parse(text.replace(/,[^,]*$/, '')));
  expect(days).toHaveLength(13);
  expect(days).toEqual(days.toSorted((one, other) => one - other));
  await page.getByRole('button', { name: 'Move to this time' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your appointments were moved.');
  const taken = (await slotsOf(exercise.schedule)).filter((one) => !one.startsWith('free'));
  expect(taken).toHaveLength(14);

  const link = await page.locator('p.link').textContent();
  const other = await aPage(browser);
  await other.goto(link ?? '');
  await expect(other.locator('.cards a')).toHaveCount(14);
  await other.locator('.cards a').nth(13).click();
  await expect(other.locator('.state')).toHaveText('Confirmed');
});
