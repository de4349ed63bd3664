/** What patients see of the clinic: staff change it beside the page that patients would see. */
import { deflateSync } from 'node:zlib';
import { expect, type Page, test } from '@playwright/test';
import { pictureKind } from '../../../../packages/web/picture-kind.ts';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { origin } from '../../../../test/browser/clinic.ts';
import { stored } from '../../../../test/contract/fixtures.ts';
import { medplum, resourceIn } from '../../../../test/contract/http.ts';
import { visitDesk } from './desk.ts';

const preview = (page: Page) => page.frameLocator('iframe.preview');

/** A picture that is larger than what is stored, drawn by the browser. */
async function drawn(page: Page, type: string): Promise<Buffer> {
  const url = await page.evaluate((kind) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 900, height: 600 });
    const context = canvas.getContext('2d');
    context?.fillRect(100, 100, 300, 300);
    return canvas.toDataURL(kind);
  }, type);
  return Buffer.from(url.split(',')[1] ?? '', 'base64');
}

test('the clinic’s own page follows what is typed, and holds nothing that could run', async ({ page }) => {
  const [before] = await stored('Organization', 'identifier=urn:appointment-booking:demo|clinic');
  const [practitioner] = await stored('Practitioner', 'identifier=urn:appointment-booking:demo|weber');
  try {
    await visitDesk(page, `${origin}/front-desk/clinic`);
    await expect(preview(page).getByRole('heading', { level: 1 })).toBeVisible();
    await page.getByLabel(/^Name/).fill('Praxis <b>am</b> See');
    await page.getByLabel('Telephone').fill('+49 30 23125 999');
    await page.getByLabel('Town').fill('Potsdam');
    await page.getByLabel('Address of the imprint').fill('javascript:alert(1)');
    await page.getByLabel('What to bring').fill('Your card, sober');
    await expect(preview(page).locator('header')).toContainText('Praxis <b>am</b> See');
    await expect(preview(page).locator('footer')).toContainText('Potsdam');
    await expect(preview(page).locator('footer')).toContainText('+49 30 23125 999');
    await expect(preview(page).locator('main')).toContainText('Your card, sober');
    await expect(preview(page).getByRole('link', { name: 'Imprint' })).toHaveCount(0);
    await expect(preview(page).locator('script')).toHaveCount(0);

    const choose = page.getByLabel('Logo').locator('visible=false').or(page.locator('input[type=file]')).first();
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
    await choose.setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: svg });
    await expect(page.getByRole('alert')).toContainText('no picture');
    const bomb = Buffer.from('iVBORw0KGgoAAAANSUhEUgAA//8AAP//CAYAAAA=', 'base64');
    await choose.setInputFiles({
      name: 'large.png',
      mimeType: 'image/png',
      buffer: Buffer.concat([bomb, deflateSync('')]),
    });
    await expect(page.getByRole('alert')).toContainText('no picture');
    await choose.setInputFiles({ name: 'logo.webp', mimeType: 'image/webp', buffer: await drawn(page, 'image/webp') });
    await expect(page.getByRole('alert')).toHaveCount(0);
    await expect(preview(page).locator('header img')).toBeVisible();
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Save for patients' }).click();
    await expect(page.getByText('Enter an address that begins with https://.')).toBeVisible();
    await page.getByLabel('Address of the imprint').fill('https://clinic.example/imprint');
    // Other tests read the name meanwhile.
    await page.getByLabel(/^Name/).fill(before?.name ?? '');
    await page.getByRole('button', { name: 'Save for patients' }).click();
    await expect(page.getByText('Saved. Patients see it')).toBeVisible();
    await expect
      .poll(async () => (await fetch(`${origin}/portal/`, { headers: { 'accept-language': 'en' } })).text())
      .toMatch(/<img src=[\s\S]*Potsdam[\s\S]*clinic\.example\/imprint/);
    const [after] = await stored('Organization', `_id=${before?.id}`);
    const logo = after?.extension?.[0]?.extension?.find(({ url }) => url === 'logo')?.valueAttachment;
    expect(logo?.contentType).toBe('image/png');
    expect(Buffer.from(logo?.data ?? '', 'base64').readUInt32BE(16)).toBe(512);

    await page.getByLabel('Of whom').selectOption({ label: 'Dr. Jonas Weber' });
    await page
      .locator('input[type=file]')
      .last()
      .setInputFiles({ name: 'me.jpg', mimeType: 'image/jpeg', buffer: await drawn(page, 'image/jpeg') });
    await page.getByRole('button', { name: 'Save the picture' }).click();
    await expect
      .poll(async () => (await stored('Practitioner', `_id=${practitioner?.id}`))[0]?.photo?.[0]?.contentType)
      .toBe('image/jpeg');

    // What Medplum's app uploads is a file beside the Practitioner, as large as the camera made it.
    const data = (await drawn(page, 'image/png')).toString('base64');
    const body = { resourceType: 'Binary', contentType: 'image/png', data };
    const { id } = resourceIn('Binary', await medplum('admin', 'POST', '/Binary', { body }));
    const uploaded = { ...practitioner, photo: [{ contentType: 'image/png', url: `Binary/${id}` }] };
    await medplum('front-desk', 'PUT', `/Practitioner/${practitioner?.id}`, { body: uploaded });
    await page.reload();
    await page.getByLabel('Of whom').selectOption({ label: 'Dr. Jonas Weber' });
    const own = page.getByRole('group', { name: 'Picture' });
    await expect(own).toContainText('uploaded in Medplum');
    await expect(own.getByRole('img')).toBeVisible();
    await page.getByRole('button', { name: 'Save the picture' }).click();
    await expect
      .poll(async () => {
        const [photo] = (await stored('Practitioner', `_id=${practitioner?.id}`))[0]?.photo ?? [];
        return pictureKind(Buffer.from(photo?.data ?? '', 'base64'));
      })
      .toEqual({ mediaType: 'image/jpeg', width: 320, height: 213 });
  } finally {
    for (const resource of [before, practitioner]) {
      await medplum('front-desk', 'PUT', `/${resource?.resourceType}/${resource?.id}`, { body: resource });
    }
  }
});
