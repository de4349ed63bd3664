import { type Browser, expect, type Page } from '@playwright/test';
import { expectFits, smallest } from '../../../../test/browser/axe.ts';
import { aService, fillPerson, halfHours, morning, origin, visit } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';
import { textsOf } from '../../texts/texts.ts';

/** A German on the smallest screen, or with the largest letters. */
async function germanPage(browser: Browser): Promise<Page> {
  return (await browser.newContext({ viewport: smallest, locale: 'de-DE', timezoneId: 'America/New_York' })).newPage();
}

const headingIs = (page: Page, text: string) => expect(page.getByRole('heading', { level: 1 })).toHaveText(text);

const longWord = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';

test('every page of the way of a patient fits into 320 pixels in German', async ({ browser }) => {
  test.slow();
  const page = await germanPage(browser);
  const service = await aService({
    starts: halfHours(morning(8), 5),
    name: `Sprechstunde für ${longWord}`,
    doctor: `Dr. ${longWord}`,
    questionnaire: {
      title: 'Vor Ihrem Besuch',
      item: [
        { linkId: 'a', text: `Waren Sie schon einmal bei der ${longWord}?`, type: 'boolean', required: true },
        { linkId: 'b', text: 'Seit wann?', type: 'date' },
        { linkId: 'c', text: 'Wie oft?', type: 'choice', answerOption: [{ valueString: longWord }] },
        { linkId: 'd', text: 'Ihre früheren Befunde', type: 'attachment' },
      ],
    },
  });
  await page.goto(origin);
  await expectFits(page);
  await page.goto(`${origin}/portal/`);
  await expectFits(page);
  await visit(page, service);
  await headingIs(page, 'Tag und Uhrzeit wählen');
  await expectFits(page);

  await page.getByRole('button', { name: '09:30' }).click();
  await headingIs(page, 'Ihre Angaben');
  await expectFits(page);
  await page.locator('form.details').evaluate((form: HTMLFormElement) => {
    form.noValidate = true;
  });
  await page.locator('button.primary').click();
  await expect(page.getByRole('alert')).toBeVisible();
  await expectFits(page);
  await fillPerson(page, longWord.slice(0, 60), longWord);
  await page
    .getByRole('group', { name: /Waren Sie/ })
    .getByLabel('Ja')
    .check();
  await page.locator('button.primary').click();
  await expect(page.locator('.state')).toHaveText('Bestätigt');
  await expectFits(page);
  const address = new URL(page.url()).pathname;
  await page.goto(`${origin}/portal/appointments`);
  await expectFits(page);
  await page.goto(`${origin}${address}`);
  await page.getByRole('link', { name: 'Verschieben' }).click();
  await headingIs(page, 'Neue Zeit wählen');
  await expectFits(page);
  await page.getByRole('button', { name: '10:30' }).click();
  await headingIs(page, 'Termin verschieben?');
  await expectFits(page);
  await page.goto(`${origin}${address}/cancel`);
  await expectFits(page);
  await page.locator('button.danger').click();
  await expect(page.locator('.state')).toHaveText('Abgesagt');
  await expectFits(page);
});

test('what can go wrong in the portal fits into 320 pixels in German', async ({ browser }) => {
  test.slow();
  const page = await germanPage(browser);
  await page.goto(`${origin}/portal/appointments`);
  await expectFits(page);
  for (const wrong of ['nothing', 'link?t=x', 'details?b=x']) {
    await page.goto(`${origin}/portal/${wrong}`);
    await expectFits(page);
  }
  const service = await aService({ starts: halfHours(morning(8), 3), confirmation: 'manual' });
  const block = async (index: number): Promise<void> => {
    const { id } = service.slots[index] ?? {};
    const [slot] = await stored('Slot', `_id=${id}`);
    await medplum('front-desk', 'PUT', `/Slot/${id}`, { body: { ...slot, status: 'busy-unavailable' } });
  };
  await visit(page, service);
  await block(0);
  await page.getByRole('button', { name: '09:00' }).click();
  await expect(page.getByRole('alert')).toBeVisible();
  await expectFits(page);

  await page.locator('.alternatives button').first().click();
  await headingIs(page, 'Ihre Angaben');
  await fillPerson(page);
  await page.getByRole('button', { name: /andere Zeit|Andere Zeit/ }).click();
  await visit(page, service);
  await page.locator('.time').first().click();
  await fillPerson(page);
  await page.locator('button.primary').click();
  await expect(page.locator('.state')).toHaveClass(/asked/);
  await expectFits(page);
  await page.locator('footer a').last().click();
  await expectFits(page);
  await page.locator('button.danger').click();
  await expect(page).toHaveURL(/left=1/);
  await expectFits(page);
});

test('moments that several doctors have free are named once, fit in both directions, and are booked', async ({
  browser,
}) => {
  test.slow();
  const page = await germanPage(browser);
  const starts = halfHours(morning(8), 21);
  const first = await aService({ starts, doctor: 'Dr. Mira Lindner' });
  const second = await aService({ starts, doctor: `Dr. ${longWord}`, like: first.schedule });
  // The portal remembers the services for some seconds, maybe without the second doctor.
  await expect(async () => {
    await visit(page, second);
    expect(await page.locator('.named .time').count()).toBe(21);
  }).toPass();
  for (const { language, times } of [textsOf.ar, textsOf.de]) {
    await page.context().addCookies([{ name: 'portal_language', value: language, url: `${origin}/portal` }]);
    await page.reload();
    await expect(page.locator('#times')).toContainText(times.incomplete);
    await expectFits(page);
  }
  const names = await page.locator('.named small').allInnerTexts();
  expect(new Set(names)).toEqual(new Set(['Dr. Mira Lindner', `Dr. ${longWord}`]));
  await page.getByRole('button', { name: '11:30' }).click();
  await headingIs(page, 'Ihre Angaben');
  await fillPerson(page);
  await page.locator('button.primary').click();
  await expect(page.locator('.state')).toHaveText('Bestätigt');
  await expect(page.locator('dl')).toContainText(names[5] ?? '–');
  await visit(page, second);
  await page.getByRole('link', { name: 'Dr. Mira Lindner' }).click();
  await expect(page.locator('#times')).not.toContainText(textsOf.de.times.incomplete);
});
