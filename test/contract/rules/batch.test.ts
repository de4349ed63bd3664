import { describe, expect, it } from '@jest/globals';
import type { Bundle, BundleEntry } from '@medplum/fhirtypes';
import { request, resourceIn } from '../http.ts';
import { base, type Role } from '../installation.ts';
import { aBooking } from '../patch/fixtures.ts';

const reading = (...urls: string[]) => urls.map((url): BundleEntry => ({ request: { method: 'GET', url } }));

const send = (entry: unknown, role: Role = 'portal-a', type: unknown = 'batch') =>
  request(role, 'POST', '/', { body: { resourceType: 'Bundle', type, entry } });

async function answersTo(entry: unknown, role: Role = 'portal-a'): Promise<BundleEntry[]> {
  const answer = await send(entry, role);
  const bundle: Bundle = resourceIn('Bundle', answer);
  expect([answer.status, bundle.type]).toEqual([200, 'batch-response']);
  return bundle.entry ?? [];
}

const statusesOf = (entries: readonly BundleEntry[]) => entries.map(({ response }) => response?.status);

describe('a batch of reads', () => {
  it('is answered entry by entry, as each would be by itself', async () => {
    const { id, booked, slot } = await aBooking();
    const urls = [
      `Appointment/${id}`,
      `/Appointment?_id=${id}`,
      `${base}/Slot/${slot.id}`,
      `Appointment/${id}/_history`,
      `Appointment/${id}/_history/${booked.meta?.versionId}`,
      'metadata',
    ];
    const answers = await answersTo(reading(...urls));
    expect(statusesOf(answers)).toEqual(urls.map(() => '200'));
    expect(answers[0]).toEqual({
      resource: booked,
      response: { status: '200', etag: `W/"${booked.meta?.versionId}"`, lastModified: expect.any(String) },
    });
    for (const [index, url] of urls.slice(1).entries()) {
      const alone = await request('portal-a', 'GET', `/${url.replace(`${base}/`, '').replace(/^\//, '')}`);
      expect(answers[index + 1]?.resource).toEqual(alone.body);
    }
  });

  it("shows nothing of another requestor's", async () => {
    const { id, booked, patient } = await aBooking();
    const urls = [
      `Appointment/${id}`,
      `Appointment/${id}/_history`,
      `Appointment/${id}/_history/${booked.meta?.versionId}`,
      `Patient/${patient.id}`,
      `Patient?_id=${patient.id}`,
    ];
    const answers = await answersTo(reading(...urls), 'portal-b');
    expect(statusesOf(answers)).toEqual(['404', '404', '404', '404', '200']);
    expect(answers[4]?.resource).toMatchObject({ total: 0 });
    expect(JSON.stringify(answers)).not.toContain(patient.identifier?.[0]?.value);
  });
});
