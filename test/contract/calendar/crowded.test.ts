import { expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { scaled } from '../../lib/time-scale.ts';
import { eventually } from '../../lib/until.ts';
import { aClinic, aPatient, book, minutes, proposed, stored, succeeded } from '../fixtures.ts';
import { issuesOf, medplum, refusalOf, request, resourceIn } from '../http.ts';
import { aCalendar, aService, at, change, open, proposedAt } from './fixtures.ts';

/** How many of a search there are in all. */
async function count(query: string): Promise<number> {
  const path = `/Slot?${query}&_summary=count&_total=accurate`;
  return resourceIn('Bundle', await medplum('front-desk', 'GET', path)).total ?? 0;
}

const laneOf = ({ identifier }: Slot): string => identifier?.[0]?.value?.split('/').at(-1) ?? '';

it(
  'more Slots are at one time than Medplum finds at once: a booking sees all of them: the times that it excludes are gone with it',
  async () => {
    const service = await aService(open('00:00', '22:00'), 60);
    const [parameters] = service.extension ?? [];
    const others = parameters?.extension?.filter(({ url }) => url !== 'duration') ?? [];
    const many = [
      { url: 'duration', valueDuration: { value: 10, unit: 'h' } },
      { url: 'slotCapacity', valuePositiveInt: 95 },
    ];
    const long = await change('HealthcareService', {
      ...service,
      extension: [{ url: parameters?.url ?? '', extension: [...others, ...many] }],
    });
    const schedule = await aCalendar(long);
    const free = `schedule=Schedule/${schedule.id}&status=free`;
    // 13 times of ten hours each, all of which are at eleven o'clock, at 95 places.
    await eventually(() => count(free), scaled(120_000)).is((found) => found === 13 * 95);
    const all = [0, 1].map((page) =>
      request('portal-a', 'GET', `/Slot?${free}&_sort=-start&_count=700&_offset=${page * 700}`),
    );
    const slots = (await Promise.all(all)).flatMap((page) =>
      (resourceIn('Bundle', page).entry ?? []).flatMap(({ resource }) =>
        resource?.resourceType === 'Slot' ? [resource] : [],
      ),
    );
    const patient = await aPatient();
    for (const place of ['1', '48', '95']) {
      const ofPlace = slots.filter((slot) => laneOf(slot) === place);
      const [first, later] = ['06:00', '11:00'].map((time) => ofPlace.find(({ start }) => start === at(time)));
      if (!first || !later) {
        throw new Error(`Place ${place} has only ${ofPlace.length} slots.`);
      }
      succeeded('Appointment', await book(proposedAt(long, patient, '06:00', '16:00', [first])));
      const response = await book(proposedAt(long, await aPatient(), '11:00', '21:00', [later]));
      expect([place, response.status, ...issuesOf(response)]).toEqual([
        place,
        409,
        'slot-not-free Appointment.slot[0]',
      ]);
    }
  },
  scaled(240_000),
);

it('staff take time on a day that has very many free Slots before: a booking of this moment refuses it all the same', async () => {
  const { schedule, slot, patient } = await aClinic({}, { start: minutes(1_400), end: minutes(1_430) });
  const entry = Array.from({ length: 1_000 }, (_, index) => ({
    request: { method: 'POST', url: 'Slot' },
    resource: {
      resourceType: 'Slot',
      schedule: { reference: `Schedule/${schedule.id}` },
      status: 'free',
      start: minutes(index),
      end: minutes(index + 1),
    },
  }));
  for (let from = 0; from < entry.length; from += 250) {
    const body = { resourceType: 'Bundle', type: 'batch', entry: entry.slice(from, from + 250) };
    expect((await medplum('front-desk', 'POST', '', { body })).status).toBe(200);
  }
  succeeded('Appointment', await book(proposed(patient, [slot], { from: 1_400, to: 1_430 })));
  const made = {
    ...{ resourceType: 'Slot', schedule: slot.schedule, status: 'busy' },
    ...{ start: minutes(1_410), end: minutes(1_440) },
  };
  const fullUrl = 'urn:uuid:5b0e2d6a-3f0c-4f0e-9d6b-0a4b6a3d1c12';
  const participant = [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' }];
  const { start, end } = made;
  const appointment = {
    resourceType: 'Appointment',
    status: 'booked',
    start,
    end,
    slot: [{ reference: fullUrl }],
    participant,
  };
  const body = {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      { fullUrl, request: { method: 'POST', url: 'Slot' }, resource: made },
      { request: { method: 'POST', url: 'Appointment' }, resource: appointment },
    ],
  };
  const refused = await medplum('front-desk', 'POST', '', { body });
  expect(refusalOf(refused)).toEqual([400, expect.stringMatching(/^schedule-overbooked Appointment/)]);
  expect(await stored('Slot', `schedule=Schedule/${schedule.id}&status=busy`)).toHaveLength(1);
});
