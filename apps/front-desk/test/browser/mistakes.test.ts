/** What one click, or one wrong field, must not do to a patient or to the day. */
import { expect, type Page, test } from '@playwright/test';
import { changeService } from '../../../../core/fhir/scheduling/change-hours.ts';
import { parseHours } from '../../../../scripts/calendar/hours-text.ts';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning, origin } from '../../../../test/browser/clinic.ts';
import { aPatient, stored, succeeded } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';
import { calendarOf, dayOf, settle, visitDesk } from './desk.ts';

const drawer = (page: Page) => page.getByRole('dialog');
const entry = (page: Page, name: string | RegExp) => page.locator('.grid').getByRole('button', { name });

/** An appointment that began ten minutes ago, with an answer "No". */
async function begun(family: string) {
  const service = await aService({ starts: [Date.now() - 600_000] });
  const [slot] = service.slots;
  const item = [{ linkId: '1', text: 'Are you allergic to penicillin?', answer: [{ valueBoolean: false }] }];
  const text = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Walks <b>slowly</b></div>' };
  const supportingInformation: { reference: string }[] = [];
  for (const content of [{ item }, { text }]) {
    const body = { resourceType: 'QuestionnaireResponse', status: 'completed', ...content };
    const made = await medplum('admin', 'POST', '/QuestionnaireResponse', { body });
    supportingInformation.push({ reference: `QuestionnaireResponse/${succeeded('QuestionnaireResponse', made).id}` });
  }
  const patient = succeeded(
    'Patient',
    await medplum('admin', 'POST', '/Patient', {
      body: { resourceType: 'Patient', name: [{ family, given: ['Kim'] }] },
    }),
  );
  const made = await medplum('front-desk', 'POST', '/Appointment', {
    body: {
      resourceType: 'Appointment',
      status: 'booked',
      start: slot?.start,
      end: slot?.end,
      slot: [{ reference: `Slot/${slot?.id}` }],
      supportingInformation,
      participant: [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' }],
    },
  });
  return { service, appointment: succeeded('Appointment', made) };
}

const statusOf = async (id: string | undefined) => (await stored('Appointment', `_id=${id}`))[0]?.status;

test('an answer is read as it was given, and what one click says can be taken back before it is final', async ({
  page,
}) => {
  const { service, appointment } = await begun('Ankunft');
  await visitDesk(page, calendarOf(service, `&open=Appointment/${appointment.id}`));
  await expect(drawer(page).locator('.answers dd')).toHaveText(['No', 'Walks slowly']);
  await expect(drawer(page).locator('.facts')).toContainText('Dr. Mira Lindner');
  await expect(drawer(page).getByRole('heading').first()).toContainText('Kim Ankunft');
  await expect(drawer(page).getByRole('button', { name: 'Done' })).toHaveCount(0);
  await drawer(page).getByRole('button', { name: 'Did not come' }).click();
  await drawer(page).getByRole('button', { name: 'Undo' }).click();
  await drawer(page).getByRole('button', { name: 'Arrived' }).click();
  expect(await statusOf(appointment.id)).toBe('booked');
  await expectAccessible(page);
  await expect(drawer(page).getByRole('button', { name: 'Done' })).toBeVisible();
  expect(await statusOf(appointment.id)).toBe('arrived');
  await drawer(page).getByRole('button', { name: 'Not here yet' }).click();
  await settle(page);
  await expect.poll(() => statusOf(appointment.id)).toBe('booked');
  await expect(drawer(page).getByRole('button', { name: 'Done' })).toHaveCount(0);
  await drawer(page).getByRole('button', { name: 'Arrived' }).click();
  await settle(page);
  await drawer(page).getByRole('button', { name: 'Done' }).click();
  // Whoever leaves the page does not take it back.
  await page.goto(`${origin}/front-desk/requests`);
  await expect.poll(() => statusOf(appointment.id)).toBe('fulfilled');
});

test('what has not begun was neither missed nor done', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 1) });
  await visitDesk(page, calendarOf(service));
  await entry(page, '09:00–09:30, free').click();
  await expect(drawer(page)).toContainText('Dr. Mira Lindner: free');
  await drawer(page).getByText('New patient').click();
  await drawer(page).getByLabel('First names').fill('Toni');
  await drawer(page).getByLabel('Family name').fill('Morgen');
  await drawer(page).getByRole('button', { name: 'Book', exact: true }).click();
  await expect(drawer(page).getByRole('button', { name: 'Move' })).toBeVisible();
  await expect(drawer(page).getByRole('button', { name: /Arrived|Checked in|Done|Did not come/ })).toHaveCount(0);
  await expect(drawer(page).locator('.facts')).toContainText(service.name);
  const [booked] = await stored('Appointment', `slot=Slot/${service.slots[0]?.id}`);
  expect(booked?.serviceType?.[0]?.coding?.[0]?.display).toBe(service.name);
  expect(booked?.participant.map(({ actor }) => actor?.display)).toContain('Toni Morgen');
});

test('the drawer of a block does not offer it again when it is gone', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 1) });
  const [, day] = /date=([\d-]+)/.exec(calendarOf(service)) ?? [];
  await visitDesk(page, calendarOf(service));
  await page.getByRole('button', { name: 'Block time' }).click();
  await drawer(page).getByLabel('From').fill(`${day}T13:00`);
  await drawer(page).getByLabel('Until').fill(`${day}T14:00`);
  await drawer(page).getByRole('button', { name: 'Block', exact: true }).click();
  await settle(page);
  await entry(page, '13:00–14:00, blocked').click();
  await drawer(page).getByRole('button', { name: 'Offer this time again' }).click();
  await expect(drawer(page)).toContainText('no longer in the calendar');
  await expect(drawer(page).getByRole('heading').first()).toHaveText('13:00–14:00');
  await expect(drawer(page).getByRole('button', { name: 'Offer this time again' })).toHaveCount(0);
});

test('hours that run through the night, or overlap, are asked about before they are saved', async ({ page }) => {
  const body = changeService(
    { resourceType: 'HealthcareService', active: true, name: `Night ${Date.now()}` },
    { hours: parseHours('mon 09:00-12:00'), duration: 60, timeZone: 'Europe/Berlin' },
  );
  const service = succeeded('HealthcareService', await medplum('front-desk', 'POST', '/HealthcareService', { body }));
  const hours = async () => (await stored('HealthcareService', `_id=${service.id}`))[0]?.availableTime;
  await visitDesk(page, `${origin}/front-desk/hours?of=${service.id}`);
  await page.getByLabel('From').fill('13:00');
  await page.getByRole('button', { name: 'Save the hours' }).click();
  await expect(page.getByRole('alert')).toHaveText('Hours 1 run until 12:00 on the next day: 23 hours. Is that right?');
  await expectAccessible(page);
  expect((await hours())?.[0]?.availableStartTime).toBe('09:00:00');
  await page.getByLabel('From').fill('08:00');
  await page.getByRole('button', { name: 'Add hours' }).click();
  await page.getByRole('group', { name: 'Hours 2' }).getByText('Mon').click();
  await page.getByRole('button', { name: 'Save the hours' }).click();
  await expect(page.getByRole('alert')).toHaveText('Hours 1 and 2 overlap. Is that right?');
  await page.getByRole('button', { name: 'Yes, save the hours' }).click();
  await expect.poll(async () => (await hours())?.length).toBe(2);
});

test('a form kept from another time says for whom it books, and never books whom a search has left behind', async ({
  page,
}) => {
  const service = await aService({ starts: halfHours(morning(6), 2) });
  const unique = Date.now().toString(36).replace(/\d/g, 'q');
  for (const family of [`Böhm${unique}`, `Rahimi${unique}`]) {
    await aPatient('portal-a', { name: [{ family, given: ['Kim'] }] });
  }
  await visitDesk(page, calendarOf(service));
  await entry(page, '09:00–09:30, free').click();
  const search = drawer(page).getByLabel('Name, date of birth or telephone');
  await search.fill(`Böhm${unique}`);
  await drawer(page).getByRole('radio', { name: /Böhm/ }).check();
  await page.keyboard.press('Escape');
  await entry(page, '09:30–10:00, free').click();
  await expect(drawer(page)).toContainText(`Booking for Kim Böhm${unique}`);
  await search.fill(`Rahimi${unique}`);
  const locator = drawer(page).getByRole('radio', { name: /Rahimi/ });
  await expect(locator).not.toBeChecked();
  await drawer(page).getByRole('button', { name: 'Book', exact: true }).click();
  await expect(drawer(page).getByRole('alert')).toHaveText('Choose a patient and a time.');
  expect(await stored('Appointment', `slot=Slot/${service.slots[1]?.id}`)).toEqual([]);
  await locator.check();
  await expectAccessible(page);
  await drawer(page).getByRole('button', { name: 'Start anew' }).click();
  await expect(search).toHaveValue('');
});

test('a block of several days says them, and what was typed on one day stays on it', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 1) });
  const [day, next] = [dayOf(morning(6)), dayOf(morning(7))];
  await visitDesk(page, calendarOf(service));
  await page.getByRole('button', { name: 'Block time' }).click();
  await drawer(page).getByLabel('From').fill(`${day}T14:00`);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Later' }).click();
  await page.getByRole('button', { name: 'Block time' }).click();
  await expect(drawer(page).getByLabel('From')).toHaveValue(`${next}T12:00`);
  await drawer(page).getByLabel('From').fill(`${day}T14:00`);
  await drawer(page).getByLabel('Until').fill(`${next}T10:00`);
  await drawer(page).getByRole('button', { name: 'Block', exact: true }).click();
  await settle(page);
  const block = entry(page, /^\w+,? \d+ \w+, 14:00 – \w+,? \d+ \w+, 10:00, blocked$/);
  await expect(block.locator('span')).toHaveAttribute('data-time', /14:00 – .*10:00/);
});
