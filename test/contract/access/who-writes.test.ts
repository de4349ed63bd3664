import { expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { aClinic, book, proposed } from '../fixtures.ts';
import { medplum, resourceIn } from '../http.ts';
import { config } from '../installation.ts';
import { cancellation, patch } from '../patch/fixtures.ts';

/** Who has written a slot: Medplum tells administrators, in its extended mode. */
async function authorOf(slotId: string | undefined): Promise<string> {
  const headers = { 'x-medplum': 'extended' };
  const { meta } = resourceIn('Slot', await medplum('admin', 'GET', `/Slot/${slotId}`, { headers }));
  return meta?.author?.reference ?? '';
}

it('a booking is written by the service, never by the portal: by a Bot, or by the client of the gateway', async () => {
  const { slot, patient } = await aClinic();
  const booked = resourceIn('Appointment', await book(proposed(patient, [slot])));
  const author = await authorOf(slot.id);
  const body = resourceIn(
    author.startsWith('Bot/') ? 'Bot' : 'ClientApplication',
    await medplum('admin', 'GET', `/${author}`),
  );
  const identifier = [{ system: artefactUri(config, 'LocalBot'), value: 'book' }];
  const byRuntime = {
    medplum: { resourceType: 'Bot', identifier },
    gateway: { resourceType: 'ClientApplication', name: 'Appointment booking: gateway' },
  };
  expect(body).toMatchObject(byRuntime[config.bots]);
  expect((await patch(booked.id ?? '', cancellation)).status).toBe(200);
  expect(resourceIn('Slot', await medplum('admin', 'GET', `/Slot/${slot.id}`)).status).toBe('free');
});
