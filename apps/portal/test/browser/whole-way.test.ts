import { readFile } from 'node:fs/promises';
import type { Questionnaire } from '@medplum/fhirtypes';
import { expect, type Page } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, fillPerson, halfHours, later, morning, origin, visit } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';

const questionnaire = {
  title: 'Before your first visit',
  item: [
    { linkId: 'reason', text: 'Why do you come?', type: 'string', required: true },
    { linkId: 'pregnant', text: 'Do you take any medicines?', type: 'boolean', required: true },
    {
      linkId: 'which',
      text: 'Which ones?',
      type: 'text',
      required: true,
      enableWhen: [{ question: 'pregnant', operator: '=', answerBoolean: true }],
    },
    {
      linkId: 'since',
      text: 'Since when?',
      type: 'choice',
      answerOption: [
        { valueCoding: { code: 'd', display: 'Some days' } },
        { valueCoding: { code: 'w', display: 'Weeks' } },
      ],
    },
    { linkId: 'scan', text: 'Send us your earlier findings', type: 'attachment' },
  ],
} satisfies Pick<Questionnaire, 'item' | 'title'>;

async function axe(page: Page, heading: string | RegExp): Promise<void> {
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(heading);
  await expectAccessible(page);
}

test('a patient chooses, answers, books, comes back, moves and cancels; axe finds nothing on the way', async ({
  page,
}) => {
  test.slow();
  const failed: string[] = [];
  page.on('response', (response) => response.status() >= 400 && failed.push(`${response.status()} ${response.url()}`));
  page.on('pageerror', (error) => failed.push(error.message));
  const asked = new Set<string>();
  page.on('request', (request) => asked.add(new URL(request.url()).origin));

  const service = await aService({
    starts: halfHours(morning(6), 4),
    questionnaire: { ...questionnaire, item: [...questionnaire.item] },
  });
  await page.goto(origin);
  await page.getByRole('link', { name: 'Book an appointment' }).click();
  await axe(page, 'What do you need?');
  await visit(page, service);
  failed.length = 0;
  await axe(page, 'Choose a day and a time');
  await expect(page.getByRole('link', { name: /4 times/ })).toHaveAttribute('aria-current', 'date');

  await page.getByRole('button', { name: '09:30' }).click();
  await axe(page, 'Your details');
  await expect(page.locator('.remaining')).toHaveText(/^(9|10):\d\d$/);
  const [hold] = await stored('Appointment', `slot=Slot/${service.slots[1]?.id}`);
  expect(hold?.status).toBe('proposed');

  await fillPerson(page);
  await page.getByRole('textbox', { name: 'Why do you come?' }).fill('Cough');
  await expect(page.getByText('Which ones?')).toBeHidden();
  await page
    .getByRole('group', { name: /medicines/ })
    .getByLabel('Yes')
    .check();
  await page.getByRole('textbox', { name: 'Which ones?' }).fill('Ibuprofen');
  await page
    .getByRole('group', { name: /Since when/ })
    .getByLabel('Weeks')
    .check();
  await expect(page.getByText('This question cannot be answered here.')).toBeVisible();
  await page.getByRole('textbox', { name: /Anything the clinic should know/ }).fill('I use a wheelchair');
  await expect(page.getByRole('button', { name: 'Keep it longer' })).toBeHidden();
  await page.getByRole('button', { name: 'Book this appointment' }).click();

  await axe(page, 'Your appointment is booked');
  await expect(page.locator('.state')).toHaveText('Confirmed');
  await expect(page.locator('#state')).toContainText('09:30–10:00');
  await expect(page.locator('dl')).toContainText('Dr. Mira Lindner');
  const [booked] = await stored('Appointment', `slot=Slot/${service.slots[1]?.id}`);
  expect(booked).toMatchObject({ id: hold?.id, status: 'booked', comment: 'I use a wheelchair' });
  const [answers] = await stored(
    'QuestionnaireResponse',
    `questionnaire=https://clinic.example/Questionnaire/${service.schedule.serviceType?.[0]?.coding?.[0]?.code}`,
  );
  expect(answers?.item?.map(({ linkId, answer }) => [linkId, answer])).toEqual([
    ['reason', [{ valueString: 'Cough' }]],
    ['pregnant', [{ valueBoolean: true }]],
    ['which', [{ valueString: 'Ibuprofen' }]],
    ['since', [{ valueCoding: { code: 'w', display: 'Weeks' } }]],
  ]);

  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: /calendar/ }).click();
  const file = await readFile(await (await download).path(), 'utf8');
  expect(file).toContain(`DTSTART:${booked?.start?.replace(/[-:]|\.000/g, '')}`);
  expect(file).toMatch(
    /BEGIN:VCALENDAR[\s\S]*LOCATION:Klinik am See[\s\S]*DESCRIPTION:Move or cancel it here: [\s\S]*TRIGGER:-P1D[\s\S]*STATUS:CONFIRMED[\s\S]*END:VCALENDAR/,
  );

  await expect(page.getByRole('link', { name: 'Send it to kim@example.org' })).toHaveAttribute(
    'href',
    /^mailto:kim%40example\.org\?/,
  );
  const link = (await page.locator('.link').textContent()) ?? '';
  await page.getByRole('link', { name: 'Forget my appointments on this device' }).click();
  await axe(page, 'Forget my appointments on this device');
  await expect(page.locator('.link')).toHaveText(/\/portal\/link\?t=/);
  await page.getByRole('button', { name: 'Yes, forget them here' }).click();
  await expect(page.getByText('This device has forgotten your appointments.')).toBeVisible();
  await page.goto(link);
  await axe(page, 'My appointments');
  expect(page.url()).toBe(`${origin}/portal/appointments`);
  await page.getByRole('link', { name: /09:30/ }).click();

  await page.getByRole('link', { name: 'Move' }).click();
  await axe(page, 'Choose a new time');
  const day = new Date(morning(6)).toLocaleDateString('en-GB', { dateStyle: 'full', timeZone: 'Europe/Berlin' });
  await expect(page.locator('main')).toContainText(`Your appointment now: ${day}, 09:30–10:00`);
  await page.getByRole('button', { name: '10:30' }).click();
  await axe(page, 'Move the appointment?');
  await expect(page.locator('dd')).toHaveText([
    `${service.name}, Dr. Mira Lindner`,
    `${day}, 09:30–10:00`,
    new RegExp(`^${day}, 10:30–11:00\\s*Dr. Mira Lindner$`),
  ]);
  await page.getByRole('button', { name: 'Move to this time' }).click();
  await axe(page, 'Your appointment was moved.');
  await expect(page.locator('#state')).toContainText('10:30–11:00');
  expect((await stored('Slot', `schedule=Schedule/${service.schedule.id}&status=free`)).length).toBe(3);

  await page.getByRole('link', { name: 'Cancel the appointment' }).click();
  await axe(page, 'Cancel this appointment?');
  await page.getByRole('button', { name: 'Yes, cancel it' }).click();
  await axe(page, 'Your appointment was cancelled.');
  await expect(page.locator('.state')).toHaveText('Cancelled');
  expect((await stored('Slot', `schedule=Schedule/${service.schedule.id}&status=free`)).length).toBe(4);
  expect(failed).toEqual([]);
  expect([...asked]).toEqual([origin]);
});

test('a second booking needs no details again, if the same patient is chosen; one link leads back to both', async ({
  page,
  browser,
}) => {
  const service = await aService({ starts: halfHours(morning(6), 2) });
  await visit(page, service);
  await page.getByRole('button', { name: '09:00' }).click();
  await fillPerson(page);
  await page.getByRole('button', { name: 'Book this appointment' }).click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
  await visit(page, service);
  await page.getByRole('button', { name: '09:30' }).click();
  await expect(page.locator('[name=family]')).toHaveValue('');
  await expectAccessible(page);
  await page.getByRole('radio', { name: 'Kim Muster' }).check();
  await expect(page.locator('[name=family]')).toBeHidden();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Book this appointment' }).click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
  const [first, second] = await Promise.all(service.slots.map(({ id }) => stored('Appointment', `slot=Slot/${id}`)));
  expect(second?.[0]?.participant?.[0]?.actor?.reference).toBe(first?.[0]?.participant?.[0]?.actor?.reference);
  await expect(page.getByText('With this link you come back to these 2 appointments')).toBeVisible();
  const link = (await page.locator('.link').textContent()) ?? '';
  const elsewhere = await (await browser.newContext()).newPage();
  await elsewhere.goto(link);
  await expect(elsewhere.locator('.cards li')).toHaveCount(2);
  await elsewhere.locator('.cards a').first().click();
  await expect(elsewhere.getByRole('link', { name: 'Send it by e-mail' })).toHaveAttribute('href', /^mailto:\?/);
});

test('after the last free time the page leads back to earlier days; the way back from a booking leads to it again', async ({
  page,
}) => {
  const service = await aService({ starts: halfHours(morning(6), 1) });
  await visit(page, service);
  await page.goto(`${service.address}&from=${new Date(morning(40)).toISOString().slice(0, 10)}`);
  await expect(page.locator('main')).toContainText('There are no free times after these days.');
  await page.getByRole('link', { name: 'Earlier days' }).click();
  await page.goto(service.address);
  await page.getByRole('button', { name: '09:00' }).click();
  await fillPerson(page);
  await page.getByRole('button', { name: 'Book this appointment' }).click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
  await page.goBack();
  await expect(page.locator('main')).not.toContainText('no longer');
  await expect(page.locator('.state')).toHaveText('Confirmed');
});

test('a card says that there are more doctors than it names, and choosing one keeps the day', async ({ page }) => {
  const services = [await aService({ starts: [morning(6), morning(8)], doctor: 'Dr. 1' })];
  const [first] = services;
  for (const number of [2, 3, 4, 5]) {
    services.push(await aService({ starts: [morning(8)], doctor: `Dr. ${number}`, like: first?.schedule }));
  }
  await expect(async () => {
    await page.goto(`${origin}/portal/?${new URLSearchParams({ find: first?.name ?? '' })}`);
    await expect(page.getByRole('link', { name: first?.name })).toHaveText(/Dr\. \d · .* and 1 other$/, {
      timeout: 500,
    });
  }).toPass();
  await page.getByRole('link', { name: first?.name }).click();
  const days = page.locator('.days');
  await days.getByRole('link').last().click();
  await expect(page.locator('.time')).toHaveCount(5);
  await page.getByRole('link', { name: 'Dr. 1' }).click();
  await expect(page.getByRole('link', { name: 'Dr. 1' })).toHaveAttribute('aria-current', 'true');
  await expect(days.getByRole('link')).toHaveCount(2);
  await expect(days.getByRole('link').last()).toHaveAttribute('aria-current', 'date');
  await expect(page.locator('.time')).toHaveCount(1);
  await expectAccessible(page);
});

test('a request shows without a reload that it is confirmed, then cancelled: the clinic tells the portal, and the page asks only the portal', async ({
  page,
}) => {
  const service = await aService({ starts: halfHours(morning(7), 1), confirmation: 'manual' });
  await visit(page, service);
  await expect(page.getByText('The clinic confirms each request')).toBeVisible();
  await page.getByRole('button', { name: '09:00' }).click();
  await fillPerson(page);
  await page.getByRole('button', { name: 'Send the request' }).click();
  await axe(page, 'Your request was sent');
  await expect(page.locator('.state')).toHaveText('Waiting for the clinic');
  const [asked] = await stored('Appointment', `slot=Slot/${service.slots[0]?.id}`);
  await page.evaluate(() => Object.assign(window, { isSamePage: true }));
  await page.waitForResponse(async (response) => {
    const { complete, changed } = /\/updates\?/.test(response.url()) ? await response.json() : {};
    return complete && !changed;
  });
  const read: string[] = [];
  page.on('request', (request) => request.url().endsWith('/state') && read.push(request.url()));
  await page.getByRole('link', { name: 'Cancel the appointment' }).focus();
  const body = { ...asked, status: 'booked', patientInstruction: 'Come fasting.\n<script>alert(1)</script>' };
  expect((await medplum('front-desk', 'PUT', `/Appointment/${asked?.id}`, { body })).status).toBe(200);
  await expect(page.locator('.state')).toHaveText('Confirmed');
  await expect(page.locator('#state-status')).toHaveText('Confirmed');
  expect(read).toHaveLength(1);
  await expect(page.locator('.notes')).toHaveText('Come fasting. <script>alert(1)</script>');
  await expect(page.getByRole('link', { name: 'Cancel the appointment' })).toBeFocused();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your appointment');
  await expectAccessible(page);

  const [confirmed] = await stored('Appointment', `_id=${asked?.id}`);
  const cancelled = { ...confirmed, status: 'cancelled', cancelationReason: { text: 'The practitioner is ill' } };
  expect((await medplum('front-desk', 'PUT', `/Appointment/${asked?.id}`, { body: cancelled })).status).toBe(200);
  await expect(page.locator('.state')).toHaveText('Does not take place');
  await expect(page.locator('dl')).toContainText('The practitioner is ill');
  await expect(page.locator('#actions').getByRole('link')).toHaveText(['Book an appointment']);
  await expect(page.getByRole('heading', { level: 1 })).toBeFocused();
  await expect(page).toHaveTitle(/^Your appointment – /);
  expect(await page.evaluate(() => 'isSamePage' in window)).toBe(true);
  await expectAccessible(page);
});

test('a page that is cut off says so, and shows what has happened when it is not any more', async ({ page }) => {
  await page.clock.install();
  const service = await aService({ starts: halfHours(morning(7), 1), confirmation: 'manual' });
  await visit(page, service);
  await page.getByRole('button', { name: '09:00' }).click();
  await fillPerson(page);
  await page.getByRole('button', { name: 'Send the request' }).click();
  await expect(page.locator('.state')).toHaveText('Waiting for the clinic');
  const statusLine = page.locator('#state-status');
  await page.route(/\/(updates|state)(\?|$)/, (route) => route.abort());
  await later(page, () =>
    expect(statusLine).toHaveText(/^Changes do not appear here at the moment/, { timeout: 1_000 }),
  );
  await expectAccessible(page);
  await page.unroute(/\/(updates|state)(\?|$)/);
  await later(page, () => expect(statusLine).toHaveText('', { timeout: 1_000 }));
  const [asked] = await stored('Appointment', `slot=Slot/${service.slots[0]?.id}`);
  const body = { ...asked, status: 'booked' };
  expect((await medplum('front-desk', 'PUT', `/Appointment/${asked?.id}`, { body })).status).toBe(200);
  await later(page, () => expect(page.locator('.state')).toHaveText('Confirmed', { timeout: 1_000 }));
  await expect(statusLine).toHaveText('Confirmed');
});
