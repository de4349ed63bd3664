import { describe, expect, it, jest } from '@jest/globals';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { scaled } from '../../lib/time-scale.ts';
import { eventually } from '../../lib/until.ts';
import { aPatient, book, proposed, stored, succeeded } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';
import { aCalendar, aService, aSlot, at, change, closedDate, freeTimes, never, open, untilFree } from './fixtures.ts';

// Closed days concern all calendars of the installation, and a test waits for several passes through them.
jest.setTimeout(scaled(240_000));

const morning = ['09:00-09:30', '09:30-10:00', '10:00-10:30', '10:30-11:00'];

describe('opening hours', () => {
  it('become free Slots that portals find', async () => {
    const service = await aService();
    const schedule = await aCalendar(service);
    await untilFree(schedule, morning);
    const found = resourceIn(
      'Bundle',
      await request('portal-a', 'GET', `/Slot?schedule=Schedule/${schedule.id}&status=free`),
    );
    expect(found.entry).toHaveLength(4);
  });

  it('change, and the Slots with them; what is booked stays', async () => {
    const service = await aService();
    const schedule = await aCalendar(service);
    await untilFree(schedule, morning);
    const [slot] = await stored('Slot', `schedule=Schedule/${schedule.id}&start=${at('09:30')}`);
    const appointment = {
      ...proposed(await aPatient(), []),
      serviceType: service.type,
      start: at('09:30'),
      end: at('10:00'),
    };
    const booked = await book({ ...appointment, slot: [{ reference: `Slot/${slot?.id}` }] });
    expect([booked.status, booked.text]).toEqual([201, expect.any(String)]);
    await change('HealthcareService', { ...service, availableTime: open('10:00', '11:30') });
    await untilFree(schedule, ['10:00-10:30', '10:30-11:00', '11:00-11:30']);
    expect(await stored('Slot', `schedule=Schedule/${schedule.id}&status=busy`)).toEqual([
      expect.objectContaining({ id: slot?.id, start: at('09:30'), end: at('10:00') }),
    ]);
  });

  it('are not published of a Schedule that is switched off', async () => {
    const schedule = await aCalendar(await aService());
    await untilFree(schedule, morning);
    const off = { url: artefactUri(config, 'LocalPublishing'), valueBoolean: false };
    await change('Schedule', { ...schedule, extension: [off] });
    await untilFree(schedule, []);
    await change('Schedule', { ...schedule, extension: [] });
    await untilFree(schedule, morning);
  });

  it('that are invalid leave the Slots as they are, and a Task gives the reason', async () => {
    const service = await aService();
    const schedule = await aCalendar(service);
    await untilFree(schedule, morning);
    const [parameters] = service.extension ?? [];
    const others = parameters?.extension?.filter(({ url }) => url !== 'duration');
    await change('HealthcareService', {
      ...service,
      extension: [{ url: parameters?.url ?? '', extension: others }],
    });
    const query = `focus=Schedule/${schedule.id}&code=${artefactUri(config, 'LocalTask')}|publish&status=failed`;
    const [task] = await eventually(() => stored('Task', query)).is((found) => found.length > 0);
    expect(task?.statusReason?.text).toContain('with a duration');
    expect(await freeTimes(schedule)).toEqual(morning);
  });
});

describe('taken time', () => {
  it('withdraws the Slots it overlaps, and gives them back', async () => {
    const schedule = await aCalendar(await aService());
    await untilFree(schedule, morning);
    const external = await aSlot(schedule, 'busy', '09:15', '09:45');
    await untilFree(schedule, morning.slice(2));
    await change('Slot', { ...external, start: at('10:15'), end: at('10:45') });
    await untilFree(schedule, morning.slice(0, 2));
    expect((await medplum('front-desk', 'DELETE', `/Slot/${external.id}`)).status).toBe(200);
    await untilFree(schedule, morning);
  });

  it('narrows a Slot made by hand, and gives it back', async () => {
    const schedule = await aCalendar(await aService(never));
    await aSlot(schedule, 'free', '14:00', '16:00');
    const external = await aSlot(schedule, 'busy-unavailable', '14:30', '15:00');
    await untilFree(schedule, ['14:00-14:30', '15:00-16:00']);
    expect((await medplum('front-desk', 'DELETE', `/Slot/${external.id}`)).status).toBe(200);
    await untilFree(schedule, ['14:00-16:00']);
  });

  it('is not what was on offer: two places at the same time stay two', async () => {
    const schedule = await aCalendar(await aService(never));
    const [one] = [await aSlot(schedule, 'free', '14:00', '14:30'), await aSlot(schedule, 'free', '14:00', '14:30')];
    await change('Slot', { ...one, status: 'busy' });
    const external = await aSlot(schedule, 'busy', '16:00', '16:30');
    const beside = await aSlot(schedule, 'free', '16:00', '17:00');
    await change('Slot', { ...external, comment: 'now' });
    await untilFree(schedule, ['14:00-14:30', '16:30-17:00']);
    expect(beside.status).toBe('free');
  });
});

it('closed days close every calendar and open it again', async () => {
  const horizon = { planningHorizon: { start: closedDate, end: closedDate } };
  const [schedule, other] = [await aCalendar(await aService(), horizon), await aCalendar(await aService(), horizon)];
  await untilFree(other, morning);
  await untilFree(schedule, morning);
  const days = succeeded(
    'HealthcareService',
    await medplum('front-desk', 'POST', '/HealthcareService', {
      body: {
        resourceType: 'HealthcareService',
        name: 'Closed days',
        active: false,
        identifier: [{ system: artefactUri(config, 'LocalClosedDays'), value: 'practice' }],
        notAvailable: [{ description: 'Day off', during: { start: closedDate, end: closedDate } }],
      },
    }),
  );
  await untilFree(schedule, []);
  await untilFree(other, []);
  expect(await stored('Slot', `schedule=Schedule/${schedule.id}&status=busy-unavailable`)).toEqual([
    expect.objectContaining({ start: `${closedDate}T00:00:00.000Z`, comment: 'Day off' }),
  ]);
  expect((await medplum('front-desk', 'DELETE', `/HealthcareService/${days.id}`)).status).toBe(200);
  await untilFree(schedule, morning);
  await untilFree(other, morning);
});
