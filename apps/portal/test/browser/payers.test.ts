/** Who pays: chosen where services differ, and kept to the end. */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@playwright/test';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { SERVICE_TYPE_REFERENCE } from '../../../../core/fhir/reference.ts';
import { expectFits, smallest } from '../../../../test/browser/axe.ts';
import { fillPerson, morning, origin } from '../../../../test/browser/clinic.ts';
import { aSchedule, aSlot, stored, succeeded } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';
import { config } from '../../../../test/contract/installation.ts';

const kind = (code: string) => ({
  url: artefactUri(config, 'LocalPayerKind'),
  valueCoding: { system: artefactUri(config, 'LocalPayerKinds'), code },
});

test.use({ viewport: smallest });

test('who pays is chosen first, stays in the address, and is kept by the appointment', async ({ page }) => {
  const code = randomUUID();
  const type = [{ coding: [{ system: artefactUri(config, 'LocalServiceType'), code, display: `Visit ${code}` }] }];
  const body = {
    resourceType: 'HealthcareService',
    active: true,
    type,
    extension: [kind('private'), kind('self-pay')],
  };
  const made = await medplum('admin', 'POST', '/HealthcareService', { body });
  const reference = `HealthcareService/${succeeded('HealthcareService', made).id}`;
  const schedule = await aSchedule({
    serviceType: [{ ...type[0], extension: [{ url: SERVICE_TYPE_REFERENCE, valueReference: { reference } }] }],
  });
  const start = morning(8);
  const slot = await aSlot(schedule, 0, 30, {
    start: new Date(start).toISOString(),
    end: new Date(start + 1_800_000).toISOString(),
  });
  const choice = page.getByRole('navigation', { name: 'Who pays?' });
  const card = page.getByRole('link', { name: new RegExp(`Visit ${code}`) });
  await expect(async () => {
    await page.goto(`${origin}/portal/?find=${code}`);
    await expect(card).toContainText('Private insurance and I pay myself', { timeout: 500 });
  }).toPass();
  await choice.getByRole('link', { name: 'Private insurance' }).click();
  await expect(page).toHaveURL(/payer=private/);
  await expectFits(page);
  await card.click();
  await expect(choice.getByRole('link', { name: 'Private insurance' })).toHaveAttribute('aria-current', 'true');
  await expectFits(page);
  await page.locator('.times .time').first().click();
  await fillPerson(page);
  await page.locator('button.primary').click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
  const [appointment] = await stored('Appointment', `slot=Slot/${slot.id}`);
  expect(appointment?.extension).toContainEqual(kind('private'));
});
