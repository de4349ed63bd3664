/** What a patient can no longer do, or waits for, is said before they try. */
import { expect, test } from '@playwright/test';
import { aService, fillPerson, halfHours, morning, visit } from '../clinic.ts';

test('a request says until when the clinic answers; who can no longer cancel is told to call, and offered nothing', async ({
  page,
}) => {
  const starts = halfHours(morning(3), 1);
  const name = 'Lung function test';
  const slow = await aService({ starts, confirmation: 'manual', confirmWithin: 240, name, doctor: name });
  await visit(page, slow);
  await page.getByRole('button', { name: '09:00' }).click();
  // A calendar that is called as its service is nobody.
  await expect(page.locator('main').getByText(name)).toHaveCount(1);
  await fillPerson(page);
  await page.locator('button.primary').click();
  await expect(page.locator('.state')).toHaveClass(/asked/);
  await expect(page.locator('main').getByText(name)).toHaveCount(1);
  await expect(page.locator('dl')).toContainText('Answer by');

  const closed = await aService({ starts, cancelUntil: 30 * 24 * 60 });
  await visit(page, closed);
  await page.getByRole('button', { name: '09:00' }).click();
  await page.getByRole('radio', { name: 'Kim Muster' }).check();
  await page.locator('button.primary').click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
  await expect(page.getByRole('link', { name: /^(Cancel|Move)/ })).toHaveCount(0);
  await expect(page.locator('main')).toContainText(/call/i);
  await page.goto(`${page.url().split('?')[0]}/cancel`);
  await expect(page.getByRole('alert')).toContainText('It is too late to cancel');
  await expect(page.locator('button.danger')).toHaveCount(0);
});
