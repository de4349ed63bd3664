import { expect, it } from '@jest/globals';
import { aSchedule, aSlot, minutes } from '../fixtures.ts';
import { request, resourceIn } from '../http.ts';

it('free slots of a schedule, from a moment on', async () => {
  const schedule = await aSchedule();
  await aSlot(schedule, 0, 30);
  const later = await aSlot(schedule, 60, 90);
  const path = `/Slot?schedule=Schedule/${schedule.id}&status=free&start=ge${minutes(45)}`;
  const answer = await request('portal-a', 'GET', path);
  expect(answer.status).toBe(200);
  expect((resourceIn('Bundle', answer).entry ?? []).map(({ resource }) => resource?.id)).toEqual([later.id]);
});
