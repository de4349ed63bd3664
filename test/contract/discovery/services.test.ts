import { expect, it } from '@jest/globals';
import { emptyClosedDays } from '../../../core/calendar/change/closed-days-list.ts';
import { succeeded } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';

it('the list of closed days is not among the services, even if asked for', async () => {
  const name = `Service ${Date.now()}`;
  const list = { ...emptyClosedDays(config), name };
  const service = { resourceType: 'HealthcareService', active: false, name };
  const [stored, inactive] = [
    succeeded('HealthcareService', await medplum('admin', 'POST', '/HealthcareService', { body: list })),
    succeeded('HealthcareService', await medplum('admin', 'POST', '/HealthcareService', { body: service })),
  ];
  for (const query of [`name=${name}`, `_id=${stored.id},${inactive.id}`, `active=false&name=${name}`]) {
    const found = resourceIn('Bundle', await request('portal-a', 'GET', `/HealthcareService?${query}`));
    expect([found.total, found.entry?.map(({ resource }) => resource?.id)]).toEqual([1, [inactive.id]]);
  }
  await medplum('admin', 'DELETE', `/HealthcareService/${stored.id}`);
});
