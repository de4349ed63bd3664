import { describe, expect, it } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import { isResource } from '../../../core/fhir/resource.ts';
import { aSchedule, aSlot, simultaneously } from '../fixtures.ts';
import { request, resourceIn } from '../http.ts';
import { base } from '../installation.ts';

describe('any search', () => {
  it('gives pages whose links lead back through the service', async () => {
    const schedule = await aSchedule();
    const slots = await simultaneously(5, (index) => aSlot(schedule, index * 30, index * 30 + 30));
    const seen: (string | undefined)[] = [];
    let path: string | undefined = `/Slot?schedule=Schedule/${schedule.id}&_count=2&_sort=start`;
    for (let page = 0; path && page < 5; page++) {
      const bundle: Bundle = resourceIn('Bundle', await request('portal-a', 'GET', path));
      seen.push(...(bundle.entry ?? []).map(({ resource }) => resource?.id));
      const next: string | undefined = bundle.link?.find(({ relation }) => relation === 'next')?.url;
      expect(next ?? base).toMatch(new RegExp(`^${base}`));
      path = next?.slice(base.length);
    }
    expect(seen).toEqual(slots.map(({ id }) => id));
  });

  it('knows _id, _tag and _include', async () => {
    const tag = { system: 'urn:test', code: `tag-${Date.now()}` };
    const schedule = await aSchedule();
    const slot = await aSlot(schedule, 0, 30, { meta: { tag: [tag] } });
    const byId = await request('portal-a', 'GET', `/Slot?_id=${slot.id}&_include=Slot:schedule`);
    const types = (resourceIn('Bundle', byId).entry ?? []).map(({ resource }) => resource?.resourceType);
    expect(types.sort()).toEqual(['Schedule', 'Slot']);
    const byTag = await request('portal-a', 'GET', `/Slot?_tag=${tag.system}|${tag.code}`);
    const found = (resourceIn('Bundle', byTag).entry ?? []).map(
      ({ resource }) => isResource(resource, 'Slot') && resource.id,
    );
    expect(found).toEqual([slot.id]);
  });

  it.each(['/Slot/?_count=1', '/Slot?_count', '/Slot?_count=', '/Slot/?_count=1&status'])(
    'works with a slash before the query and with empty parameters: %s',
    async (path) => {
      const answer = await request('portal-a', 'GET', path);
      expect(answer.status).toBe(200);
      expect(resourceIn('Bundle', answer).type).toBe('searchset');
    },
  );
});
