import { expect, test } from '@playwright/test';
import { aService, halfHours, morning, origin } from '../../../../test/browser/clinic.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';
import { bookedBy, calendarOf, visitDesk } from './desk.ts';

test('what portals and clinics have stored is text, never markup or script; nobody else is asked for anything', async ({
  page,
}) => {
  const attack = '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>';
  const service = await aService({
    starts: halfHours(morning(8), 2),
    name: attack,
    doctor: attack,
    confirmation: 'manual',
    confirmWithin: 220,
  });
  const { id } = await bookedBy('portal-a', service, 0, attack);
  const [booked] = await stored('Appointment', `_id=${id}`);
  const text = { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${attack}</div>` };
  const body = { ...booked, comment: attack, text };
  expect((await medplum('admin', 'PUT', `/Appointment/${id}`, { body })).status).toBe(200);
  const place = calendarOf(service);
  await visitDesk(page, place);
  const asked = new Set<string>();
  page.on('request', (request) => asked.add(new URL(request.url()).origin));
  await page.goto(place);
  await expect(page.getByRole('heading', { level: 2, name: attack })).toHaveCount(1);
  await page.locator('.grid').getByRole('button', { name: attack }).click();
  await expect(page.getByRole('dialog').locator('.facts')).toContainText(attack);
  await page.goto(`${origin}/front-desk/requests?open=${id}`);
  await expect(page.locator('#open-request')).toContainText(attack);
  await expect(page.locator('.facts')).toContainText(attack);
  await page.goto(`${origin}/front-desk/hours`);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  expect(await page.evaluate(() => 'attacked' in window)).toBe(false);
  const own = [origin, new URL(process.env.MEDPLUM_BASE_URL ?? '').origin];
  expect([...asked].filter((one) => !own.includes(one))).toEqual([]);
});
