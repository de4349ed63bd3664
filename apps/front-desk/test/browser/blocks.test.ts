import type { Appointment, Slot } from '@medplum/fhirtypes';
import { expect, type Page, test } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning } from '../../../../test/browser/clinic.ts';
import { book, slotsOf, stored } from '../../../../test/contract/fixtures.ts';
import { MINUTE_LIMIT } from '../../../../test/lib/time-scale.ts';
import { bookedBy, calendarOf, dayOf, settle, visitDesk } from './desk.ts';

const blocksOf = ({ id }: { readonly id?: string }) =>
  stored('Slot', `schedule=Schedule/${id}&status=busy-unavailable`);

/** How the Slots of a calendar stand, in order. */
const slotsOn = async ({ id }: { readonly id?: string }) =>
  (await stored('Slot', `schedule=Schedule/${id}&_sort=start`)).map(({ status }) => status);

/** Types a time of the clinic into the form of a block, on a day. */
async function typeTime(page: Page, day: string, from: string, to: string): Promise<void> {
  await page.getByLabel(/^From/).fill(`${day}T${from}`);
  await page.getByLabel(/^Until/).fill(`${day}T${to}`);
}

test('any time is blocked, once; what was free there goes, and comes back with it', async ({ page }) => {
  test.slow();
  const service = await aService({ starts: halfHours(morning(12), 4) });
  const day = dayOf(morning(12));
  await visitDesk(page, calendarOf(service));
  await page.getByRole('button', { name: 'Block time' }).click();
  const panel = page.getByRole('dialog');
  await expect(panel.getByLabel(/^From/)).toHaveValue(`${day}T12:00`);
  await typeTime(page, day, '10:00', '09:00');
  await panel.getByRole('button', { name: 'Block', exact: true }).click();
  await expect(panel.getByRole('alert')).toContainText('an end after it');
  await expectAccessible(page);
  await typeTime(page, day, '09:10', '09:40');
  const [start, end] = [10, 40].map((minute) => new Date(morning(12) + minute * 60_000).toISOString()) as [
    string,
    string,
  ];
  await panel.getByLabel('Reason').fill('Fire drill');
  await panel.getByRole('button', { name: 'Block', exact: true }).dblclick();
  await expect(page.getByText('Blocked.').first()).toBeVisible();
  await settle(page);
  await expect(panel).toHaveCount(0);
  const blocks = await blocksOf(service.schedule);
  expect(blocks.map((block) => [block.start, block.end, block.comment])).toEqual([[start, end, 'Fire drill']]);
  const free = async () => (await slotsOf(service.schedule)).filter((text) => text.startsWith('free'));
  await expect
    .poll(
      async () =>
        (await stored('Slot', `schedule=Schedule/${service.schedule.id}&status=free`)).filter(
          (slot) => slot.start < end && slot.end > start,
        ).length,
      { timeout: MINUTE_LIMIT },
    )
    .toBe(0);
  const before = await free();
  await page.getByRole('button', { name: /Fire drill/ }).click();
  await page.getByRole('button', { name: 'Offer this time again' }).click();
  await expect(page.getByText('Free again.')).toBeVisible();
  await expect.poll(() => blocksOf(service.schedule)).toEqual([]);
  await expect.poll(free, { timeout: MINUTE_LIMIT }).not.toEqual(before);
});

test('a block over an appointment names it first, keeps what was typed, and leaves it as it is', async ({ page }) => {
  test.slow();
  const service = await aService({ starts: halfHours(morning(13), 4) });
  const day = dayOf(morning(13));
  const made = await bookedBy('portal-a', service, 1, 'Iversen');
  await visitDesk(page, calendarOf(service));
  await page.getByRole('button', { name: /free$/ }).first().click();
  await page.getByRole('tab', { name: 'Block' }).click();
  await page.getByText('Another time').click();
  await expect(page.getByLabel(/^From/)).toHaveValue(`${day}T09:00`);
  // The appointment has begun by then.
  await typeTime(page, day, '09:45', '11:00');
  await page.getByLabel('Reason').fill('Repair');
  await page.getByRole('button', { name: 'Block', exact: true }).click();
  const warning = page.getByRole('dialog').getByRole('alert');
  await expect(warning).toContainText('There is 1 appointment at that time.');
  await expect(warning.getByRole('link')).toContainText('Iversen');
  await expectAccessible(page);
  expect(await blocksOf(service.schedule)).toEqual([]);
  await page.reload();
  await page.getByRole('tab', { name: 'Block' }).click();
  await expect(page.getByLabel('Reason')).toHaveValue('Repair');
  await expect(page.getByLabel(/^Until/)).toHaveValue(`${day}T11:00`);
  await page.getByRole('button', { name: 'Block', exact: true }).click();
  await page.getByRole('button', { name: 'Block it all the same' }).click();
  await page.getByRole('button', { name: 'Undo' }).first().click();
  await expect(page.getByText('Nothing was changed').first()).toBeVisible();
  expect(await blocksOf(service.schedule)).toEqual([]);
  await page.getByRole('button', { name: 'Block it all the same' }).click();
  await settle(page);
  await expect.poll(() => blocksOf(service.schedule)).toHaveLength(1);
  expect((await stored('Appointment', `_id=${made.id}`))[0]?.status).toBe('booked');
});

test('an appointment is dragged to a free time, confirmed there, and moved by the service', async ({ page }) => {
  test.slow();
  const service = await aService({ starts: halfHours(morning(14), 4) });
  const made = await bookedBy('portal-a', service, 0, 'Jansen');
  await visitDesk(page, calendarOf(service));
  const entry = page.getByRole('button', { name: /Jansen/ });
  await expect(entry).toHaveAttribute('draggable', 'true');
  await expect(page.getByRole('button', { name: /free$/ }).first()).toHaveAttribute('draggable', 'false');
  await entry.dragTo(page.getByRole('button', { name: /free$/ }).last());
  const panel = page.getByRole('dialog');
  await expect(panel).toContainText('Moving: Kim Jansen');
  expect((await stored('Appointment', `_id=${made.id}`))[0]?.start).toBe(made.start);
  await panel.getByRole('button', { name: 'Move', exact: true }).click();
  // It stands where it will be, with both times and the name, until it is stored or taken back.
  await expect(page.getByRole('button', { name: /^10:30–11:00, booked, Kim Jansen, .*not stored yet/ })).toBeVisible();
  await expect(page.locator('.announcer')).toContainText(/Kim Jansen: .*09:00–09:30 → .*10:30–11:00/);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(page.getByText('Nothing was changed').first()).toBeVisible();
  expect((await stored('Appointment', `_id=${made.id}`))[0]?.start).toBe(made.start);
  await entry.dragTo(page.getByRole('button', { name: /free$/ }).last());
  await panel.getByRole('button', { name: 'Move', exact: true }).click();
  await expect(page.getByRole('button', { name: /not stored yet/ })).toBeVisible();
  await settle(page);
  await expect
    .poll(async () => (await stored('Appointment', `_id=${made.id}`))[0]?.start)
    .toBe(service.slots[3]?.start);
  // Who is faster in the seconds in which it could be taken back is named in red, with the reason.
  await expect(page.getByRole('button', { name: /not stored yet/ })).toHaveCount(0);
  await entry.dragTo(page.getByRole('button', { name: /^09:00.*free$/ }));
  await panel.getByRole('button', { name: 'Move', exact: true }).click();
  await expect(page.getByRole('button', { name: /not stored yet/ })).toBeVisible();
  await bookedBy('portal-b', service, 0, 'Schneller');
  await settle(page);
  await expect(page.locator('.announcer').getByRole('alert')).toContainText(
    /Not done: “Kim Jansen: .*The time is taken/,
  );
});

/** A colleague moves an appointment to another Slot. */
async function moveByColleague({ id, participant }: Appointment, slot: Slot | undefined): Promise<void> {
  const body = {
    resourceType: 'Appointment',
    id,
    status: 'proposed',
    start: slot?.start,
    end: slot?.end,
    slot: [{ reference: `Slot/${slot?.id}` }],
    participant: participant.filter(({ actor }) => actor?.reference?.startsWith('Patient/')),
  };
  expect((await book(body, 'front-desk')).status).toBe(201);
}

test('an appointment that a colleague has moved meanwhile is not moved back by a drag that began before', async ({
  page,
}) => {
  test.slow();
  const service = await aService({ starts: halfHours(morning(15), 4) });
  const made = await bookedBy('portal-a', service, 0, 'Klaasen');
  await visitDesk(page, calendarOf(service));
  await page.getByRole('button', { name: /Klaasen/ }).dragTo(page.getByRole('button', { name: /free$/ }).last());
  const panel = page.getByRole('dialog');
  await expect(panel).toContainText('Moving: Kim Klaasen');
  await moveByColleague(made, service.slots[1]);
  await panel.getByRole('button', { name: 'Move', exact: true }).click();
  await expect(panel.getByRole('alert')).toContainText('Someone else was faster');
  const [after] = await stored('Appointment', `_id=${made.id}`);
  expect(after?.start).toBe(service.slots[1]?.start);
  expect(await slotsOn(service.schedule)).toEqual(['free', 'busy', 'free', 'free']);
  await panel.getByRole('button', { name: 'Load again' }).click();
  await expect(panel.getByRole('button', { name: 'Move', exact: true })).toBeVisible();
  await expect(panel).toContainText('09:30');
});
