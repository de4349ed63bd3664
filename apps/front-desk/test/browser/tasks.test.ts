/** What a Monday morning costs at the front desk: clicks, fields and seconds of each task, as a table for docs/figures.md. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import { aService, halfHours, morning, origin } from '../../../../test/browser/clinic.ts';
import { type Cost, costOf, expectCosts, type Hand, type Most } from '../../../../test/browser/costs.ts';
import { aPatient, book, proposed, stored, succeeded } from '../../../../test/contract/fixtures.ts';
import { calendarOf, visitDesk } from './desk.ts';

const most: Most = {
  'find by name': [2, 1],
  'find by birth date': [2, 1],
  'find by telephone': [2, 1],
  'see the history': [0, 0],
  'book on empty time': [3, 3],
  overbook: [4, 3],
  block: [2, 2],
  cancel: [3, 0],
  undo: [1, 0],
  print: [1, 0],
};

test('the tasks of a Monday morning cost few clicks', async ({ page }) => {
  test.slow();
  const family = `Müller${Date.now().toString(36).replace(/\d/g, 'q')}`;
  const phone = `+4930${Date.now()}`;
  const year = 1930 + (Date.now() % 60);
  const patient = await aPatient('portal-a', {
    name: [{ family, given: ['Eva'] }],
    birthDate: `${year}-04-03`,
    telecom: [{ system: 'phone', value: phone }],
  });
  const service = await aService({ starts: halfHours(morning(11), 2) });
  const [slot] = service.slots;
  if (!slot) {
    throw new Error('There is no slot.');
  }
  const { serviceType } = service.schedule;
  const wanted = { ...proposed(patient, [slot]), start: slot.start, end: slot.end, serviceType };
  const made = succeeded('Appointment', await book(wanted, 'portal-a'));
  const drawer = page.getByRole('dialog');
  const entry = (name: RegExp) => page.locator('.grid').getByRole('button', { name });
  const button = (name: string, within: Page | Locator = page) => within.getByRole('button', { name, exact: true });
  const costs: Cost[] = [];
  const measure = async (task: string, work: (hand: Hand) => Promise<unknown>) => {
    costs.push(await costOf(task, work));
  };

  await visitDesk(page, calendarOf(service));
  for (const [task, text] of [
    ['find by name', family.replace('ü', 'ue')],
    ['find by birth date', `${family} 3.4.${year}`],
    ['find by telephone', phone.replace('+49', '0')],
  ] as const) {
    await measure(task, async ({ click, type }) => {
      await click(page.getByRole('button', { name: /^Find/ }));
      await type(page.getByRole('combobox', { name: 'Name, date of birth or telephone' }), text);
      await click(page.getByRole('option', { name: new RegExp(family) }).first());
      await expect(page.getByRole('heading', { level: 1 })).toHaveText(`Eva ${family}`);
    });
  }
  await measure('see the history', () =>
    expect(page.getByRole('region', { name: 'Coming (1)' })).toContainText('09:00'),
  );

  await page.goto(calendarOf(service));
  const fill = async ({ click, type }: Hand, start: string): Promise<void> => {
    await type(drawer.getByLabel('Begins at'), start);
    await type(drawer.getByLabel('Minutes'), '20');
    await type(drawer.getByLabel('Name, date of birth or telephone'), family);
    await click(drawer.getByRole('radio', { name: new RegExp(family) }));
    await click(button('Book', drawer));
  };
  await measure('book on empty time', async (hand) => {
    await hand.click(button('Book any time'));
    await fill(hand, '11:15');
    await expect(drawer.locator('.facts')).toContainText('11:15–11:35');
  });
  await page.keyboard.press('Escape');
  await measure('overbook', async (hand) => {
    await hand.click(button('Book any time'));
    await fill(hand, '09:10');
    await hand.click(button('Book it all the same, as an overbooking', drawer));
    await expect(drawer.locator('.facts')).toContainText('09:10–09:30');
  });
  await page.keyboard.press('Escape');
  const day = calendarOf(service).match(/date=([\d-]+)/)?.[1];
  await measure('block', async ({ click, type }) => {
    await click(button('Block time'));
    await type(drawer.getByLabel('From'), `${day}T14:00`);
    await type(drawer.getByLabel('Until'), `${day}T15:00`);
    await click(button('Block', drawer));
    await expect(page.getByRole('status').getByText('Blocked.')).toBeVisible();
  });
  await page.locator('.announcer').getByRole('button', { name: 'Close' }).click();
  await expect(drawer).toHaveCount(0);
  await measure('cancel', async ({ click }) => {
    await click(entry(/^09:00–09:30, booked, Eva/));
    await click(button('Cancel the appointment', drawer));
    await click(button('Cancel it now', drawer));
    await expect(page.getByRole('status').getByText('Cancelled.')).toBeVisible();
  });
  await measure('undo', async ({ click }) => {
    await click(button('Undo', drawer));
    await expect(page.getByRole('status').getByText('Nothing was changed')).toBeVisible();
  });
  expect((await stored('Appointment', `_id=${made.id}`))[0]?.status).toBe('booked');
  await page.keyboard.press('Escape');
  await page.evaluate(() => Object.assign(window, { print: () => document.body.setAttribute('data-printed', '') }));
  await measure('print', async ({ click }) => {
    await click(button('Print'));
    await expect(page.locator('body[data-printed]')).toHaveCount(1);
  });

  expectCosts(costs, most);
  expect(page.url()).toContain(origin);
});
