import { expect, type Page } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';
import { calendarOf, maria, signInThere, visitDesk } from './desk.ts';

/** Presses Tab until the element with the focus has a name; the focus is visible all the way. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => {
      const element = document.activeElement as HTMLInputElement | null;
      const label = element?.labels?.[0]?.textContent ?? element?.getAttribute('aria-label') ?? element?.textContent;
      const isOther = !element || element === document.body;
      const { outlineStyle, outlineWidth } = getComputedStyle(element ?? document.body);
      // Mantine draws the focus of its radio buttons and fields on what stands beside or around them.
      const isField = element?.matches('input, select, textarea') ?? false;
      return {
        name: label?.trim() ?? '',
        isVisible: isOther || isField || (outlineStyle !== 'none' && outlineWidth !== '0px'),
      };
    });
    expect(focused.isVisible, `focus on ${focused.name} is visible`).toBe(true);
    if (name.test(focused.name)) {
      return;
    }
  }
  throw new Error(`Tab does not lead to ${name}.`);
}

test('a telephone booking needs the keyboard alone, and the focus comes back to its time', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(6), 3) });
  await visitDesk(page, calendarOf(service));
  await expect(page.locator('.grid').getByRole('button', { name: '09:00–09:30, free' })).toBeVisible();
  await tabTo(page, /^09:00/);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  const form = page.getByRole('dialog');
  await expect(form).toBeVisible();
  await tabTo(page, /^(Known patient|Known|New patient)/);
  await page.keyboard.press('ArrowRight');
  await tabTo(page, /^First names/);
  await page.keyboard.type('Tastatur');
  await tabTo(page, /^Family name/);
  await page.keyboard.type('Allein');
  await page.keyboard.press('Enter');
  await expect(form.locator('.facts')).toContainText('Tastatur Allein');
  await page.keyboard.press('Escape');
  await expect(page.locator('.grid').getByRole('button', { name: /^09:30–10:00, booked/ })).toBeFocused();
  expect((await stored('Appointment', `slot=Slot/${service.slots[1]?.id}`))[0]?.status).toBe('booked');
});

test('nothing moves for those who asked for it', async ({ browser }) => {
  const service = await aService({ starts: halfHours(morning(6), 1) });
  const page = await (await browser.newContext({ reducedMotion: 'reduce', locale: 'en-GB' })).newPage();
  await visitDesk(page, calendarOf(service));
  await page.locator('.grid').getByRole('button', { name: '09:00–09:30, free' }).click();
  await expect(page.getByRole('dialog')).toBeVisible();
  const moving = await page.evaluate(() => [
    ...document.getAnimations().map((animation) => (animation.effect as KeyframeEffect).target?.outerHTML ?? ''),
    ...[...document.querySelectorAll<HTMLElement>('[role=dialog], [role=dialog] *, .grid *')]
      .filter((element) =>
        getComputedStyle(element)
          .transitionDuration.split(', ')
          .some((length) => length !== '0s'),
      )
      .map((element) => element.outerHTML.slice(0, 200)),
  ]);
  expect(moving).toEqual([]);
});

test('who may not see the calendars is told so, and whoever signs in then comes to the same place', async ({
  page,
}) => {
  test.skip(
    process.env.DESK_PEOPLE !== undefined,
    'Somebody without rights is invited into the embedded Medplum only.',
  );
  const service = await aService({ starts: halfHours(morning(6), 1) });
  const policy = {
    resourceType: 'AccessPolicy',
    name: 'Nothing of the clinic',
    resource: [{ resourceType: 'Practitioner' }],
  };
  const made = (await medplum('admin', 'POST', '/AccessPolicy', { body: policy })).body as { id: string };
  const me = (await (
    await fetch(new URL('auth/me', process.env.MEDPLUM_BASE_URL), { headers: { authorization: 'Bearer admin' } })
  ).json()) as { project: { id: string } };
  const stranger = { email: `stranger-${made.id}@clinic.example`, password: 'nothing-at-all' };
  const invited = await fetch(new URL(`admin/projects/${me.project.id}/invite`, process.env.MEDPLUM_BASE_URL), {
    method: 'POST',
    headers: { authorization: 'Bearer admin', 'content-type': 'application/json' },
    body: JSON.stringify({
      ...stranger,
      resourceType: 'Practitioner',
      firstName: 'Sam',
      lastName: 'Stranger',
      sendEmail: false,
      membership: { accessPolicy: { reference: `AccessPolicy/${made.id}` } },
    }),
  });
  expect(invited.status).toBe(200);
  const place = calendarOf(service);
  await visitDesk(page, place, stranger);
  await expect(page.getByRole('alert')).toContainText('You are not allowed to do that');
  await expectAccessible(page);
  expect(page.url()).toBe(place);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signInThere(page, maria);
  await expect(page.locator('.grid').getByRole('button', { name: '09:00–09:30, free' })).toBeVisible();
  expect(page.url()).toBe(place);
});
