import { expect, it, test } from '@jest/globals';
import type { Extension, HealthcareService } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { until } from '../../lib/until.ts';
import { stored } from '../fixtures.ts';
import { issuesOf, medplum } from '../http.ts';
import { config } from '../installation.ts';
import { aCalendar, aService, change, date, freeTimes, never, open, untilFree } from './fixtures.ts';

const morning = ['09:00-09:30', '09:30-10:00', '10:00-10:30', '10:30-11:00'];

const minutes = (url: string, value: number, unit = 'min'): Extension => ({ url, valueDuration: { value, unit } });

/** The service with another scheduling parameter. */
function withParameter({ extension, ...rest }: HealthcareService, parameter: Extension): HealthcareService {
  const [parameters] = extension ?? [];
  const others = (parameters?.extension ?? []).filter(({ url }) => url !== parameter.url);
  return { ...rest, extension: [{ url: parameters?.url ?? '', extension: [...others, parameter] }] };
}

const during = { start: '2027-05-02', end: '2027-05-01' };
const hours = { daysOfWeek: ['mon' as const], availableStartTime: '09:00:00', availableEndTime: '10:00:00' };

test.each<[string, (service: HealthcareService) => HealthcareService, string]>([
  ['an unknown time zone', (one) => withParameter(one, { url: 'timezone', valueCode: 'Europe/Atlantis' }), 'timezone'],
  ['a duration of 0', (one) => withParameter(one, minutes('duration', 0)), 'duration'],
  ['a duration of 100 years', (one) => withParameter(one, minutes('duration', 5200, 'wk')), 'duration'],
  ['an interval that does not divide a day', (one) => withParameter(one, minutes('alignmentInterval', 50)), 'Interval'],
  [
    'a closure that ends before it starts',
    (one) => ({ ...one, notAvailable: [{ description: 'x', during }] }),
    'during',
  ],
  [
    'hours that are all day and have times',
    (one) => ({ ...one, availableTime: [{ ...hours, allDay: true }] }),
    'availableTime',
  ],
  [
    'hours without an end',
    (one) => ({ ...one, availableTime: [{ ...hours, availableEndTime: undefined }] }),
    'availableTime',
  ],
])('%s is refused where it is saved, and everything stays', async (_, spoilt, expression) => {
  const service = await aService();
  const schedule = await aCalendar(service);
  await untilFree(schedule, morning);
  const answer = await medplum('front-desk', 'PUT', `/HealthcareService/${service.id}`, { body: spoilt(service) });
  expect([answer.status, issuesOf(answer)]).toEqual([
    422,
    [expect.stringMatching(new RegExp(`^opening-hours-invalid HealthcareService.*${expression}`))],
  ]);
  expect(await stored('HealthcareService', `_id=${service.id}`)).toEqual([
    expect.objectContaining({ availableTime: service.availableTime, extension: service.extension }),
  ]);
  expect(await freeTimes(schedule)).toEqual(morning);
});

it('a planning horizon that ends before it starts is refused', async () => {
  const schedule = await aCalendar(await aService(never));
  const body = { ...schedule, planningHorizon: { start: '2027-05-02', end: '2027-05-01' } };
  const answer = await medplum('front-desk', 'PUT', `/Schedule/${schedule.id}`, { body });
  expect([answer.status, issuesOf(answer)]).toEqual([422, ['opening-hours-invalid Schedule.planningHorizon']]);
});

it('a deleted service leaves its Schedules as they are, a Task gives the reason, and others continue', async () => {
  const [service, other] = [await aService(), await aService()];
  const [schedule, beside] = [await aCalendar(service), await aCalendar(other)];
  await Promise.all([untilFree(schedule, morning), untilFree(beside, morning)]);
  expect((await medplum('front-desk', 'DELETE', `/HealthcareService/${service.id}`)).status).toBe(200);
  const query = `focus=Schedule/${schedule.id}&code=${artefactUri(config, 'LocalTask')}|publish&status=failed`;
  const [task] = await until(
    () => stored('Task', query),
    (found) => found.length > 0,
    30_000,
  );
  expect(task?.statusReason?.text).toContain(`HealthcareService/${service.id} does not exist`);
  await change('HealthcareService', { ...other, availableTime: open('10:00', '11:00') });
  await untilFree(beside, morning.slice(2));
  expect(await freeTimes(schedule)).toEqual(morning);
  expect(schedule.planningHorizon).toEqual({ start: date, end: date });
});
