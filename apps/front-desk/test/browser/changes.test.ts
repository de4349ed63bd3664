import { expect, type Page, test } from '@playwright/test';
import { withConsent } from '../../../../core/booking/appointment/consent.ts';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning, origin } from '../../../../test/browser/clinic.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';
import { config } from '../../../../test/contract/installation.ts';
import { bookedBy, calendarOf, settle, visitDesk } from './desk.ts';

const entry = (page: Page, name: string | RegExp) => page.locator('.grid').getByRole('button', { name });

/** Changes an appointment as a colleague would. */
async function changedByColleague(id: string | undefined, change: object): Promise<void> {
  const [now] = await stored('Appointment', `_id=${id}`);
  const response = await medplum('front-desk', 'PUT', `/Appointment/${id}`, { body: { ...now, ...change } });
  expect(response.status).toBe(200);
}

test('a change between the reading of the calendar and the first look for changes appears', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 2) });
  const { promise: changed, resolve: goOn } = Promise.withResolvers<void>();
  await page.route(/_total=accurate/, async (route) => {
    await changed;
    await route.continue();
  });
  await visitDesk(page, calendarOf(service));
  await expect(entry(page, '09:00–09:30, free')).toBeVisible();
  const [slot] = service.slots;
  const body = { ...slot, status: 'busy-unavailable', comment: 'In between' };
  expect((await medplum('front-desk', 'PUT', `/Slot/${slot?.id}`, { body })).status).toBe(200);
  goOn();
  await expect(entry(page, '09:00–09:30, blocked, In between')).toBeVisible();
});

test('a change that could not be read at once is read later', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 2) });
  await visitDesk(page, calendarOf(service));
  await expect(entry(page, '09:00–09:30, free')).toBeVisible();
  let readings = 0;
  await page.route(
    ({ pathname }) => pathname.endsWith('/fhir/R4'),
    async (route) => {
      readings += 1;
      await (readings === 1 ? route.abort() : route.continue());
    },
  );
  await bookedBy('portal-a', service, 0, 'Nachgeholt');
  await expect(page.getByRole('alert')).toContainText('The server did not answer');
  await expect(entry(page, /^09:00–09:30, booked, Kim Nachgeholt/)).toBeVisible();
  await expect(page.getByRole('alert')).toHaveCount(0);
});

test('what is typed in an appointment stays when a colleague changes it, and is kept when it cannot be sent any more', async ({
  page,
}) => {
  const service = await aService({ starts: halfHours(morning(6), 1), confirmation: 'manual', confirmWithin: 240 });
  const { id } = await bookedBy('portal-a', service, 0, 'Getippt');
  await visitDesk(page, calendarOf(service));
  await entry(page, /^09:00–09:30, requested/).click();
  const panel = page.getByRole('dialog');
  await panel.getByRole('button', { name: 'Decline' }).click();
  const reason = panel.getByLabel('Reason');
  await reason.fill('Please call us first');

  await changedByColleague(id, { comment: 'Wheelchair' });
  await expect(panel.locator('.facts')).toContainText('Wheelchair');
  await expect(reason).toHaveValue('Please call us first');
  await expect(reason).toBeFocused();

  await changedByColleague(id, { status: 'booked' });
  await expect(panel.getByText('Your reason was not sent:')).toBeVisible();
  await expect(panel.locator('blockquote')).toHaveText('Please call us first');
  await expect(reason).toHaveCount(0);
  await expectAccessible(page);
  await panel.getByRole('button', { name: 'Cancel the appointment' }).click();
  await expect(reason).toHaveValue('Please call us first');
  await panel.getByRole('button', { name: 'Cancel it now' }).click();
  await settle(page);
  await expect(panel.locator('.facts')).toContainText(/cancelled/i);
  await expect(panel.getByText('Your reason was not sent:')).toHaveCount(0);
  expect((await stored('Appointment', `_id=${id}`))[0]).toMatchObject({
    status: 'cancelled',
    cancelationReason: { text: 'Please call us first' },
  });
});

test('a reason that is typed while a colleague answers the request is not lost', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 1), confirmation: 'manual', confirmWithin: 200 });
  const { id } = await bookedBy('portal-a', service, 0, 'Überholt');
  await visitDesk(page, `${origin}/front-desk/requests?open=${id}`);
  await page.getByRole('button', { name: 'Decline' }).click();
  await page.getByLabel('Reason').fill('Please call us first');
  await changedByColleague(id, { status: 'booked' });
  await expect(page.getByText('This request is no longer waiting')).toBeVisible();
  await expect(page.locator('blockquote')).toHaveText('Please call us first');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Show in the calendar' }).click();
  const panel = page.getByRole('dialog');
  await panel.getByRole('button', { name: 'Cancel the appointment' }).click();
  await expect(panel.getByLabel('Reason')).toHaveValue('Please call us first');
});

test('who looks at what an assistant has booked sees that its person has agreed, when and how', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 1) });
  const { id } = await bookedBy('portal-a', service, 0, 'Gefragt');
  const [resource] = await stored('Appointment', `_id=${id}`);
  const consent = { assistant: 'assistant', agreed: Date.now() };
  const [, kept] = withConsent([{ ...(resource && { resource }) }], consent, () => 'urn:uuid:0', config);
  expect((await medplum('admin', 'POST', '/Provenance', { body: kept?.resource })).status).toBe(201);
  await visitDesk(page, calendarOf(service));
  await entry(page, /^09:00–09:30, booked, Kim Gefragt/).click();
  await expect(page.getByRole('dialog').locator('.facts')).toContainText(/Consent.*by the link that was sent to them/);
});
