import { expect, type Page } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, fillPerson, halfHours, morning, origin, visit } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { stored } from '../../../../test/contract/fixtures.ts';

test.describe('without scripts', () => {
  test.use({ javaScriptEnabled: false });
  test('the whole way works: hold, hold longer, mistakes, booking, moving, cancelling', async ({ page }) => {
    const service = await aService({
      starts: halfHours(morning(8), 3),
      questionnaire: {
        item: [
          { linkId: 'a', text: 'Any allergies?', type: 'boolean', required: true },
          {
            linkId: 'b',
            text: 'Which?',
            type: 'string',
            required: true,
            enableWhen: [{ question: 'a', operator: '=', answerBoolean: true }],
          },
        ],
      },
    });
    await visit(page, service);
    await expect(page.getByText('All times are the clinic’s local time')).toBeVisible();
    await page.getByRole('button', { name: '09:00' }).click();
    await page.locator('[name=given]').fill('Nora');
    await expect(page.getByText(/^We keep this time for you until/)).toBeVisible();
    // Early, more time would gain nothing, and it is given once.
    await page.getByRole('button', { name: 'Keep it longer' }).click();
    await expect(page.getByText(/^There is time until/)).toBeVisible();
    await expect(page.locator('[name=given]')).toHaveValue('Nora');
    await expect(page.getByText('Answer this only if it applies.')).toBeVisible();
    await fillPerson(page, 'Nora');
    // What a browser lets through, the server does not.
    await page.locator('[name=birthDate]').fill('2999-01-01');
    await page.getByRole('group', { name: 'Any allergies?' }).getByLabel('No').check();
    await page.getByRole('button', { name: 'Book this appointment' }).click();
    await expect(page.getByRole('alert')).toContainText('Date of birth: This date is in the future.');
    await page.locator('[name=birthDate]').fill('1990-05-17');
    await page.getByRole('button', { name: 'Book this appointment' }).click();
    await expect(page.locator('.state')).toHaveText('Confirmed');
    await page.getByRole('link', { name: 'Check for changes' }).click();
    await page.getByRole('link', { name: 'Move' }).click();
    await page.getByRole('button', { name: '10:00' }).click();
    await page.getByRole('button', { name: 'Move to this time' }).click();
    await expect(page.locator('#state')).toContainText('10:00–10:30');
    await page.getByRole('link', { name: 'Cancel the appointment' }).click();
    await page.getByRole('button', { name: 'Yes, cancel it' }).click();
    await expect(page.locator('.state')).toHaveText('Cancelled');
  });
});

/** Presses Tab until an element has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => {
      // Between the last element of the page and the first one the browser's own controls have the focus.
      const active = document.activeElement;
      const element = active === document.body ? null : (active as HTMLInputElement | null);
      const { outlineStyle, outlineWidth } = element
        ? getComputedStyle(element)
        : { outlineStyle: '', outlineWidth: '' };
      const text = element?.textContent?.trim();
      return {
        name: (element?.matches('button') ? text : element?.name || text) ?? '',
        outline: `${outlineStyle} ${outlineWidth}`,
      };
    });
    expect(focused.outline, `focus on ${focused.name} is visible`).not.toMatch(/^none|^\S+ 0px/);
    if (focused.name === name) {
      return;
    }
  }
  throw new Error(`Tab does not lead to ${name}.`);
}

test('the keyboard alone is enough, and the focus is always visible', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(8), 2) });
  await visit(page, service);
  await tabTo(page, 'Skip to content');
  await page.keyboard.press('Enter');
  await tabTo(page, '09:30');
  await page.keyboard.press('Enter');
  await page.waitForURL(/details/);
  await tabTo(page, 'given');
  await page.keyboard.type('Tab');
  await tabTo(page, 'family');
  await page.keyboard.type('Key');
  await tabTo(page, 'birthDate');
  // Chromium's own language decides in which order a date is typed.
  await page.keyboard.type('05171990');
  await tabTo(page, 'email');
  await page.keyboard.type('tab@example.org');
  // The Enter key books; it neither holds longer nor goes back.
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your appointment is booked');
  await expect(page.getByRole('heading', { level: 1 })).toBeFocused();
  await expect(page.locator('dl')).toContainText('Tab Key');
  const [booked] = await stored('Appointment', `slot=Slot/${service.slots[1]?.id}`);
  const [, patient] = booked?.participant?.[0]?.actor?.reference?.split('/') ?? [];
  expect((await stored('Patient', `_id=${patient}`))[0]?.birthDate).toBe('1990-05-17');
});

test('more time is offered, and given once, in the last minutes', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(8), 1), holdFor: 2 });
  await visit(page, service);
  await page.getByRole('button', { name: '09:00' }).click();
  await page.locator('[name=given]').fill('Lena');
  const [statusLine, longer] = [
    page.locator('.hold .status-line'),
    page.getByRole('button', { name: 'Keep it longer' }),
  ];
  await longer.click();
  await expect(statusLine).toHaveText(/^The time is now kept until \d\d:\d\d\.$/);
  await longer.click();
  await expect(statusLine).toHaveText(/^It cannot be kept longer/);
  await expect(page.locator('[name=given]')).toHaveValue('Lena');
  await expectAccessible(page);
});

test('a hold that has ended no longer says until when it lasts; e-mail and telephone are not both optional', async ({
  page,
}) => {
  const service = await aService({ starts: halfHours(morning(8), 1) });
  await page.clock.install();
  await visit(page, service);
  await page.getByRole('button', { name: '09:00' }).click();
  await expect(page.getByText(/^We keep this time for you until/)).toBeVisible();
  await expect(page.getByLabel('E-mail', { exact: true })).toBeVisible();
  await expect(page.getByLabel('Phone', { exact: true })).toBeVisible();
  await page.clock.fastForward(11 * 60_000);
  await expect(page.getByText(/^This time is no longer kept for you/)).toBeVisible();
  await expect(page.getByText(/^We keep this time for you until/)).toBeHidden();
  await expect(page.getByText('Time left:')).toBeHidden();
  await expectAccessible(page);
});

test('German by the browser, English by the switch, and the choice stays', async ({ browser }) => {
  const service = await aService({ starts: halfHours(morning(8), 1) });
  const page = await (await browser.newContext({ locale: 'de-DE' })).newPage();
  await visit(page, service);
  await expect(page.locator('html')).toHaveAttribute('lang', 'de');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Tag und Uhrzeit wählen');
  await expectAccessible(page);
  await page.locator('.language summary').click();
  await page.getByRole('button', { name: 'English' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Choose a day and a time');
  await page.goto(`${origin}/portal/`);
  await expect(page.locator('html')).toHaveAttribute('lang', 'en');
});

test('what is typed wrong is said beside the field and above, in German too', async ({ browser }) => {
  const service = await aService({ starts: halfHours(morning(8), 1) });
  const page = await (await browser.newContext({ locale: 'de-DE' })).newPage();
  await visit(page, service);
  await page.locator('.time').click();
  await page.locator('form.details').evaluate((form: HTMLFormElement) => {
    form.noValidate = true;
  });
  await page.locator('[name=email]').fill('kim at example');
  await page.getByRole('button', { name: 'Termin buchen' }).last().click();
  const alert = page.getByRole('alert');
  await expect(alert).toBeFocused();
  await expect(alert.getByRole('link')).toHaveText([
    'Vorname: Bitte füllen Sie dieses Feld aus.',
    'Nachname: Bitte füllen Sie dieses Feld aus.',
    'Geburtsdatum: Bitte füllen Sie dieses Feld aus.',
    'E-Mail: Geben Sie eine E-Mail-Adresse an, zum Beispiel kim@example.org.',
  ]);
  await expect(page.locator('[name=email]')).toHaveValue('kim at example');
  await expect(page.locator('[name=email]')).toHaveAccessibleDescription(/E-Mail-Adresse/);
  await expectAccessible(page);
  await alert.getByRole('link', { name: /Vorname/ }).click();
  await expect(page.locator('[name=given]')).toBeFocused();
});

for (const [name, viewport] of [
  ['320 pixels', { width: 320, height: 640 }],
  ['400 % zoom of 1280 pixels', { width: 320, height: 256 }],
] as const) {
  test(`at ${name} nothing is cut off, and targets are large enough`, async ({ browser }) => {
    const service = await aService({ starts: halfHours(morning(8), 2) });
    const page = await (await browser.newContext({ viewport })).newPage();
    const check = async (): Promise<void> => {
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
      const small = await page
        .locator('button:visible, .button:visible, nav a:visible, .cards a:visible, .day:visible')
        .evaluateAll((targets) =>
          targets
            .filter((target) => !target.matches('.first'))
            .filter((target) => target.getBoundingClientRect().height < 24 || target.getBoundingClientRect().width < 24)
            .map((target) => target.outerHTML),
        );
      expect(small).toEqual([]);
    };
    await visit(page, service);
    await check();
    await page.locator('.time').first().click();
    await expect(page.locator('[name=given]')).toBeVisible();
    await check();
    await fillPerson(page);
    await page.getByRole('button', { name: 'Book this appointment' }).click();
    await expect(page.locator('.state')).toHaveText('Confirmed');
    await check();
    await expectAccessible(page);
  });
}

test('nothing moves for those who asked for it, and the dark scheme has enough contrast', async ({ browser }) => {
  const service = await aService({ starts: halfHours(morning(8), 1) });
  const context = await browser.newContext({ reducedMotion: 'reduce', colorScheme: 'dark' });
  const page = await context.newPage();
  await visit(page, service);
  const [scrolling, transitions] = await page.evaluate(() => [
    getComputedStyle(document.documentElement).scrollBehavior,
    [...document.querySelectorAll('button, a')].map((element) => getComputedStyle(element).transitionDuration),
  ]);
  expect(scrolling).toBe('auto');
  expect(new Set(transitions)).toEqual(new Set(['0s']));
  expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
  await expectAccessible(page);
  await page.locator('.time').click();
  await expect(page.locator('[name=given]')).toBeVisible();
  await expectAccessible(page);
});

test('a link of a directory holds its time when it is opened, and not again on the way back', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(8), 1) });
  const manifest = await (await fetch(`${origin}/portal/$bulk-publish`)).json();
  const { url } = manifest.output.find(({ type }: { type: string }) => type === 'Slot');
  const slots = (await (await fetch(url)).text()).split('\n').filter((line) => line !== '');
  const found = slots.map((line) => JSON.parse(line)).find(({ id }) => id === service.slots[0]?.id);
  // The portal remembers the services for some seconds, maybe without this one.
  await visit(page, service);
  await page.goto(found.extension[0].valueUrl);
  await expect(page.getByText(/^We keep this time for you until/)).toBeVisible();
  expect(await stored('Appointment', `slot=Slot/${found.id}&status=proposed`)).toHaveLength(1);
  await page.goBack();
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  expect(await stored('Appointment', `slot=Slot/${found.id}`)).toHaveLength(1);
});
