import '../../config.ts';
import { expect, it } from '@jest/globals';
import type { Encounter } from '@medplum/fhirtypes';
import { handler } from '../../../../bots/booking/tag-encounter.ts';
import { shareEncounter } from '../../../../bots/lib/booking/encounter-owner.ts';
import { aPortal, booked, eventOf, meanwhile, tagsOf, writes } from '../../booking/fixtures.ts';
import { withMedplum } from '../../medplum.ts';

const medplum = withMedplum();

/** An encounter of appointments of one patient, each of a portal of its own. */
async function setting(appointments = 1, more: Partial<Encounter> = {}) {
  const portal = await aPortal(medplum());
  const first = await booked(medplum(), portal);
  const other = await aPortal(medplum());
  const all = [first, ...(appointments > 1 ? [await booked(medplum(), other, { patient: first.patient })] : [])];
  const encounter = await medplum().create<Encounter>({
    resourceType: 'Encounter',
    status: 'planned',
    class: { code: 'AMB' },
    subject: { reference: `Patient/${first.patient.id}` },
    appointment: all.map(({ appointment }) => ({ reference: `Appointment/${appointment.id}` })),
    ...more,
  });
  return { portal, other, encounter };
}

const share = (id: string) => shareEncounter(medplum().medplum, id);

const tags = async ({ id }: Encounter) => (await medplum().read<Encounter>(`Encounter/${id}`))?.meta?.tag;

it('an encounter is shown to the portals whose appointments led to it', async () => {
  const { encounter, portal, other } = await setting(2);
  await handler(medplum().medplum, eventOf<Encounter>(encounter));
  const owners = [...tagsOf(portal).tag, ...tagsOf(other).tag];
  expect(await tags(encounter)).toHaveLength(2);
  expect(await tags(encounter)).toEqual(expect.arrayContaining(owners));
  await share(encounter.id);
});

it('one without appointments is shown to nobody', async () => {
  const portal = await aPortal(medplum());
  const { encounter } = await setting(1, { appointment: [], meta: tagsOf(portal) });
  await share(encounter.id);
  expect(await tags(encounter)).toBeUndefined();
});

it('one that somebody changes meanwhile is decided about again', async () => {
  const { encounter, portal } = await setting();
  meanwhile(medplum(), writes, () => medplum().change(encounter, { status: 'arrived' }));
  await share(encounter.id);
  expect(await medplum().read(`Encounter/${encounter.id}`)).toMatchObject({ status: 'arrived', meta: tagsOf(portal) });
});
