import { expect, test } from '@playwright/test';
import { fillPerson } from '../../../../test/browser/clinic.ts';
import { type Installation, prepareService } from '../../../../test/lib/installation.ts';

let installation: Installation;

test.beforeAll(async () => {
  installation = await prepareService({ LOG_LEVEL: 'warn', TZ: 'Europe/Berlin' }, { timeZone: 'Europe/Berlin' });
  await installation.start();
});
test.afterAll(async () => installation?.end());

test('a server that is killed while a patient books: the same page goes on, and one appointment is booked', async ({
  page,
}) => {
  test.slow();
  const origin = new URL(installation.addresses.BOOKING_BASE_URL ?? '').origin;
  await page.goto(`${origin}/portal/`);
  await page.getByRole('link', { name: 'General medical consultation' }).click();
  await page.locator('.time').first().click();
  await fillPerson(page, 'Ki', 'Lled');
  const address = page.url();
  // The request is on its way when the process dies.
  const death = Promise.withResolvers<void>();
  await page.route('**/portal/details?*', async (route) => {
    if (route.request().method() === 'POST') {
      void fetch(route.request().url(), {
        method: 'POST',
        headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
        body: route.request().postData(),
        redirect: 'manual',
      }).catch(() => undefined);
      await installation.kill();
      await route.abort('connectionreset');
      death.resolve();
    } else {
      await route.continue();
    }
  });
  await page.getByRole('button', { name: 'Book this appointment' }).click();
  await death.promise;
  await page.unrouteAll({ behavior: 'wait' });
  await installation.start();
  await page.goto(address);
  await fillPerson(page, 'Ki', 'Lled');
  await page.getByRole('button', { name: 'Book this appointment' }).click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
  const booked = `${installation.medplumUrl}fhir/R4/Appointment?status=booked,pending`;
  const found = await page.request.get(booked, { headers: { authorization: 'Bearer admin' } });
  const { entry = [] } = await found.json();
  expect(entry).toHaveLength(1);
});
