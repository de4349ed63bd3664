/** One field finds everybody, and from the person's page one books, moves and cancels: without a mouse. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import { rowCoding } from '../../../../core/rows/row.ts';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { aService, halfHours, morning, origin } from '../../../../test/browser/clinic.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { medplum } from '../../../../test/contract/http.ts';
import { config } from '../../../../test/contract/installation.ts';
import { bookedBy, calendarOf, visitDesk } from './desk.ts';

/** Types faster than anybody can, however slow the machine is. */
const typeAtOnce = (field: Locator, text: string) =>
  field.evaluate((input, typed) => {
    const value = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
    for (let length = 1; length <= typed.length; length++) {
      value?.set?.call(input, typed.slice(0, length));
      input.dispatchEvent(new Event('input', { bubbles: true }));
    }
  }, text);

/** Opens the field, types, and takes the first that is found, before it is. */
async function find(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+k');
  const field = page.getByRole('combobox', { name: 'Name, date of birth or telephone' });
  await expect(field).toBeFocused();
  await page.keyboard.type(text, { delay: 20 });
  await page.keyboard.press('Enter');
  await expect(field).toHaveCount(0);
}

test('a person is found in one field, with what comes, what was and what was cancelled', async ({ page }) => {
  test.slow();
  const family = `Grün${Date.now().toString(36).replace(/\d/g, 'q')}`;
  const service = await aService({ starts: halfHours(morning(6), 4) });
  const coming = await bookedBy('portal-a', service, 0, family);
  const reference = coming.participant.find(({ actor }) => actor?.reference?.startsWith('Patient/'))?.actor?.reference;
  const past = (status: string, hours: number) => ({
    ...{ resourceType: 'Appointment', status, comment: `Was ${status}` },
    start: new Date(Date.now() - hours * 3_600_000).toISOString(),
    end: new Date(Date.now() - hours * 3_600_000 + 600_000).toISOString(),
    participant: [{ actor: { reference }, status: 'accepted' }],
  });
  // Somebody who was taken off the waiting list has no cancelled appointment.
  const { start: _, end: __, ...waited } = past('cancelled', 70);
  const left = { ...waited, comment: 'Waited', requestedPeriod: [{ start: '2027-01-01' }] };
  for (const body of [past('fulfilled', 50), past('cancelled', 70), left]) {
    expect((await medplum('front-desk', 'POST', '/Appointment', { body })).status).toBe(201);
  }
  const sent = {
    ...{ resourceType: 'Communication', status: 'not-done', topic: { text: 'reminder' }, subject: { reference } },
    category: [{ coding: [rowCoding('message', config)] }],
    statusReason: { text: 'No such mailbox' },
  };
  expect((await medplum('admin', 'POST', '/Communication', { body: sent })).status).toBe(201);
  // Of what is typed at once, only the last is asked for.
  let asked = 0;
  await page.route(/Patient\/_search/, async (route) => {
    asked += 1;
    await route.continue();
  });
  await visitDesk(page, `${origin}/front-desk/notifications`);
  await page.keyboard.press('Control+k');
  await expectAccessible(page);
  await typeAtOnce(page.getByRole('combobox', { name: 'Name, date of birth or telephone' }), family);
  await expect(page.getByRole('option', { name: new RegExp(family) })).toBeVisible();
  expect(asked).toBe(1);
  await page.keyboard.press('Escape');
  await find(page, family.replace('ü', 'ue'));
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(`Kim ${family}`);
  await expect(page.locator('.reach')).toContainText('17 May 1990');
  await expect(page.getByRole('region', { name: 'Coming (1)' })).toContainText('09:00–09:30');
  await expect(page.getByRole('region', { name: 'Coming (1)' })).toContainText('Dr. Mira Lindner');
  await expect(page.getByRole('region', { name: 'Past (1)' })).toContainText('Was fulfilled');
  await expect(page.getByRole('region', { name: 'Cancelled (1)' })).toContainText('Was cancelled');
  await expect(page.getByRole('region', { name: 'Cancelled (1)' }).getByText('cancelled', { exact: true })).toHaveCount(
    0,
  );
  await expect(page.getByRole('region', { name: 'Messages (1)' })).toContainText(
    'Reminder · has not arrived · No such mailbox',
  );
  await expectAccessible(page);
  await page.getByRole('button', { name: /09:00–09:30/ }).press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Move' }).press('Enter');
  await expect(page.getByText(`Moving: Kim ${family}`)).toBeVisible();
  const id = coming.id ?? '';
  await find(page, `${origin}/fhir/R4/Appointment/${id}`);
  await expect(page.getByRole('dialog').getByRole('heading').first()).toContainText(family);
  await page.keyboard.press('Escape');
  await find(page, `${family} 17.5.90`);
  await page.getByRole('button', { name: 'Book an appointment' }).press('Enter');
  await expect(page.getByText(`Booking for Kim ${family}`)).toBeVisible();
  const day = (coming.start ?? '').slice(0, 10);
  await page.goto(`${page.url()}&date=${day}&calendars=${service.schedule.id}`);
  await page.getByRole('button', { name: '10:30–11:00, free' }).press('Enter');
  await expect(page.getByRole('radio', { name: new RegExp(family) })).toBeChecked();
  await page.getByRole('dialog').getByRole('button', { name: 'Book', exact: true }).press('Enter');
  await expect(page.getByText('Booked.')).toBeVisible();
  expect(await stored('Appointment', `patient=${reference}&status=booked`)).toHaveLength(2);
});

test('inactive records hide nobody, and a list that is not whole says so', async ({ page }) => {
  const family = `Viel${Date.now().toString(36).replace(/\d/g, 'q')}`;
  const make = async (count: number, active: boolean): Promise<void> => {
    const resource = { resourceType: 'Patient', active, name: [{ family }] };
    const entry = Array.from({ length: count }, () => ({ request: { method: 'POST', url: 'Patient' }, resource }));
    const made = await medplum('admin', 'POST', '', { body: { resourceType: 'Bundle', type: 'batch', entry } });
    expect(made.text.match(/"201"/g)).toHaveLength(count);
  };
  await make(12, false);
  await make(1, true);
  await visitDesk(page, `${origin}/front-desk/notifications`);
  await page.keyboard.press('Control+k');
  const field = page.getByRole('combobox', { name: 'Name, date of birth or telephone' });
  await field.fill(family);
  await expect(page.locator('.found')).toHaveText('1 found');
  await make(12, true);
  await field.fill(family.slice(0, -1));
  await expect(page.locator('.found')).toHaveText('More than 12 found: add the date of birth');
});

test('names are found without their marks, people by date, year, address and last digits, children with their parents', async ({
  page,
}) => {
  test.slow();
  const mark = Date.now().toString(36).replace(/\d/g, 'q');
  const digits = String(Date.now()).slice(-6);
  const make = async (given: string, family: string, more: object): Promise<string> => {
    const body = { resourceType: 'Patient', active: true, name: [{ family, given: [given] }], ...more };
    const made = await medplum('front-desk', 'POST', '/Patient', { body });
    expect(made.status).toBe(201);
    return String(Reflect.get(Object(made.body), 'id'));
  };
  await make('Ali', `Yılmaz${mark}`, {
    birthDate: '1979-06-14',
    telecom: [{ system: 'phone', value: `0170 9${digits}` }],
  });
  await make('Ana', `Lefèvre${mark}`, { telecom: [{ system: 'email', value: `ana.${mark}@example.org` }] });
  await make('Nils', `Sørensen${mark}`, {});
  const child = await make('Ida', `Dvořák${mark}`, { birthDate: '2020-02-01' });
  const parent = {
    ...{ resourceType: 'RelatedPerson', active: true, patient: { reference: `Patient/${child}` } },
    ...{ name: [{ given: ['Paula'], family: 'Groß' }], telecom: [{ system: 'phone', value: `0151 7${digits}` }] },
  };
  expect((await medplum('front-desk', 'POST', '/RelatedPerson', { body: parent })).status).toBe(201);
  await visitDesk(page, `${origin}/front-desk/notifications`);
  await page.keyboard.press('Control+k');
  const field = page.getByRole('combobox', { name: 'Name, date of birth or telephone' });
  for (const [text, name] of [
    [`yilmaz${mark}`, `Ali Yılmaz${mark}`],
    [`lefevre${mark}`, `Ana Lefèvre${mark}`],
    [`sorensen${mark}`, `Nils Sørensen${mark}`],
    [`yilmaz${mark} 14061979`, `Ali Yılmaz${mark}`],
    [`yilmaz${mark} 1979`, `Ali Yılmaz${mark}`],
    [`ana.${mark}@`, `Ana Lefèvre${mark}`],
    [digits, `Ali Yılmaz${mark}`],
    [`0151 7${digits}`, `Ida Dvořák${mark}`],
    [`dvorak${mark}`, `Ida Dvořák${mark}`],
  ] as const) {
    await field.fill(text);
    await expect(page.getByRole('option', { name }), text).toBeVisible();
  }
  await field.fill('1979');
  await expect(page.locator('.found')).toHaveText(/found/);
  await field.fill(`dvorak${mark}`);
  await expect(page.locator('.found')).toHaveText('1 found');
  await expect(page.getByRole('option', { name: `with Paula Groß, 0151 7${digits}` })).toBeVisible();
  await page.keyboard.press('Enter');
  await expect(page.locator('.reach')).toContainText(`Parent or relative: Paula Groß 0151 7${digits}`);
  await page.getByRole('button', { name: 'Change telephone and e-mail' }).click();
  await page.getByRole('textbox', { name: 'Telephone' }).fill('030 23125 000');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.locator('.reach')).toContainText('030 23125 000');
  expect((await stored('Patient', `_id=${child}`))[0]?.telecom).toMatchObject([{ value: '030 23125 000' }]);

  // At a free time: Enter takes who was found, and who is typed as new is known already.
  const service = await aService({ starts: halfHours(morning(8), 2) });
  await page.goto(calendarOf(service));
  await page.getByRole('button', { name: '09:00–09:30, free' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name, date of birth or telephone').fill(`yilmaz${mark}`);
  const chosen = dialog.getByRole('radio', { name: /Yılmaz/ });
  await expect(chosen).not.toBeChecked();
  await dialog.getByLabel('Name, date of birth or telephone').press('Enter');
  await expect(chosen).toBeChecked();
  await dialog.getByLabel('Name, date of birth or telephone').fill(`Ali Yilmaz${mark}s 14.6.79`);
  await dialog.getByText('New patient').click();
  await expect(dialog.getByLabel('First names')).toHaveValue('Ali');
  await expect(dialog.getByLabel('Date of birth')).toHaveValue('1979-06-14');
  await dialog.getByLabel('Family name').fill(`Yilmaz${mark}`);
  await expect(dialog.getByText(`There is already: Ali Yılmaz${mark}, 14 Jun 1979`)).toBeVisible();
  await dialog.getByRole('button', { name: 'Book', exact: true }).click();
  await expect(dialog.getByRole('alert')).toContainText('has a record already');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Take this record' }).click();
  await dialog.getByRole('button', { name: 'Book', exact: true }).click();
  await expect(page.getByText('Booked.')).toBeVisible();
  expect(await stored('Patient', `name=Yılmaz${mark},Yilmaz${mark}`)).toHaveLength(1);
});
