import { randomUUID } from 'node:crypto';
import type { Appointment, Extension, HealthcareService } from '@medplum/fhirtypes';
import { expect, test } from '@playwright/test';
import { artefactUri } from '../../../core/config/config.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { stepExtension } from '../../../core/visits/visit.ts';
import { book, several, slotsOf, succeeded } from '../../contract/fixtures.ts';
import { medplum, request, resourceIn } from '../../contract/http.ts';
import { config } from '../../contract/installation.ts';
import { expectFits, smallest } from '../axe.ts';
import { aService, fillPerson, halfHours, morning, origin, type TestService, visit } from '../clinic.ts';

/** A service whose visit has these steps, each in the calendar of a service of its own. */
async function aVisit(steps: readonly TestService[], isByStep: boolean): Promise<HealthcareService> {
  const step = ({ name, schedule }: TestService): Extension => ({
    url: 'step',
    extension: [
      { url: 'name', valueString: name },
      { url: 'schedule', valueReference: { reference: `Schedule/${schedule.id}` } },
    ],
  });
  const extension = [...steps.map(step), ...(isByStep ? [{ url: 'byStep', valueBoolean: true }] : [])];
  const body: HealthcareService = {
    resourceType: 'HealthcareService',
    active: true,
    name: 'Before the operation',
    type: [{ coding: [{ system: artefactUri(config, 'LocalServiceType'), code: randomUUID() }] }],
    extension: [{ url: artefactUri(config, 'LocalVisit'), extension }],
  };
  return succeeded('HealthcareService', await medplum('front-desk', 'POST', '/HealthcareService', { body }));
}

for (const [what, isByStep] of [
  ['that ends as a whole', false],
  ['whose steps could end one by one', true],
] as const) {
  test(`a visit of two steps ${what} is one card and one page, and cancelled as one`, async ({ browser }) => {
    test.slow();
    const [first, second] = [
      await aService({ starts: halfHours(morning(9), 3), name: `Blood ${randomUUID().slice(0, 8)}`, doctor: 'Lab' }),
      await aService({ starts: halfHours(morning(9), 4), name: `ECG ${randomUUID().slice(0, 8)}`, doctor: 'Dr. Herz' }),
    ];
    const service = await aVisit([first, second], isByStep);
    const page = await (await browser.newContext({ viewport: smallest })).newPage();
    await visit(page, first);
    await page.locator('.time').first().click();
    await fillPerson(page, 'Vera', 'Muster');
    await page.locator('button.primary').click();
    await expect(page.locator('.state')).toHaveText('Confirmed');
    const [, id] = /appointments\/([^?]+)/.exec(page.url()) ?? [];
    const { participant } = resourceIn('Appointment', await request('portal-a', 'GET', `/Appointment/${id}`));
    const patient = participant.find(({ actor }) => actor?.reference?.startsWith('Patient/'));

    const stepIn = ({ name, schedule, slots }: TestService, index: number): Partial<Appointment> => ({
      resourceType: 'Appointment',
      meta: { profile: [artefactUri(config, 'LocalTermin')] },
      status: 'proposed',
      start: slots[index]?.start ?? '',
      end: slots[index]?.end ?? '',
      serviceType: schedule.serviceType ?? [],
      slot: [{ reference: `Slot/${slots[index]?.id}` }],
      participant: patient ? [patient] : [],
      extension: [stepExtension({ service: service.id ?? '', step: name }, config)],
    });
    const answer = await book(several(stepIn(first, 1), stepIn(second, 3)));
    const made = (resourceIn('Bundle', answer).entry ?? []).flatMap(({ resource }) =>
      isResource(resource, 'Appointment') ? [resource] : [],
    );
    expect(made.map(({ status }) => status)).toEqual(['booked', 'booked']);

    await page.goto(`${origin}/portal/appointments`);
    const card = page.locator('.cards a').filter({ hasText: second.name });
    await expect(page.locator('.cards a')).toHaveCount(2);
    await expect(card).toContainText('09:30–11:00');
    await expect(card).toContainText(`09:30 · ${first.name} · Lab`);
    await expect(card).toContainText(`10:30 · ${second.name} · Dr. Herz`);
    await expectFits(page);
    await card.click();
    await expect(page.locator('ol li')).toHaveText([/09:30–10:00.*Blood.*Lab/s, /10:30–11:00.*ECG.*Dr\. Herz/s]);
    await expect(page.getByRole('link', { name: 'Move', exact: true })).toHaveCount(0);
    await expect(page.locator('#actions')).toContainText('cannot be moved here');
    await expectFits(page);
    const file = await page.request.get(`${page.url()}/calendar.ics`);
    expect((await file.text()).match(/UID:\S+?(?=@)/g)?.toSorted()).toEqual(
      made.map((one) => `UID:${one.id}`).toSorted(),
    );

    await page.getByRole('link', { name: 'Cancel the visit' }).click();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Cancel the whole visit?');
    await expectFits(page);
    await page.locator('button.danger').click();
    await expect(page.locator('.state')).toHaveText('Cancelled');
    await expect(page.locator('ol li')).toHaveCount(2);
    expect((await slotsOf(second.schedule)).filter((one) => !one.startsWith('free'))).toEqual([]);
    await page.goto(`${origin}/portal/appointments`);
    await expect(page.locator('.cards .state')).toHaveText(['Confirmed', 'Cancelled']);
  });
}
