/** What the desk books on purpose where nobody offers a time, or where it is taken. */

import type { Slot } from '@medplum/fhirtypes';
import { expect, type Page, test } from '@playwright/test';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning } from '../../../../test/browser/clinic.ts';
import { aPatient, book, proposed, several, stored } from '../../../../test/contract/fixtures.ts';
import { config } from '../../../../test/contract/installation.ts';
import { bookedBy, calendarOf, settle, visitDesk } from './desk.ts';

const drawer = (page: Page) => page.getByRole('dialog');
const entry = (page: Page, name: string | RegExp) => page.locator('.grid').getByRole('button', { name });

async function bookNew(page: Page, family: string): Promise<void> {
  await drawer(page).getByText('New patient').click();
  await drawer(page).getByLabel('First names').fill('Toni');
  await drawer(page).getByLabel('Family name').fill(family);
  await drawer(page).getByRole('button', { name: 'Book', exact: true }).click();
}

test('a click on empty time books there, and taken time is overbooked only on purpose, with a mark', async ({
  page,
}) => {
  test.slow();
  const service = await aService({ starts: halfHours(morning(6), 1) });
  await bookedBy('portal-a', service, 0, 'Vorher');
  await visitDesk(page, calendarOf(service));
  const taken = await entry(page, /Vorher/).boundingBox();
  const list = await page.locator('.column ol').boundingBox();
  // Below the booked half hour lies the next one, which nobody offers.
  await page.mouse.click((list?.x ?? 0) + 40, (taken?.y ?? 0) + 2.5 * (taken?.height ?? 0));
  await expect(drawer(page).getByRole('heading', { name: 'Book any time' })).toBeVisible();
  await expect(drawer(page).getByLabel('Begins at')).toHaveValue(/^10:1[05]$/);
  await drawer(page).getByLabel('Begins at').fill('10:15');
  await drawer(page).getByLabel('Minutes').fill('20');
  await expectAccessible(page);
  await bookNew(page, 'Leer');
  await expect(drawer(page).locator('.facts')).toContainText('10:15–10:35');
  await expect(drawer(page).locator('.facts')).toContainText(service.name);
  await page.keyboard.press('Escape');
  await expect(entry(page, /^10:15–10:35, booked, Toni Leer/)).toBeVisible();

  await page.getByRole('button', { name: 'Book any time' }).click();
  await drawer(page).getByLabel('Begins at').fill('09:10');
  await bookNew(page, 'Dringend');
  await expect(drawer(page).getByRole('alert')).toContainText('The time is taken');
  await expectAccessible(page);
  await drawer(page).getByRole('button', { name: 'Book it all the same, as an overbooking' }).click();
  await expect(drawer(page).locator('.facts')).toContainText('Toni Dringend');
  await page.keyboard.press('Escape');
  await expect(entry(page, /^09:10–09:40, booked, overbooked, Toni Dringend/)).toBeVisible();
  await expect(entry(page, /^09:00–09:30, booked, Kim Vorher/)).toBeVisible();
  const slots = await stored('Slot', `schedule=Schedule/${service.schedule.id}`);
  const over = slots.find(({ start }) => start === new Date(morning(6) + 600_000).toISOString());
  expect(over?.extension).toContainEqual({ url: artefactUri(config, 'LocalOverbooking'), valueBoolean: true });

  // Its time is taken no longer than the appointment stands.
  await entry(page, /Toni Leer/).click();
  await drawer(page).getByRole('button', { name: 'Cancel the appointment' }).click();
  await drawer(page).getByRole('button', { name: 'Cancel it now' }).click();
  await settle(page);
  const at = new Date(morning(6) + 75 * 60_000).toISOString();
  const statusThen = async () =>
    (await stored('Slot', `schedule=Schedule/${service.schedule.id}`)).find(({ start }) => start === at)?.status;
  await expect.poll(statusThen).toBe('entered-in-error');
});

test('a visit of two steps is marked in the calendar, and the drawer leads from one to the other', async ({ page }) => {
  test.slow();
  const [one, other] = [
    await aService({ starts: halfHours(morning(6), 1) }),
    await aService({ starts: halfHours(morning(6), 2) }),
  ];
  const patient = await aPatient();
  const steps = [one, other].map(({ slots, schedule }, index) => {
    const slot = slots[index] as Slot;
    const { start, end } = slot;
    return { ...proposed(patient, [slot]), start, end, serviceType: schedule.serviceType };
  });
  expect((await book(several(...steps))).status).toBe(201);
  await visitDesk(page, calendarOf(one));
  await entry(page, /part of a visit/).click();
  const visit = drawer(page).locator('.steps');
  await expect(visit.getByRole('listitem')).toHaveCount(2);
  await expectAccessible(page);
  const [first, second] = [
    await visit.locator('[aria-current]').innerText(),
    await visit.getByRole('link').innerText(),
  ];
  await visit.getByRole('link').click();
  await expect(visit.locator('[aria-current]')).toHaveText(second);
  await expect(visit.getByRole('link')).toHaveText(first);
});

test('whoever is typed after a refusal is booked themselves, and once, though the answer is lost', async ({ page }) => {
  test.slow();
  const unique = Date.now().toString(36).replace(/\d/g, 'q');
  const service = await aService({ starts: halfHours(morning(6), 1) });
  await bookedBy('portal-a', service, 0, 'Vorher');
  await visitDesk(page, calendarOf(service));
  const bookAt = async (time: string, family: string): Promise<void> => {
    await page.getByRole('button', { name: 'Book any time' }).click();
    await drawer(page).getByLabel('Begins at').fill(time);
    await bookNew(page, family);
  };
  await bookAt('09:10', 'Alt');
  await expect(drawer(page).getByRole('alert')).toContainText('The time is taken');
  await page.keyboard.press('Escape');
  let lost = 0;
  await page.route(/\/R4$/, async (route) => {
    const isLost = lost === 0 && route.request().postData()?.includes('"transaction"');
    lost += isLost ? 1 : 0;
    await (isLost ? route.fetch().then(() => route.abort()) : route.continue());
  });
  await bookAt('12:00', `Neu${unique}`);
  await expect(drawer(page).getByRole('alert')).toContainText('nothing is booked twice');
  await drawer(page).getByRole('button', { name: 'Book', exact: true }).click();
  await expect(drawer(page).locator('.facts')).toContainText(`Toni Neu${unique}`);
  const patients = await stored('Patient', `family=Neu${unique}`);
  expect(patients).toHaveLength(1);
  expect(await stored('Appointment', `patient=Patient/${patients[0]?.id}`)).toHaveLength(1);
});
