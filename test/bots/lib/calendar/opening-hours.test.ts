import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Bundle, HealthcareService, Reference, Resource, Schedule } from '@medplum/fhirtypes';
import { readOpeningHours, readOpeningHoursOf } from '../../../../bots/lib/calendar/opening-hours.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import {
  allServices,
  askedFor,
  closedOn,
  date,
  offering,
  type Stored,
  visit,
  withCalendars,
} from '../../calendar/fixtures.ts';

const medplum = withCalendars();

const read = ({ id }: Stored<Schedule>) => readOpeningHours(medplum().medplum, id);

/** The ids of the services that are published. */
async function servicesOf(schedule: Stored<Schedule>): Promise<string[] | undefined> {
  const hours = await read(schedule);
  return hours?.publishing.kind === 'on' ? hours.publishing.calendars.map(({ service }) => service.id) : undefined;
}

/** What changes with everything that opening hours are made of. */
const inputsOf = async (schedule: Stored<Schedule>) => (await read(schedule))?.inputs;

describe('opening hours', () => {
  it('are those of the services that a Schedule names', async () => {
    const { schedule, service } = await medplum().calendar();
    await medplum().create(visit());
    expect(await servicesOf(schedule)).toEqual([service.id]);
    expect((await read(schedule))?.schedule).toMatchObject({ id: schedule.id, actor: schedule.actor });
  });

  it('are those of all services if a Schedule says so, except for closed days', async () => {
    const services = [await medplum().create(visit()), await medplum().create(visit())];
    await medplum().create({ ...visit(), ...closedOn(date(1)) });
    const schedule = await medplum().schedule({ serviceType: [allServices] });
    expect((await servicesOf(schedule))?.sort()).toEqual(services.map(({ id }) => id).sort());
  });

  it('do not exist without the Schedule, and then nothing else is asked for', async () => {
    expect(await readOpeningHours(medplum().medplum, 'absent')).toBeUndefined();
    expect(medplum().asked.map(({ entries }) => entries)).toEqual([['GET Schedule?_id=absent&_count=1000']]);
  });

  it('are two reads', async () => {
    const { schedule, service } = await medplum().calendar();
    await read(schedule);
    const [, second] = medplum().asked;
    expect(medplum().asked).toHaveLength(2);
    expect(second?.entries).toEqual([
      expect.stringMatching(/^GET HealthcareService\?identifier=.*LocalClosedDays%7C&_count=1000$/),
      `GET Practitioner?_id=${medplum().practitioner.id}&_count=1000`,
      `GET HealthcareService?_id=${service.id}&_count=1000`,
    ]);
  });

  it('without services need none of them', async () => {
    const schedule = await medplum().schedule();
    expect((await read(schedule))?.publishing).toEqual({ kind: 'off', reason: 'no-service' });
    expect(askedFor(medplum(), 'GET HealthcareService')).toHaveLength(1);
  });
});

describe('the actor of a Schedule', () => {
  const actors: readonly Resource[] = [
    { resourceType: 'Device' },
    { resourceType: 'HealthcareService' },
    { resourceType: 'Location' },
    { resourceType: 'Practitioner' },
    { resourceType: 'PractitionerRole' },
  ];

  it.each(actors)('can be a $resourceType', async (actor) => {
    const stored = await medplum().create(actor);
    const reference = { reference: `${stored.resourceType}/${stored.id}` } as Schedule['actor'][number];
    const { schedule, service } = await medplum().calendar(visit(), { actor: [reference] });
    expect(await servicesOf(schedule)).toEqual([service.id]);
    expect(askedFor(medplum(), `GET ${actor.resourceType}?_id=${stored.id}`)).toHaveLength(1);
  });

  it('can be the service itself', async () => {
    const service = await medplum().create(visit());
    const actor = { reference: `HealthcareService/${service.id}` } as Reference<HealthcareService>;
    const schedule = await medplum().schedule({ actor: [actor], serviceType: [offering(service)] });
    expect(await servicesOf(schedule)).toEqual([service.id]);
  });

  it.each(['Patient/p1', 'Practitioner/absent', '#contained'])('is none if it is %s', async (reference) => {
    const actor = [{ reference }] as Schedule['actor'];
    const { schedule } = await medplum().calendar(visit(), { actor });
    expect((await read(schedule))?.publishing).toMatchObject({
      kind: 'kept',
      problems: [{ code: 'actor-not-single' }],
    });
    expect(askedFor(medplum(), 'GET Patient')).toEqual([]);
  });
});

describe('what opening hours are made of changes', () => {
  it.each<[string, (given: { schedule: Stored<Schedule>; service: Stored<HealthcareService> }) => Promise<unknown>]>([
    ['with the Schedule', ({ schedule }) => medplum().change(schedule, { comment: 'New' })],
    ['with the service', ({ service }) => medplum().change(service, { comment: 'New' })],
    ['with the actor', () => medplum().change(medplum().practitioner, { gender: 'female' })],
    ['with closed days', () => medplum().create(closedOn(date(1)))],
  ])('%s', async (_, change) => {
    const calendar = await medplum().calendar();
    const before = await inputsOf(calendar.schedule);
    await change(calendar);
    expect(await inputsOf(calendar.schedule)).not.toBe(before);
  });

  it('not with services of others, nor with Slots', async () => {
    const { schedule } = await medplum().calendar();
    const before = await inputsOf(schedule);
    expect(before).toMatch(/^[\w-]{22}$/);
    await medplum().create(visit());
    await medplum().slot(schedule, 'busy', '09:00', '10:00');
    expect(await inputsOf(schedule)).toBe(before);
  });

  it('not with the order in which its services are found', async () => {
    const services = [await medplum().create(visit()), await medplum().create(visit())] as const;
    const schedule = await medplum().schedule({ serviceType: services.map(offering) });
    const before = await inputsOf(schedule);
    medplum().interfere(async ({ bundle }) => {
      const { status, body } = await medplum().fhir<Bundle>('POST', '', bundle);
      const reversed = body.entry?.map(({ resource, ...rest }) =>
        isResource(resource, 'Bundle')
          ? { ...rest, resource: { ...resource, entry: resource.entry?.reverse() } }
          : rest,
      );
      return { status, body: { ...body, entry: reversed } };
    });
    expect(await inputsOf(schedule)).toBe(before);
  });
});

describe('opening hours of several Schedules', () => {
  it('are one read, in the order of the Schedules', async () => {
    const [first, second] = [await medplum().calendar(), await medplum().calendar()];
    const found = await readOpeningHoursOf(medplum().medplum, [second.schedule, first.schedule]);
    expect(found.map(({ schedule }) => schedule.id)).toEqual([second.schedule.id, first.schedule.id]);
    expect(
      found.map(({ publishing }) => publishing.kind === 'on' && publishing.calendars.map(({ service }) => service.id)),
    ).toEqual([[second.service.id], [first.service.id]]);
    expect(new Set(found.map(({ inputs }) => inputs)).size).toBe(2);
    expect(medplum().asked).toHaveLength(1);
    expect(askedFor(medplum(), 'GET Practitioner')).toEqual([
      `GET Practitioner?_id=${medplum().practitioner.id}&_count=1000`,
    ]);
  });

  it('are of all services for those that say so, and of named ones for others', async () => {
    const { schedule, service } = await medplum().calendar();
    const other = await medplum().create(visit());
    const all = await medplum().schedule({ serviceType: [allServices] });
    const found = await readOpeningHoursOf(medplum().medplum, [all, schedule]);
    expect(
      found.map(
        ({ publishing }) => publishing.kind === 'on' && publishing.calendars.map((one) => one.service.id).sort(),
      ),
    ).toEqual([[service.id, other.id].sort(), [service.id]]);
  });

  it('leave out what is not stored, and what has nobody', async () => {
    const { schedule } = await medplum().calendar();
    const { id, ...unstored } = schedule;
    const found = await readOpeningHoursOf(medplum().medplum, [
      unstored,
      { ...schedule, actor: [] },
      { ...schedule, actor: [{}] },
    ]);
    expect(found.map(({ publishing }) => publishing.kind)).toEqual(['kept', 'kept']);
    expect(found.map((hours) => hours.schedule.id)).toEqual([id, id]);
  });

  it('name the closed days once', async () => {
    await medplum().create(closedOn(date(), date(2)));
    const { schedule } = await medplum().calendar();
    expect((await read(schedule))?.closedDays).toMatchObject([{ description: 'Holidays' }]);
  });
});
