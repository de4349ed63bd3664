import { expect, test } from '@playwright/test';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, fillPerson, halfHours, morning, visit } from '../../../../test/browser/clinic.ts';
import { stored } from '../../../../test/contract/fixtures.ts';

test('somebody books for a child: what was typed stays, and the clinic knows who has booked', async ({ page }) => {
  const service = await aService({ starts: halfHours(morning(9), 2) });
  await visit(page, service);
  await page.getByRole('button', { name: '09:00' }).click();
  await expect(page.locator('[name=ownGiven]')).toBeHidden();
  const filledIn = () =>
    page
      .locator('[name=given], [name=family], [name=birthDate]')
      .evaluateAll((all) => all.map((one) => one.getAttribute('autocomplete')));
  expect(await filledIn()).toEqual(['given-name', 'family-name', 'bday']);
  await page.getByRole('radio', { name: 'For my child' }).check();
  expect(await filledIn()).toEqual(['off', 'off', 'off']);
  await expect(page.locator('[name=ownGiven]')).toHaveAttribute('autocomplete', 'given-name');
  await fillPerson(page, 'Emil', 'Klein');
  await page.locator('button.primary').click();
  await expect(page.getByRole('alert')).toContainText('About you: First name');
  await expect(page.locator('.person legend').first()).toHaveText(/Your child/);
  await expect(page.locator('.person .for-own')).toBeHidden();
  await page.locator('[name=ownGiven]').fill('Paula');
  await page.locator('[name=ownFamily]').fill('Groß');
  await expectAccessible(page);
  await page.reload();
  await expect(page.getByRole('radio', { name: 'For my child' })).toBeChecked();
  expect(await filledIn()).toEqual(['off', 'off', 'off']);
  await expect(page.locator('[name=ownFamily]')).toHaveValue('Groß');
  await page.locator('button.primary').click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
  await expect(page.locator('#state')).toContainText('Emil Klein');

  const [appointment] = await stored('Appointment', `slot=Slot/${service.slots[0]?.id}`);
  const of = (type: string) =>
    appointment?.participant?.find(({ actor }) => actor?.reference?.startsWith(`${type}/`))?.actor?.reference ?? '';
  const [parent] = await stored('RelatedPerson', `_id=${of('RelatedPerson').split('/')[1]}`);
  expect(parent).toMatchObject({
    patient: { reference: of('Patient') },
    relationship: [{ coding: [{ code: 'PRN' }] }],
    name: [{ given: ['Paula'], family: 'Groß' }],
    telecom: [{ system: 'email', value: 'kim@example.org' }],
  });

  // Who books again chooses the child, and says nothing twice; or books for herself.
  await visit(page, service);
  await page.getByRole('button', { name: '09:30' }).click();
  await expect(page.getByRole('radio', { name: 'For me', exact: true })).toBeVisible();
  await page.getByRole('radio', { name: 'Emil Klein' }).check();
  await expect(page.locator('[name=given], [name=ownGiven]').filter({ visible: true })).toHaveCount(0);
  await page.locator('button.primary').click();
  await expect(page.locator('.state')).toHaveText('Confirmed');
});
