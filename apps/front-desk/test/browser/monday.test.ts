/** What a front desk does on a Monday morning: find, move, block and call, print; and answer from a telephone. */
import { expect, type Page, test } from '@playwright/test';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { newRow } from '../../../../core/rows/row.ts';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning, origin } from '../../../../test/browser/clinic.ts';
import { aPatient, stored, succeeded } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';
import { config } from '../../../../test/contract/installation.ts';
import { bookedBy, calendarOf, dayOf, settle, visitDesk } from './desk.ts';

const drawer = (page: Page) => page.getByRole('dialog');
const entry = (page: Page, name: string | RegExp) => page.locator('.grid').getByRole('button', { name });

test('a patient is found however the name is spelled, and by telephone', async ({ page }) => {
  const family = `Müller${Date.now().toString(36).replace(/\d/g, 'q')}`;
  const number = `${Date.now()}`;
  const phone = `+49 30 ${number.slice(0, -5)} ${number.slice(-5, -2)}-${number.slice(-2)}`;
  await aPatient('portal-a', {
    name: [{ family, given: ['Eva'] }],
    birthDate: '1951-04-03',
    telecom: [{ system: 'phone', value: phone }],
  });
  const service = await aService({ starts: halfHours(morning(6), 1) });
  await visitDesk(page, calendarOf(service));
  await entry(page, /free/).click();
  const field = drawer(page).getByLabel('Name, date of birth or telephone');
  for (const text of [
    family.replace('ü', 'ue'),
    family.replace('ü', 'u').toLowerCase(),
    `${family} 3.4.51`,
    phone,
    `030 ${number}`,
    `004930${number}`,
  ]) {
    await field.fill(text);
    await expect(drawer(page).getByRole('radio', { name: `Eva ${family}, 3 Apr 1951, ${phone}` })).toBeVisible();
    await field.fill('');
    await expect(drawer(page).getByRole('radio', { name: /Eva/ })).toHaveCount(0);
  }
});

test('a week shows one calendar, every calendar can be blocked, and who has to be called stays readable', async ({
  page,
}) => {
  const service = await aService({ starts: halfHours(morning(6), 2) });
  await bookedBy('portal-a', service, 0, 'Anrufen');
  const day = dayOf(Date.parse(service.slots[0]?.start ?? ''));
  await visitDesk(page, `${origin}/front-desk/calendar?date=${day}&span=week`);
  await expect(page.locator('.column')).toHaveCount(7);
  const known = await stored('Schedule', '_count=1000');
  await page.goto(calendarOf(service));
  await page.getByRole('button', { name: 'Block time' }).click();
  const options = drawer(page).getByLabel('Calendars').locator('option');
  await expect.poll(() => options.count()).toBeGreaterThanOrEqual(known.length);
  await drawer(page).getByLabel('From').fill(`${day}T08:00`);
  await drawer(page).getByLabel('Until').fill(`${day}T12:00`);
  await drawer(page).getByRole('button', { name: 'Block', exact: true }).click();
  await drawer(page).getByRole('button', { name: 'Block it all the same' }).click();
  await settle(page);
  await expect(drawer(page).getByRole('button', { name: 'Block it all the same' })).toHaveCount(0);
  await expect(drawer(page).getByRole('link', { name: /Kim Anrufen/ })).toBeVisible();
  await drawer(page).getByRole('button', { name: 'Close' }).last().click();
  await expect(entry(page, /blocked/)).toBeVisible();
  const [box, column] = [await entry(page, /Anrufen/).boundingBox(), await page.locator('.column').boundingBox()];
  expect(box?.width).toBeGreaterThan((column?.width ?? 0) * 0.8);
  await expectAccessible(page);
});

test('an appointment is offered only times that can take it', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 2), doctor: 'Dr. Ada Eigen' });
  const testService = await aService({ starts: halfHours(morning(6), 2), doctor: 'Dr. Bo Fremd' });
  const made = await bookedBy('portal-a', service, 0, 'Wechsel');
  await visitDesk(page, `${calendarOf(service)},${testService.schedule.id}&move=${made.id}`);
  await expect(page.locator('.column')).toHaveCount(2);
  await expect(entry(page, /move here/)).toHaveCount(1);
  await entry(page, /move here/).click();
  await expect(drawer(page).locator('.facts')).toContainText('09:00–09:30, Dr. Ada Eigen');
  await expect(drawer(page).locator('.facts')).toContainText('09:30–10:00, Dr. Ada Eigen');
  await expect(drawer(page)).not.toContainText('Into another calendar');
});

test('the day is printed as a list, with what a call needs, and who was cancelled', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(20), 2) });
  const off = `Abgesagt${service.name.slice(6)}`;
  const { id } = await bookedBy('portal-a', service, 1, off);
  await medplum('front-desk', 'PUT', `/Appointment/${id}`, {
    body: { ...(await stored('Appointment', `_id=${id}`))[0], status: 'cancelled', comment: 'Has a cold' },
  });
  const made = await bookedBy('portal-a', service, 0, 'Papier');
  const [booked] = await stored('Appointment', `_id=${made.id}`);
  const valueCoding = { system: artefactUri(config, 'LocalPayerKinds'), code: 'private' };
  const extension = [...(booked?.extension ?? []), { url: artefactUri(config, 'LocalPayerKind'), valueCoding }];
  const noted = { ...booked, extension, comment: 'Needs a wheelchair' };
  expect((await medplum('front-desk', 'PUT', `/Appointment/${made.id}`, { body: noted })).status).toBe(200);
  await visitDesk(page, calendarOf(service));
  await expect(entry(page, /Papier/)).toBeVisible();
  await expect(page.locator('.on-paper')).toBeHidden();
  await page.emulateMedia({ media: 'print' });
  await expect(page.locator('.grid')).toBeHidden();
  await expect(page.locator('.on-paper h2').first()).toContainText('Dr. Mira Lindner');
  const lines = (heading: RegExp) =>
    page
      .locator('.on-paper section')
      .filter({ has: page.getByRole('heading', { name: heading }) })
      .locator('tbody tr');
  await expect(lines(/Lindner/)).toHaveText(
    `09:00–09:30Kim Papier17 May 1990${service.name}, Private health insuranceNeeds a wheelchair`,
  );
  await expect(lines(/^Cancelled \(\d+\)$/).filter({ hasText: service.name })).toHaveText(
    `09:30–10:00Kim ${off}17 May 1990${service.name}Has a cold`,
  );
  // Once.
  await expect(page.getByText(`Kim ${off}`).filter({ visible: true })).toHaveCount(1);
  await page.emulateMedia({ media: 'screen' });
  await entry(page, /Papier/).click();
  await expect(drawer(page).locator('.facts')).toContainText('Private health insurance');
});

test('who waits since when, who was cancelled, and what needs an answer is seen at a glance', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 3), confirmation: 'manual' });
  // Others may wait, too.
  const name = `Wartend${service.name.slice(6)}`;
  const [here, off] = [await bookedBy('portal-a', service, 0, name), await bookedBy('portal-a', service, 1, 'Weg')];
  await bookedBy('portal-a', service, 2, 'Anfrage');
  for (const [made, statuses] of [
    [here, ['booked', 'arrived']],
    [off, ['cancelled']],
  ] as const) {
    for (const status of statuses) {
      const [body] = await stored('Appointment', `_id=${made.id}`);
      await medplum('front-desk', 'PUT', `/Appointment/${made.id}`, { body: { ...body, status } });
    }
  }
  const [arrived] = await stored('Appointment', `_id=${here.id}`);
  const since = new Date(arrived?.meta?.lastUpdated ?? '').toLocaleTimeString('en-GB', {
    timeZone: 'Europe/Berlin',
    ...({ hour: '2-digit', minute: '2-digit' } as const),
  });
  // What is changed later does not change since when somebody is here.
  await medplum('front-desk', 'PUT', `/Appointment/${here.id}`, { body: { ...arrived, comment: 'Has a cough' } });
  await visitDesk(page, calendarOf(service));
  const waiting = page.getByRole('region', { name: /Waiting room/ });
  await expect(waiting.getByRole('listitem').filter({ hasText: name })).toHaveText(`Kim ${name} since ${since}`);
  await expect(page.getByRole('region', { name: /Cancelled/ })).toContainText('09:30 Kim Weg');
  await expect(page.getByRole('link', { name: /^Requests \d+$/ })).toBeVisible();
  await expectAccessible(page);
});

test('a message that did not arrive is counted, and names whom to call about what until somebody has', async ({
  page,
}) => {
  const service = await aService({ starts: halfHours(morning(6), 1) });
  const made = await bookedBy('portal-a', service, 0, 'Unerreicht');
  const patient = made.participant.find(({ actor }) => actor?.reference?.startsWith('Patient/'))?.actor;
  const [record] = await stored('Patient', `_id=${patient?.reference?.split('/')[1]}`);
  const telecom = [{ system: 'phone', value: '+49 30 123456' }];
  await medplum('front-desk', 'PUT', `/${patient?.reference}`, { body: { ...record, telecom } });
  const row = newRow(
    'undelivered',
    {
      status: 'requested',
      description: 'The mail server of Medplum answered with status 500.',
      focus: { reference: `Appointment/${made.id}` },
      for: { reference: patient?.reference ?? '' },
    },
    config,
  );
  const task = succeeded('Task', await medplum('admin', 'POST', '/Task', { body: row }));
  await visitDesk(page, calendarOf(service));
  await page.getByRole('link', { name: /^Messages \d+$/ }).click();
  const card = page.getByRole('listitem').filter({ hasText: 'Kim Unerreicht' });
  await expect(card).toContainText(service.name);
  await expect(card.getByRole('link', { name: '+49 30 123456' })).toHaveAttribute('href', 'tel:+4930123456');
  await expectAccessible(page);
  await card.getByRole('button', { name: 'The patient knows' }).click();
  await settle(page);
  await expect(card).toHaveCount(0);
  expect((await stored('Task', `_id=${task.id}`))[0]?.status).toBe('completed');
});

test.describe('on a telephone', () => {
  test.use({ viewport: { width: 360, height: 700 }, hasTouch: true, isMobile: true });

  test('a request that is tapped comes into view', async ({ page }) => {
    const service = await aService({ starts: halfHours(morning(6), 4), confirmation: 'manual' });
    for (const index of [0, 1, 2, 3]) {
      await bookedBy('portal-a', service, index, `Tippen${index}`);
    }
    await visitDesk(page, `${origin}/front-desk/requests`);
    await page.locator('.request', { hasText: 'Tippen0' }).first().tap();
    await expect(page.getByRole('heading', { name: 'Kim Tippen0' })).toBeInViewport();
    await expect(page.getByRole('button', { name: 'Confirm' })).toBeInViewport();
    await expect(page.locator('.keys')).toHaveCount(2);
    await expect(page.locator('.keys').filter({ visible: true })).toHaveCount(0);
    // What a thumb reaches.
    await page.goto(calendarOf(service));
    await expect(entry(page, /Tippen0/)).toBeVisible();
    expect((await page.locator('.toolbar').boundingBox())?.y).toBeGreaterThan(500);
  });
});
