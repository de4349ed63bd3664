import { expect, it } from '@jest/globals';
import { aSchedule, aSlot, minutes, succeeded } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';

async function find(query: string): Promise<(string | undefined)[]> {
  const answer = await request('portal-a', 'GET', `/Slot${query}`);
  expect(answer.status).toBe(200);
  return (resourceIn('Bundle', answer).entry ?? []).map(({ resource }) => resource?.id);
}

it('free slots of a schedule, from a moment on', async () => {
  const schedule = await aSchedule();
  await aSlot(schedule, 0, 30);
  await aSlot(schedule, 30, 60, { status: 'busy' });
  const later = await aSlot(schedule, 60, 90);
  const query = `?schedule=Schedule/${schedule.id}&status=free`;
  expect(await find(query)).toHaveLength(2);
  expect(await find(`${query}&start=ge${minutes(45)}`)).toEqual([later.id]);
});

it('slots whose schedule belongs to a HealthcareService of a type', async () => {
  const code = `type-${Date.now()}`;
  const type = [{ coding: [{ system: 'urn:services', code }] }];
  const body = { resourceType: 'HealthcareService', name: 'CT', type };
  const service = succeeded('HealthcareService', await medplum('front-desk', 'POST', '/HealthcareService', { body }));
  const schedule = await aSchedule({ actor: [{ reference: `HealthcareService/${service.id}` }] });
  const slot = await aSlot(schedule, 0, 30);
  await aSlot(await aSchedule(), 0, 30);
  expect(await find(`?schedule.actor:HealthcareService.type=urn:services|${code}`)).toEqual([slot.id]);
  expect(await find(`?schedule.actor:HealthcareService.type=urn:services|${code}x`)).toEqual([]);
});
