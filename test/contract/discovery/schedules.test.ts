import { expect, it } from '@jest/globals';
import { aSchedule, succeeded } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';

async function find(query: string): Promise<(string | undefined)[]> {
  const answer = await request('portal-a', 'GET', `/Schedule${query}`);
  expect(answer.status).toBe(200);
  return (resourceIn('Bundle', answer).entry ?? []).map(({ resource }) => resource?.id);
}

const aPractitioner = async () =>
  succeeded(
    'Practitioner',
    await medplum('admin', 'POST', '/Practitioner', { body: { resourceType: 'Practitioner' } }),
  );

it('a Schedule that does not say whether it is active is open for booking; an inactive one is not', async () => {
  const practitioner = await aPractitioner();
  const actor = [{ reference: `Practitioner/${practitioner.id}` }];
  const unsaid = await aSchedule({ actor, active: undefined });
  await aSchedule({ actor, active: false });
  expect(await find(`?actor=Practitioner/${practitioner.id}`)).toEqual([unsaid.id]);
});
