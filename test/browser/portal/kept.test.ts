import { expect, test } from '@playwright/test';
import { expectAccessible } from '../axe.ts';
import { aService, fillPerson, halfHours, morning, visit } from '../clinic.ts';

test('what is typed stays through a reload, the ways back and forward, and another language', async ({ page }) => {
  const service = await aService({
    starts: halfHours(morning(8), 2),
    questionnaire: { item: [{ linkId: 'a', text: 'Any allergies?', type: 'boolean' }] },
  });
  await visit(page, service);
  await page.getByRole('button', { name: '09:00' }).click();
  await fillPerson(page, 'Renate', 'Bleibt');
  await page
    .getByRole('group', { name: /allergies/ })
    .getByLabel('Yes')
    .check();
  // In no browser a month can be taken for a day.
  const day = page.locator('#field-birthDate + output');
  await expect(day).toHaveText('17 May 1990');
  const check = async () => {
    await expect(page.locator('[name=family]')).toHaveValue('Bleibt');
    await expect(page.locator('[name="q.0"][value=true]')).toBeChecked();
  };
  await page.reload();
  await check();
  await page.goBack();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Choose a day and a time');
  await page.goForward();
  await check();
  await page.locator('.language summary').click();
  await page.getByRole('button', { name: 'Deutsch' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Ihre Angaben');
  await check();
  await expect(day).toHaveText('17. Mai 1990');
  await expectAccessible(page);
  await page.locator('[name=email]').press('Enter');
  await expect(page.locator('.state')).toHaveText('Bestätigt');
  expect(await page.evaluate(() => Object.keys(sessionStorage))).toEqual([]);
});

test.describe('without scripts', () => {
  test.use({ javaScriptEnabled: false });
  test('what is typed stays in another language, and the way back over a mistake asks nothing', async ({ page }) => {
    const service = await aService({ starts: halfHours(morning(8), 1) });
    await visit(page, service);
    await page.getByRole('button', { name: '09:00' }).click();
    await fillPerson(page, 'Renate', 'Bleibt');
    await page.locator('.language summary').click();
    await page.getByRole('button', { name: 'Deutsch' }).click();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Ihre Angaben');
    await expect(page.locator('[name=family]')).toHaveValue('Bleibt');
    await page.locator('[name=birthDate]').fill('2999-01-01');
    await page.locator('[name=email]').press('Enter');
    await expect(page.getByRole('alert')).toContainText('Dieses Datum liegt in der Zukunft.');
    await page.goBack();
    await expect(page.locator('[name=family]')).toHaveValue('Bleibt');
    await page.goForward();
    await expect(page.getByRole('alert')).toContainText('Dieses Datum liegt in der Zukunft.');
    await page.locator('[name=birthDate]').fill('1990-05-17');
    await page.locator('[name=email]').press('Enter');
    await expect(page.locator('.state')).toHaveText('Bestätigt');
  });
});
