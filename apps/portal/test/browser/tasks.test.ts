/** What the tasks of patients cost in the portal: clicks, fields and seconds. */
import { expect, type Page, test } from '@playwright/test';
import { aService, halfHours, morning, origin, visit } from '../../../../test/browser/clinic.ts';
import { type Cost, costOf, expectCosts, type Hand, type Most } from '../../../../test/browser/costs.ts';

const most: Most = {
  book: [3, 4],
  'book again': [4, 0],
  'book for a child': [4, 6],
  move: [3, 0],
  cancel: [2, 0],
};

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const state = (page: Page, text: string) => expect(page.locator('.state')).toHaveText(text);

test('the tasks of a patient cost few clicks', async ({ page }) => {
  test.slow();
  const service = await aService({ starts: halfHours(morning(9), 6) });
  const costs: Cost[] = [];
  const measure = async (task: string, work: (hand: Hand) => Promise<unknown>) => {
    costs.push(await costOf(task, work));
  };
  const submit = button(page, 'Book this appointment');
  const person = async ({ type }: Hand): Promise<void> => {
    await type(page.locator('[name=given]'), 'Kim');
    await type(page.locator('[name=family]'), 'Muster');
    await type(page.locator('[name=birthDate]'), '1990-05-17');
    await type(page.locator('[name=email]'), 'kim@example.org');
  };

  await visit(page, service);
  const first = `${origin}/portal/?${new URLSearchParams({ find: service.name })}`;
  const chosen = page.getByRole('link', { name: service.name });
  await page.goto(first);
  await measure('book', async (hand) => {
    await hand.click(chosen);
    await hand.click(button(page, '09:00'));
    await person(hand);
    await hand.click(submit);
    await state(page, 'Confirmed');
  });
  await page.goto(first);
  await measure('book again', async ({ click }) => {
    await click(chosen);
    await click(button(page, '09:30'));
    await click(page.getByRole('radio', { name: 'Kim Muster' }));
    await click(submit);
    await state(page, 'Confirmed');
  });
  await page.goto(first);
  await measure('book for a child', async (hand) => {
    await hand.click(chosen);
    await hand.click(button(page, '10:00'));
    await hand.click(page.getByRole('radio', { name: 'For my child' }));
    await person(hand);
    await hand.type(page.locator('[name=ownGiven]'), 'Paula');
    await hand.type(page.locator('[name=ownFamily]'), 'Muster');
    await hand.click(submit);
    await state(page, 'Confirmed');
  });
  await measure('move', async ({ click }) => {
    await click(page.getByRole('link', { name: 'Move' }));
    await click(button(page, '10:30'));
    await click(button(page, 'Move to this time'));
    await expect(page.locator('#state')).toContainText('10:30–11:00');
  });
  await measure('cancel', async ({ click }) => {
    await click(page.getByRole('link', { name: 'Cancel the appointment' }));
    await click(page.locator('button.danger'));
    await state(page, 'Cancelled');
  });
  expectCosts(costs, most);
});
