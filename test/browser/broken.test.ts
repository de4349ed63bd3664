import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Appointment, Questionnaire, Resource, Schedule, Slot } from '@medplum/fhirtypes';
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { dayOf, visitDesk } from '../../apps/front-desk/test/browser/desk.ts';
import { DAY } from '../../core/time/time-zone.ts';
import { type Installation, prepareService } from '../lib/installation.ts';
import { scaled } from '../lib/time-scale.ts';
import { expectAccessible } from './axe.ts';
import { fillPerson, halfHours, morning } from './clinic.ts';

/** A resource of whatever content. */
type Broken = Readonly<Record<string, unknown>> & { readonly resourceType: string; readonly id: string };

let folder = '';
let installation: Installation;
let origin = '';
let context: BrowserContext;

const system = 'https://clinic.example/services';
const serviceType = [{ coding: [{ system, code: 'broken', display: 'A broken service' }] }];
const start = morning(6);
const day = dayOf(start);

const medplum = async <T extends Resource>(method: string, path: string, body?: object): Promise<T> => {
  const response = await fetch(`${installation.medplumUrl}fhir/R4/${path}`, {
    method,
    // With the whole `meta`, project included.
    headers: { authorization: 'Bearer admin', 'content-type': 'application/fhir+json', 'x-medplum': 'extended' },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) {
    throw new Error(await response.text());
  }
  return (await response.json()) as T;
};

/** Writes into the store past all validation, once the server was killed: in place of a last line that it has not finished. */
async function writeToStore(project: string | undefined, resources: readonly Broken[]): Promise<void> {
  const writes = resources.map(({ meta, ...resource }) => {
    const { id, resourceType: type } = resource;
    const [versionId, lastUpdated] = [crypto.randomUUID(), new Date().toISOString()];
    const own = { project, ...(meta as object), versionId, lastUpdated };
    return { type, id, versionId, lastUpdated, resource: { ...resource, meta: own } };
  });
  const journal = join(folder, 'journal.jsonl');
  const stored = await readFile(journal, 'utf8');
  const complete = stored.slice(0, stored.lastIndexOf('\n') + 1);
  await writeFile(journal, `${complete}${JSON.stringify({ writes })}\n`);
}

const slotOf = (schedule: Schedule, from: number): Slot => ({
  resourceType: 'Slot',
  schedule: { reference: `Schedule/${schedule.id}` },
  status: 'free',
  start: new Date(from).toISOString(),
  end: new Date(from + 1_800_000).toISOString(),
});

const names = { bookable: 'Dr. Whole', broken: 'Dr. Broken' };
const schedules: Schedule[] = [];
const slots: (Slot & { id: string })[] = [];
let link = '';

/** Books in the portal, and gives the appointment's address. */
async function bookThere(page: Page, time: string): Promise<string> {
  await page.goto(`${origin}/portal/times?${new URLSearchParams({ service: `${system}|broken` })}`);
  await page.getByRole('button', { name: time }).first().click();
  await fillPerson(page);
  await page.getByRole('button', { name: /Book this appointment/ }).click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
  return new URL(page.url()).pathname;
}

test.beforeAll(async ({ browser }) => {
  test.setTimeout(scaled(60_000));
  folder = await mkdtemp(join(tmpdir(), 'broken-'));
  const zone = 'Europe/Berlin';
  installation = await prepareService({ LOG_LEVEL: 'warn', TZ: zone, SANDBOX_DATA: folder }, { timeZone: zone });
  await installation.start();
  origin = new URL(installation.addresses.BOOKING_BASE_URL ?? '').origin;
  for (const display of [names.bookable, names.broken]) {
    const body: Schedule = { resourceType: 'Schedule', active: true, serviceType, actor: [{ display }] };
    schedules.push(await medplum('POST', 'Schedule', body));
  }
  const [whole, broken] = schedules as [Schedule, Schedule];
  for (const from of halfHours(start, 4)) {
    slots.push(await medplum('POST', 'Slot', slotOf(whole, from)));
  }
  for (const from of halfHours(start, 2)) {
    slots.push(await medplum('POST', 'Slot', slotOf(broken, from)));
  }
  const questionnaire = await medplum<Questionnaire>('POST', 'Questionnaire', {
    resourceType: 'Questionnaire',
    status: 'draft',
  });
  context = await browser.newContext({ locale: 'en-GB', timezoneId: zone });
  const page = await context.newPage();
  link = await bookThere(page, '09:00');
  const id = link.split('/').at(-1) ?? '';
  const booked = await medplum<Appointment & { id: string }>('GET', `Appointment/${id}`);
  await installation.kill();
  const { participant: _, ...alone } = booked;
  const { end: __, ...endless } = slots[4] ?? { resourceType: 'Slot', id: '' };
  await writeToStore(booked.meta?.project, [
    { ...alone, id, status: 'pending' },
    { resourceType: 'Appointment', id: crypto.randomUUID(), status: 'booked', start: booked.start, end: booked.end },
    { resourceType: 'Appointment', id: crypto.randomUUID(), status: 'strange', start: booked.start, participant: {} },
    { resourceType: 'Appointment', id: crypto.randomUUID(), status: 'pending', slot: 'none', participant: [null] },
    endless as Broken,
    { ...slots[5], end: new Date(start - DAY / 48).toISOString() } as Broken,
    {
      resourceType: 'Questionnaire',
      id: questionnaire.id ?? '',
      status: 'active',
      url: 'https://clinic.example/Questionnaire/broken',
      useContext: [
        {
          code: { system: 'http://terminology.hl7.org/CodeSystem/usage-context-type', code: 'task' },
          valueCodeableConcept: { coding: [{ system, code: 'broken' }] },
        },
      ],
      item: [
        { linkId: 'a', text: 'Draw where it hurts', type: 'drawing', required: true },
        { linkId: 'b', text: 'Which of these?', type: 'choice', answerOption: null },
        null,
        { text: 'Do you smoke?', type: 'boolean', enableWhen: [null, { question: 'nothing', operator: '=' }] },
      ],
    },
    { resourceType: 'Schedule', id: crypto.randomUUID(), actor: null, serviceType: [null, { coding: 'none' }] },
    { resourceType: 'HealthcareService', id: crypto.randomUUID(), type: 'none', extension: [null] },
  ]);
  await installation.start();
});
test.afterAll(async () => {
  await context?.close();
  await installation?.end();
  await rm(folder, { recursive: true, force: true });
});

/** Fails the test when the page has thrown. */
function watch(page: Page): string[] {
  const failed: string[] = [];
  page.on('pageerror', (error) => failed.push(error.message));
  return failed;
}

test('broken resources stop no page of the portal, and are shown as what they are', async () => {
  test.slow();
  const page = await context.newPage();
  const failed = watch(page);
  await page.goto(`${origin}/portal/`);
  await expect(page.getByRole('link', { name: /A broken service/ })).toBeVisible();
  await page.goto(`${origin}${link}`);
  await expect(page.locator('.state')).toHaveText('Waiting for the clinic');
  await expect(page.locator('#state')).toContainText('09:00–09:30');
  await expectAccessible(page);
  await page.goto(`${origin}/portal/appointments`);
  await expect(page.locator('.cards li')).toHaveCount(1);

  await page.goto(`${origin}/portal/times?${new URLSearchParams({ service: `${system}|broken` })}`);
  await expect(page.locator('.time')).toHaveText(['09:30', '10:00', '10:30']);
  await page.getByRole('button', { name: '09:30' }).click();
  await expect(page.getByText('This question cannot be answered here.')).toHaveCount(2);
  await expect(page.getByText('Draw where it hurts')).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('group', { name: 'Do you smoke?' }).getByLabel('No').check();
  await fillPerson(page);
  await page.getByRole('button', { name: 'Book this appointment' }).click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
  expect(failed).toEqual([]);
});

test('broken resources stop no page of the front desk, and are shown as what they are', async ({ page }) => {
  test.slow();
  const failed = watch(page);
  const [whole, broken] = schedules;
  await visitDesk(page, `${origin}/front-desk/calendar?date=${day}&calendars=${whole?.id},${broken?.id}`);
  await expect(page.locator('.grid').getByRole('button', { name: /^09:00–09:30, requested/ })).toBeVisible();
  const unplaced = page.getByRole('region', { name: 'Without a place in the calendar' }).getByRole('listitem');
  await expect(unplaced.filter({ hasText: 'it names no slot, and no one whose calendar is known' })).toHaveCount(1);
  await expect(unplaced.filter({ hasText: 'its status is unknown' })).toHaveCount(1);
  await expect(unplaced.filter({ hasText: `Slot/${slots[4]?.id}: it has no readable time` })).toHaveCount(1);
  await expect(unplaced.filter({ hasText: `Slot/${slots[5]?.id}: it has no readable time` })).toHaveCount(1);
  await expectAccessible(page);
  await page
    .locator('.grid')
    .getByRole('button', { name: /^09:00–09:30, requested/ })
    .click();
  await expect(page.getByRole('dialog').locator('.facts')).toContainText('No patient named');
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await unplaced.filter({ hasText: 'its status is unknown' }).getByRole('button').click();
  await expect(page.getByRole('dialog').locator('.facts')).toContainText('strange');
  await page.keyboard.press('Escape');
  await page.goto(`${origin}/front-desk/calendar?date=${day}&span=week&calendars=${whole?.id},${broken?.id}`);
  await expect(page.locator('.grid').getByRole('button', { name: /^09:00–09:30, requested/ })).toBeVisible();

  await page.goto(`${origin}/front-desk/requests`);
  const rows = page.getByRole('list', { name: 'Requests' }).getByRole('button');
  await expect(rows).toHaveCount(2);
  for (const row of await rows.all()) {
    await row.click();
    await expect(page.locator('.facts')).toContainText('No patient named');
  }
  await expectAccessible(page);
  await page.goto(`${origin}/front-desk/hours`);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expectAccessible(page);
  expect(failed).toEqual([]);
});
