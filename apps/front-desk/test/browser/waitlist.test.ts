/** At the telephone: no time fits, the patient waits, a time is freed, and staff say what the patient has answered. */
import { expect, test } from '@playwright/test';
import { localDayOf, mondayOf } from '../../../../core/time/local-day.ts';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning, origin, zone } from '../../../../test/browser/clinic.ts';
import { stored, succeeded } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';
import { cancellation, patch } from '../../../../test/contract/patch/fixtures.ts';
import { bookedBy, settle, visitDesk } from './desk.ts';

test('who waits at the desk is called when a time is freed, and what they answer is noted', async ({ page }) => {
  test.slow();
  const family = `Wartend${Date.now().toString(36).replace(/\d/g, 'q')}`;
  const name = `Kim ${family}`;
  const service = await aService({ starts: halfHours(morning(2), 2), hasWaitlist: true });
  const booked = await bookedBy('portal-b', service, 0, 'Voll');
  const body = { resourceType: 'Patient', active: true, name: [{ family, given: ['Kim'] }] };
  const patient = succeeded('Patient', await medplum('front-desk', 'POST', '/Patient', { body }));
  await visitDesk(page, `${origin}/front-desk/calendar?for=${patient.id}`);
  await page.getByRole('link', { name: 'No time fits: put on the waiting list' }).click();
  const form = page.getByRole('form', { name: 'Put on the waiting list' });
  await form.getByLabel('Service').selectOption({ label: service.name });
  await expectAccessible(page);
  await form.getByRole('button', { name: 'Put on the waiting list' }).click();
  await expect(page.getByText(`${name} is on the waiting list, at place 1.`)).toBeVisible();
  await expect(page.getByRole('region', { name: 'Waiting for a time (1)' })).toContainText(service.name);

  expect((await patch(booked.id ?? '', cancellation, 'portal-b')).status).toBe(200);
  await page.goto(`${origin}/front-desk/messages`);
  const call = page.getByRole('listitem').filter({ hasText: name });
  await expect(call).toContainText('This time is held for them until');
  await expectAccessible(page);
  await call.getByRole('button', { name: 'They do not want it' }).click();
  await settle(page);
  await expect(call).toHaveCount(0);

  // It was free for everybody again; now the second time is freed.
  const second = await bookedBy('portal-b', service, 1, 'Auch');
  expect((await patch(second.id ?? '', cancellation, 'portal-b')).status).toBe(200);
  await page.goto(`${origin}/front-desk/requests`);
  const waiting = page
    .getByRole('region', { name: /^Waiting for a time/ })
    .getByRole('listitem')
    .filter({ hasText: name });
  await expect(waiting).toContainText('Offered:');
  await waiting.getByRole('button', { name: 'Accept for them' }).click();
  await expect(page.getByText('Booked.', { exact: true })).toBeVisible();
  await expect(waiting).toHaveCount(0);
  const appointments = await stored('Appointment', `patient=Patient/${patient.id}&status=booked`);
  expect(appointments.map(({ start }) => start)).toEqual([second.start]);
  expect(await stored('Task', `patient=Patient/${patient.id}&status=requested`)).toEqual([]);

  const weekOf = (time: number) => mondayOf(localDayOf(time, zone));
  await page.getByRole('button', { name: 'What was filled this week' }).click();
  await expect(
    page.getByText(
      weekOf(Date.parse(second.start ?? '')) === weekOf(Date.now())
        ? /^Those who waited have taken \d+ minutes of this week/
        : /of this week/,
    ),
  ).toBeVisible();
});
