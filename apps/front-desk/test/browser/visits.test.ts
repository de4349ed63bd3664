import type { Appointment, HealthcareService } from '@medplum/fhirtypes';
import { expect, type Page } from '@playwright/test';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { formatInstant } from '../../../../core/fhir/instant.ts';
import { serviceTypeOf } from '../../../../core/fhir/reference.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import { changeService } from '../../../../core/fhir/scheduling/change-hours.ts';
import { DAY } from '../../../../core/time/time-zone.ts';
import { parseHours } from '../../../../scripts/calendar/hours-text.ts';
import { expectFits, smallest } from '../../../../test/browser/axe.ts';
import { aSeries, aService as aTestService, halfHours, morning, origin } from '../../../../test/browser/clinic.ts';
import { test } from '../../../../test/browser/test.ts';
import { aPatient, aSchedule, aSlot, book, several, stored, succeeded } from '../../../../test/contract/fixtures.ts';
import { type Answer, medplum, request, resourceIn } from '../../../../test/contract/http.ts';
import { config } from '../../../../test/contract/installation.ts';
import { dayOf, settle, visitDesk } from './desk.ts';

const visitUrl = artefactUri(config, 'LocalVisit');

/** A service with a calendar of its own. */
async function aService(name: string, hasTimes = false): Promise<HealthcareService> {
  const empty: HealthcareService = { resourceType: 'HealthcareService', active: true, name };
  const body = changeService(empty, { hours: parseHours('mon 09:00-12:00'), duration: 20, timeZone: config.timeZone });
  const service = succeeded('HealthcareService', await medplum('front-desk', 'POST', '/HealthcareService', { body }));
  const serviceType = serviceTypeOf({ ...service, id: service.id ?? '' });
  const schedule = await aSchedule({ serviceType, actor: [{ display: name }] });
  const tomorrow = morning(1);
  for (const start of hasTimes ? halfHours(tomorrow, 3) : []) {
    const [from, to] = [start, start + 1_800_000].map((time) => new Date(time).toISOString());
    await aSlot(schedule, 0, 30, { start: from ?? '', end: to ?? '' });
  }
  return service;
}

/** The parts of a service's visit, as names and values. */
async function visitOf({ id }: HealthcareService) {
  const [service] = await stored('HealthcareService', `_id=${id}`);
  return service?.extension?.find(({ url }) => url === visitUrl)?.extension;
}

const stepAt = (page: Page, number: number) =>
  page.getByRole('group', { name: new RegExp(`^(Step|Schritt) ${number}`) });

test('staff say which steps a service has, and are told beforehand what cannot be', async ({ page }) => {
  const name = `ECG ${Date.now()}`;
  const [service, ecg] = [await aService(`Check-up ${Date.now()}`), await aService(name, true)];
  await visitDesk(page, `${origin}/front-desk/hours?of=${service.id}`);
  await page.getByLabel('Patients book here').selectOption('several steps at once');
  await page.getByRole('button', { name: 'Add a step' }).click();
  await stepAt(page, 1).getByLabel('Name').fill('ECG');
  await page.getByRole('button', { name: 'Add a step' }).click();
  await stepAt(page, 2)
    .getByLabel('These calendars')
    .getByLabel(service.name ?? '')
    .check();
  await page.getByRole('button', { name: 'Save the visit' }).click();
  await expect(stepAt(page, 1).getByRole('alert')).toContainText('Nobody can take this step');
  await expect(stepAt(page, 2).getByRole('alert')).toContainText('Give this step a name');
  expect(await visitOf(service)).toBeUndefined();

  await stepAt(page, 1).getByLabel('Who or what can take it').selectOption(name);
  await expect(stepAt(page, 1).getByRole('alert')).toHaveCount(0);
  await stepAt(page, 2).getByLabel('Name').fill('Talk');
  await stepAt(page, 2).getByLabel('Comes after').getByLabel('ECG').check();
  await stepAt(page, 2).getByLabel('Longest gap before it', { exact: true }).fill('2');
  await stepAt(page, 2).getByLabel('Longest gap before it: unit').selectOption('hours');
  await page.getByRole('button', { name: 'Step 2: Talk: up' }).click();
  await page.getByRole('button', { name: 'Show what it would offer' }).click();
  const preview = page.getByRole('status', { name: 'Show what it would offer' });
  await expect(preview).toContainText('nothing could be offered');
  await stepAt(page, 1).getByLabel('Can be left out').check();
  await stepAt(page, 1).getByLabel('Can be left out').uncheck();
  await expect(preview).toHaveCount(0);
  const calendars = stepAt(page, 1).getByLabel('These calendars');
  await calendars.getByLabel(service.name ?? '').uncheck();
  await calendars.getByLabel(name).check();
  await page.getByRole('button', { name: 'Show what it would offer' }).click();
  await expect(preview.locator('ol').first().locator('li')).toHaveText([/09:00–09:20, ECG/, /09:30–09:50, Talk/]);
  expect(await visitOf(service)).toBeUndefined();
  await page.getByRole('button', { name: 'Save the visit' }).click();
  await expect(page.getByText('Saved. From now on it is booked like this.')).toBeVisible();
  expect(await visitOf(service)).toMatchObject([
    {
      url: 'step',
      extension: [{ valueString: 'Talk' }, { url: 'schedule' }, { valueString: 'ECG' }, { url: 'gapMax' }],
    },
    {
      url: 'step',
      extension: [{ valueString: 'ECG' }, { valueReference: { reference: `HealthcareService/${ecg.id}` } }],
    },
  ]);
});

test('a visit that a colleague has changed meanwhile is not overwritten, and what is not shown stays', async ({
  page,
}) => {
  const service = await aService(`Infusion ${Date.now()}`);
  const role = {
    url: 'with',
    extension: [{ url: 'service', valueReference: { reference: `HealthcareService/${service.id}` } }],
  };
  const parts = [{ url: 'name', valueString: 'Infusion' }, ...role.extension, role];
  const body = {
    ...service,
    extension: [...(service.extension ?? []), { url: visitUrl, extension: [{ url: 'step', extension: parts }] }],
  };
  const put = (more: object) =>
    medplum('front-desk', 'PUT', `/HealthcareService/${service.id}`, { body: { ...body, ...more } });
  expect((await put({})).status).toBe(200);
  await page.setViewportSize(smallest);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await visitDesk(page, `${origin}/front-desk/hours?of=${service.id}`);
  await expect(stepAt(page, 1)).toContainText(`Also needs, at the same time: ${service.name}`);
  await page.getByLabel('Can be left out').check();
  await page.getByRole('button', { name: 'Save the visit' }).click();
  await expect(page.getByText('At least one step must not be left out.')).toBeVisible();
  await expectFits(page);
  await page.getByLabel('Can be left out').uncheck();
  await stepAt(page, 1).getByLabel('Length', { exact: true }).fill('45');
  expect((await put({ comment: 'Second floor' })).status).toBe(200);
  await page.getByRole('button', { name: 'Save the visit' }).click();
  await expect(page.getByRole('alert')).toContainText('Someone else was faster');
  await page.getByRole('button', { name: 'Load again' }).click();
  await expect(page.getByRole('alert')).toHaveCount(0);
  await expect(stepAt(page, 1).getByLabel('Length', { exact: true })).toHaveValue('45');
  await page.getByRole('button', { name: 'Save the visit' }).click();
  await expect(page.getByText('Saved. From now on it is booked like this.')).toBeVisible();
  const [step] = (await visitOf(service)) ?? [];
  expect(step?.extension).toEqual(expect.arrayContaining([role, expect.objectContaining({ url: 'duration' })]));
  const [after] = await stored('HealthcareService', `_id=${service.id}`);
  expect(after?.comment).toBe('Second floor');
});

test('a series is given in German, at the smallest width', async ({ browser }) => {
  const page = await (
    await browser.newContext({ viewport: smallest, locale: 'de-DE', reducedMotion: 'reduce' })
  ).newPage();
  const service = await aService(`Krankengymnastik ${Date.now()}`);
  await visitDesk(page, `${origin}/front-desk/hours?of=${service.id}`);
  await page.getByLabel('Patienten buchen hier').selectOption('mehrere Schritte auf einmal');
  await page.getByRole('button', { name: 'Schritt hinzufügen' }).click();
  await page.getByRole('button', { name: 'Schritt hinzufügen' }).click();
  await page.getByRole('button', { name: 'Besuch speichern' }).click();
  await expect(stepAt(page, 1).getByRole('alert')).toBeVisible();
  await expectFits(page);
  await page.getByLabel('Patienten buchen hier').selectOption('eine Serie');
  await page.getByLabel('Wie viele Termine').fill('6');
  await page.getByRole('button', { name: 'Besuch speichern' }).click();
  await expect(page.getByRole('alert')).toContainText('Eine Serie braucht 2 bis 20 Termine');
  await page.getByLabel('Einer alle', { exact: true }).fill('1');
  await page.getByLabel('Alle bei derselben Person').check();
  await expect(page.getByRole('alert')).toHaveCount(0);
  await expectFits(page);
  await page.getByRole('button', { name: 'Besuch speichern' }).click();
  await expect(page.getByText('Gespeichert. Ab jetzt wird so gebucht.')).toBeVisible();
  expect(await visitOf(service)).toMatchObject([
    {
      url: 'series',
      extension: [{ valuePositiveInt: 6 }, { valueDuration: { value: 1, code: 'wk' } }, { url: 'sameActor' }],
    },
  ]);
});

const appointmentsIn = (response: Answer): Appointment[] =>
  (resourceIn('Bundle', response).entry ?? []).flatMap(({ resource }) =>
    isResource(resource, 'Bundle')
      ? appointmentsIn({ ...response, body: resource })
      : isResource(resource, 'Appointment')
        ? [resource]
        : [],
  );

test('staff move one of a series and the later ones at once; what was moved by itself stays', async ({ page }) => {
  const weeks = Array.from({ length: 5 }, (_, week) => morning(9) + week * 7 * DAY);
  const third = (weeks[2] ?? 0) + 3_600_000;
  const exercise = await aTestService({ starts: [...weeks, ...weeks.map((start) => start + DAY), third] });
  const { service } = await aSeries(5, exercise);
  const parameter = [
    { name: 'service', valueReference: { reference: `HealthcareService/${service.id}` } },
    { name: 'period', valuePeriod: { start: formatInstant(morning(8)), end: formatInstant(morning(60)) } },
    { name: 'count', valuePositiveInt: 1 },
    { name: 'patient', valueReference: { reference: `Patient/${(await aPatient()).id}` } },
  ];
  const body = { resourceType: 'Parameters', parameter };
  const booked = appointmentsIn(
    await book(several(...appointmentsIn(await request('portal-a', 'POST', '/Appointment/$find', { body })))),
  );
  const [, , one] = booked;
  const slot = [{ reference: `Slot/${exercise.slots.at(-1)?.id}` }];
  const time = { start: formatInstant(third), end: formatInstant(third + 1_800_000), slot };
  succeeded('Appointment', await book({ ...one, ...time, status: 'proposed' }));

  await page.setViewportSize(smallest);
  await visitDesk(page, `${origin}/front-desk/calendar?date=${dayOf(weeks[1] ?? 0)}&open=Appointment/${booked[1]?.id}`);
  await page.getByRole('button', { name: 'Move this and the later ones' }).click();
  const moving = page.getByRole('region', { name: 'Move this and the later ones' });
  await expect(moving).toContainText(/These stay as they are:.*10:00–10:30/);
  await moving.getByLabel('The first one from').fill(dayOf(morning(60)));
  await expect(moving).toContainText('there is no time for all of them');
  await moving.getByLabel('The first one from').fill(dayOf(weeks[1] ?? 0));
  await expect(moving.locator('ol').first().locator('li')).toHaveText([/09:00–09:30/, /09:00–09:30/, /09:00–09:30/]);
  await expectFits(page);
  await moving
    .getByRole('button', { name: /^Move: / })
    .first()
    .click();
  await settle(page);
  await expect(page.locator('.steps li')).toHaveCount(5);
  const starts = async () =>
    (await stored('Appointment', `_id=${booked.map(({ id }) => id).join()}&_sort=date`)).map(({ start = '' }) =>
      Date.parse(start),
    );
  const [first = 0, second = 0, , fourth = 0, fifth = 0] = weeks;
  await expect.poll(starts).toEqual([first, second + DAY, third, fourth + DAY, fifth + DAY]);
});
