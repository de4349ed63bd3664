import { expect, type Locator, type Page, type Route, test } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning } from '../../../../test/browser/clinic.ts';
import { calendarOf, jan, signedInName, signInThere, visitDesk } from './desk.ts';

/** Types a new patient, and is signed out; returns the form, and the token that has ended. */
async function typeUntilSignedOut(page: Page): Promise<readonly [Locator, string]> {
  const service = await aService({ starts: halfHours(morning(6), 2) });
  let token = '';
  page.on('request', (request) => {
    token = request.headers().authorization ?? token;
  });
  await visitDesk(page, calendarOf(service));
  await page.locator('.grid').getByRole('button', { name: '09:00–09:30, free' }).click();
  const form = page.getByRole('dialog');
  await form.getByText('New patient').click();
  await form.getByLabel('First names').fill('Toni');
  await form.getByLabel('Family name').fill('Tippt');
  await fetch(new URL('oauth2/logout', process.env.MEDPLUM_BASE_URL), {
    method: 'POST',
    headers: { authorization: token },
  });
  await expect(page.getByText('You are signed out').first()).toBeVisible();
  return [form, token];
}

test('who is signed out while typing comes back to the same place, and nothing typed is lost', async ({ page }) => {
  const [form, old] = await typeUntilSignedOut(page);
  const place = page.url();
  await expectAccessible(page);
  // An answer to the old session that comes late does not end the new one.
  const isSignedIn = page.waitForResponse((response) => /oauth2\/token/.test(response.url()) && response.ok());
  await page.route('**/auth/me', async (route) => {
    if (route.request().headers().authorization === old) {
      await isSignedIn;
    }
    await route.continue();
  });
  await signInThere(page);
  await expect(form.getByLabel('Family name')).toHaveValue('Tippt');
  expect(page.url()).toBe(place);
  await form.getByRole('button', { name: 'Book', exact: true }).click();
  await expect(form.locator('.facts')).toContainText('Toni Tippt');
});

test('who signs in after somebody else sees nothing of what they typed', async ({ page }) => {
  const [form] = await typeUntilSignedOut(page);
  const before = await signedInName(page);
  await signInThere(page, jan);
  await form.getByText('New patient').click();
  await expect(form.getByLabel('Family name')).toHaveValue('');
  expect(await signedInName(page)).not.toBe(before);
});

for (const [when, passed] of [
  ['some minutes before it ends', 57],
  ['after it has ended', 61],
] as const) {
  test(`a server that is restarted while a token is renewed ${when} signs nobody out`, async ({ page }) => {
    const service = await aService({ starts: halfHours(morning(6), 2) });
    await visitDesk(page, calendarOf(service));
    const answerWith = (status: number) => (route: Route) =>
      route.fulfill({
        status,
        headers: {
          'access-control-allow-origin': new URL(page.url()).origin,
          'access-control-allow-credentials': 'true',
        },
      });
    let count = 0;
    await page.route('**/oauth2/token', async (route) => {
      count += 1;
      await answerWith(503)(route);
    });
    if (passed > 60) {
      await page.route('**/fhir/R4/**', answerWith(401));
    }
    const now = Date.now();
    await page.clock.setSystemTime(now + passed * 60_000);
    // As often as Medplum's client tries it by itself, and once more.
    await expect.poll(() => count).toBeGreaterThan(3);
    await page.clock.setSystemTime(now + 57 * 60_000);
    await page.unrouteAll();
    await page.waitForResponse((response) => /oauth2\/token/.test(response.url()) && response.ok());
    await expect(page.getByText('You are signed out')).toHaveCount(0);
  });
}
