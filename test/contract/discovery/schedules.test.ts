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

it('schedules open for booking are found; an inactive one is not', async () => {
  const practitioner = await aPractitioner();
  const actor = [{ reference: `Practitioner/${practitioner.id}` }];
  const open = await aSchedule({ actor });
  const unsaid = await aSchedule({ actor, active: undefined });
  await aSchedule({ actor, active: false });
  expect((await find(`?actor=Practitioner/${practitioner.id}`)).sort()).toEqual([open.id, unsaid.id].sort());
});

it('GET /Schedule gives them page by page', async () => {
  const answer = await request('portal-a', 'GET', '/Schedule');
  expect(answer.status).toBe(200);
  expect(answer.text).not.toContain('"active":false');
});

it('of one or more actors', async () => {
  const [one, two] = [await aPractitioner(), await aPractitioner()];
  const first = await aSchedule({ actor: [{ reference: `Practitioner/${one.id}` }] });
  const second = await aSchedule({ actor: [{ reference: `Practitioner/${two.id}` }] });
  expect(await find(`?actor=Practitioner/${one.id}`)).toEqual([first.id]);
  expect((await find(`?actor=Practitioner/${one.id},Practitioner/${two.id}`)).sort()).toEqual(
    [first.id, second.id].sort(),
  );
});
