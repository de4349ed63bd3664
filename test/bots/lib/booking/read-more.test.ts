import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Bundle, Patient, Slot, Task } from '@medplum/fhirtypes';
import { type ReadContext, readMore, readRole } from '../../../../bots/lib/booking/read-more.ts';
import type { Wanted } from '../../../../core/booking/book/knowledge.ts';
import { type Quota, quotaKey, quotaRow } from '../../../../core/booking/policy/quota.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import {
  aPatient,
  aPortal,
  aSchedule,
  aService,
  aSlot,
  at,
  booked,
  extension,
  inMinutes,
  only,
  refused,
  unavailable,
  writes,
} from '../../booking/fixtures.ts';
import { config } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';

const medplum = withMedplum();

const read = (wanted: Wanted, more: Partial<ReadContext> = {}) =>
  readMore(medplum().medplum, wanted, { now: Date.now(), authorization: 'Bearer admin', ...more });

const morning = { start: Date.parse(at('09:00')), end: Date.parse(at('09:30')) };

const nothing = {
  status: 200,
  body: { resourceType: 'Bundle', type: 'batch-response', entry: [{ response: { status: '500' } }] },
};

it('nothing is read if nothing is wanted', async () => {
  expect(await read({})).toEqual({});
  expect(medplum().asked).toEqual([]);
});

it('everything that is wanted is read at the same time', async () => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  medplum().interfere(async () => {
    if (medplum().asked.length === 3) {
      open();
    }
    await gate;
    return undefined;
  });
  const { role, tasks, patients } = await read({ role: true, tasks: ['a'], patients: ['b'] });
  expect([role, tasks, patients]).toEqual(['repository', [], new Map()]);
});

describe('fragments', () => {
  const fragments = (slot: Slot, rewritten: string[] = []) => ({ fragments: { origins: [slot.id ?? ''], rewritten } });

  it('are read with the rights of the Bot', async () => {
    const portal = await aPortal(medplum());
    const { slot, appointment } = await booked(medplum(), portal);
    const found = await read(fragments(slot), { authorization: portal.authorization });
    expect(found.fragments).toMatchObject({ slots: [{ id: slot.id }], origins: [slot.id] });
    expect(found.fragments?.uses).toEqual(new Map([[slot.id, 'confirmed']]));
    expect(medplum().asked).toMatchObject([{ authorization: 'Bearer admin' }]);
    expect(medplum().asked[0]?.entries[1]).toContain(encodeURIComponent(artefactUri(config, 'LocalSlotOrigin')));
    const without = await read(fragments(slot, [appointment.id ?? '']));
    expect(without.fragments?.uses).toEqual(new Map());
  });

  it.each([
    ['over and in the way', -1, morning, 1],
    ['over at another time', -1, { start: morning.end, end: morning.end + 1 }, 0],
    ['over, without a time that is wanted', -1, undefined, 0],
    ['not over', 9, morning, 0],
  ])('tell of holds that are %s', async (_, minutes, interval, count) => {
    const held = extension('LocalHeldUntil', { valueInstant: inMinutes(minutes) });
    const { slot, appointment } = await booked(medplum(), { id: 'portal' }, { status: 'proposed', extension: [held] });
    const found = await read(fragments(slot), { interval });
    expect(found.fragments?.expired?.map(({ id }) => id)).toEqual(count > 0 ? [appointment.id] : []);
    expect(found.fragments?.uses.size).toBe(1 - count);
  });

  it('do not count a hold without a time as over', async () => {
    const held = extension('LocalHeldUntil', { valueInstant: inMinutes(-1) });
    const nowhere: Partial<Appointment> = { status: 'proposed', extension: [held], start: undefined, end: undefined };
    const { slot } = await booked(medplum(), { id: 'portal' }, nowhere);
    const found = await read(fragments(slot), { interval: morning });
    expect(found.fragments?.expired).toEqual([]);
  });

  it.each([
    ['is lost', unavailable()],
    ['is refused', refused()],
    ['fails in part', nothing],
  ])('are unknown if the answer %s', async (_, answer) => {
    const { slot } = await booked(medplum(), { id: 'portal' });
    medplum().interfere(() => answer);
    await expect(read(fragments(slot))).rejects.toThrow('The fragments of slots could not be read.');
  });
});

describe('the role of a caller', () => {
  it.each([
    ['requestor', async () => (await aPortal(medplum())).authorization],
    ['repository', async () => 'Bearer admin'],
  ])('is %s', async (role, authorization) => {
    const given = await authorization();
    expect(await readRole(medplum().medplum, given)).toBe(role);
    expect(medplum().asked).toMatchObject([{ entries: ['/auth/me'], authorization: given }]);
    expect((await read({ role: true }, { authorization: given })).role).toBe(role);
  });

  it.each([
    ['without an answer', 'no-answer'],
    ['that is refused', { status: 401, body: { profile: {} } }],
    ['that says nothing', { status: 200, body: {} }],
  ] as const)('is unknown %s', async (_, answer) => {
    medplum().interfere(() => answer);
    await expect(readRole(medplum().medplum, 'Bearer admin')).rejects.toThrow('Medplum does not identify the caller.');
  });
});

describe('services', () => {
  it('are read with the rights of the caller', async () => {
    const portal = await aPortal(medplum());
    const service = await aService(medplum());
    const found = await read({ services: [service.id, 'another'] }, { authorization: portal.authorization });
    expect([...(found.services?.keys() ?? [])]).toEqual([`HealthcareService/${service.id}`]);
    expect(medplum().asked).toMatchObject([{ type: 'batch', authorization: portal.authorization }]);
  });

  it.each([
    ['is lost', unavailable()],
    ['is refused', refused()],
    ['fails in part', nothing],
  ])('are unknown if the answer %s', async (_, answer) => {
    medplum().interfere(() => answer);
    await expect(read({ services: ['a'] })).rejects.toThrow('The services of a schedule could not be read.');
  });
});

describe('the histories of appointments', () => {
  it('have the oldest version first, and the slots of those that were at the time', async () => {
    const portal = await aPortal(medplum());
    const { appointment, slot, schedule, patient } = await booked(medplum(), portal);
    const next = await aSlot(medplum(), schedule, '10:00', '10:30');
    await medplum().change<Appointment>(appointment, {
      start: at('10:00'),
      end: at('10:30'),
      slot: [{ reference: `Slot/${next.id}` }],
    });
    const other = await booked(medplum(), portal, { schedule, patient, from: '11:00', to: '11:30' });
    const [id = '', second = ''] = [appointment.id, other.appointment.id];
    const { histories } = await read({ histories: [id, second] }, { interval: morning });
    expect(
      [...(histories?.versions ?? [])].map(([key, versions]) => [key, versions.map(({ start }) => start)]),
    ).toEqual([
      [id, [at('09:00'), at('10:00')]],
      [second, [at('11:00')]],
    ]);
    expect(histories?.versions.get(id)?.[0]?.meta?.author).toBeDefined();
    expect(histories?.slots.map((one) => one.id)).toEqual([slot.id]);
    expect(histories?.cut).toEqual(new Set());
    expect(medplum().asked.map(({ entries }) => entries)).toEqual([
      [`GET Appointment/${id}/_history?_count=100`, `GET Appointment/${second}/_history?_count=100`],
      [`GET Slot?_id=${slot.id}&_count=1000`],
    ]);
  });

  it('ask for no slots if none was at the time', async () => {
    const { appointment } = await booked(medplum(), { id: 'portal' }, { from: '11:00', to: '11:30' });
    const { histories } = await read({ histories: [appointment.id ?? ''] }, { interval: morning });
    expect(histories?.slots).toEqual([]);
    expect(medplum().asked).toHaveLength(1);
  });

  it.each([
    [100, false],
    [101, true],
    [undefined, false],
  ])('of %s versions are cut: %s', async (total, isCut) => {
    const resource = { resourceType: 'Bundle', type: 'history', total };
    const body = { resourceType: 'Bundle', type: 'batch-response', entry: [{ response: { status: '200' }, resource }] };
    medplum().interfere(() => ({ status: 200, body }));
    const { histories } = await read({ histories: ['a'] });
    expect(histories?.cut).toEqual(new Set(isCut ? ['a'] : []));
    expect(histories?.versions).toEqual(new Map([['a', []]]));
  });

  it('of an appointment that was deleted have the versions before', async () => {
    const { appointment } = await booked(medplum(), { id: 'portal' });
    await medplum().fhir('DELETE', `Appointment/${appointment.id}`);
    const { histories } = await read({ histories: [appointment.id ?? ''] });
    expect(histories?.versions.get(appointment.id ?? '')).toHaveLength(1);
  });
});

it('patients are read with those into whom they were merged', async () => {
  const survivor = await aPatient(medplum(), { id: 'portal' });
  const merged = await medplum().change<Patient>(await aPatient(medplum(), { id: 'portal' }), {
    active: false,
    link: [{ type: 'replaced-by', other: { reference: `Patient/${survivor.id}` } }],
  });
  const { patients } = await read({ patients: [merged.id ?? '', 'another'] });
  expect([...(patients?.keys() ?? [])]).toEqual([merged.id, survivor.id]);
  expect(medplum().asked[0]?.entries).toEqual([`GET Patient?_id=${merged.id},another&_count=1000`]);
});

it('the open Tasks of appointments are read', async () => {
  const task = (status: Task['status'], focus: string) =>
    medplum().create<Task>({
      resourceType: 'Task',
      status,
      intent: 'order',
      code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'confirm' }] },
      focus: { reference: `Appointment/${focus}` },
    });
  const { appointment } = await booked(medplum(), { id: 'portal' });
  const open = await task('requested', appointment.id ?? '');
  await task('completed', appointment.id ?? '');
  const { tasks } = await read({ tasks: [appointment.id ?? ''] });
  expect(tasks?.map(({ id }) => id)).toEqual([open.id]);
});

it('what is around a time is read, and what of it was ever offered', async () => {
  const schedule = await aSchedule(medplum());
  const taken = await aSlot(medplum(), schedule, '09:00', '09:30', { status: 'busy' });
  const free = await aSlot(medplum(), schedule, '09:15', '09:45');
  const offered = await medplum().change<Slot>(free, { status: 'busy' });
  await aSlot(medplum(), schedule, '11:00', '11:30', { status: 'busy' });
  const { around } = await read({ around: { schedules: [schedule.id], interval: morning } });
  expect(new Set(around?.slots.keys())).toEqual(new Set([`Slot/${taken.id}`, `Slot/${offered.id}`]));
  expect(around?.offered).toEqual(new Set([offered.id]));
  expect(new Set(medplum().asked.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer admin']));
});

it('what would return in a Schedule without opening hours is nothing', async () => {
  const { schedule, slot, appointment } = await booked(medplum(), { id: 'portal' });
  const returning = {
    schedules: [schedule.id ?? ''],
    givenBack: [slot.id ?? ''],
    appointments: [appointment.id ?? ''],
    time: morning,
  };
  expect(await read({ returning })).toEqual({ returning: [] });
});

describe('the use of a quota', () => {
  const quotaOf = (portal: string, more: Partial<Quota> = {}): Quota => ({
    code: 'portal-quota-reached',
    row: `${portal}/day`,
    limit: 2,
    query: [['_tag', `${artefactUri(config, 'LocalRequestor')}|${portal}`]],
    diagnostics: 'That is too many.',
    ...more,
  });
  const rowsOf = (portal: string) =>
    medplum().find<Task>(`Task?group-identifier=${artefactUri(config, 'LocalRequestor')}|${portal}/day`);

  it('is its row and what counts for it, read at one moment with the rights of the Bot; the row is made first', async () => {
    const portal = await aPortal(medplum());
    const { appointment } = await booked(medplum(), portal);
    const quota = quotaOf(portal.id);
    const { usage } = await read({ quotas: [quota] }, { authorization: portal.authorization });
    const { row, found } = usage?.get(quotaKey(quota)) ?? {};
    expect(row?.id).toBe((await rowsOf(portal.id))[0]?.id);
    expect([...(found?.keys() ?? [])]).toEqual([`Appointment/${appointment.id}`]);
    expect(medplum().asked.map(({ type, authorization }) => `${type} ${authorization}`)).toEqual(
      Array(3).fill('transaction Bearer admin'),
    );
    const again = await read({ quotas: [quota] });
    expect(again.usage?.get(quotaKey(quota))?.row?.id).toBe(row?.id);
    expect(medplum().asked).toHaveLength(4);
  });

  it('has no row if nothing may be written', async () => {
    const portal = await aPortal(medplum());
    const quota = quotaOf(portal.id);
    const { usage } = await read({ quotas: [quota] }, { isDry: true });
    expect(usage).toEqual(new Map([[quotaKey(quota), { row: undefined, found: new Map() }]]));
    expect(await rowsOf(portal.id)).toEqual([]);
    expect(medplum().asked).toHaveLength(1);
  });

  it('has one row, however many make it at the same moment', async () => {
    const portal = await aPortal(medplum());
    const quota = quotaOf(portal.id);
    medplum().interfere(
      only(writes, async () => {
        await medplum().create(quotaRow(quota, config));
        return undefined;
      }),
    );
    const { usage } = await read({ quotas: [quota] });
    expect(await rowsOf(portal.id)).toHaveLength(1);
    expect(usage?.get(quotaKey(quota))?.row).toBeDefined();
  });

  it('is unknown if its row cannot be made', async () => {
    medplum().interfere((asked) => (writes(asked) ? unavailable() : undefined));
    const quota = quotaOf('portal-without-row');
    await expect(read({ quotas: [quota] })).rejects.toThrow('The row of a quota could not be created.');
    expect(medplum().asked.filter(writes)).toHaveLength(5);
  });

  it('has the slots of what counts, if it is of one Schedule', async () => {
    const portal = await aPortal(medplum());
    const { slot, schedule } = await booked(medplum(), portal);
    const quota = quotaOf(portal.id, { scope: `Schedule/${schedule.id}` });
    const { usage } = await read({ quotas: [quota] }, { isDry: true });
    const found = usage?.get(quotaKey(quota))?.found;
    expect(found?.has(`Slot/${slot.id}`)).toBe(true);
    expect(found?.has(`Schedule/${schedule.id}`)).toBe(true);
    expect(medplum().asked.map(({ type }) => type)).toEqual(['transaction', 'batch']);
  });

  it('is read four at a time', async () => {
    let underWay = 0;
    let most = 0;
    medplum().interfere(async ({ bundle }) => {
      underWay += 1;
      most = Math.max(most, underWay);
      const { body } = await medplum().fhir<Bundle>('POST', '', bundle);
      underWay -= 1;
      return { status: 200, body };
    });
    const quotas = Array.from({ length: 6 }, (_, index) => quotaOf(`portal-${index}`));
    const { usage } = await read({ quotas }, { isDry: true });
    expect([usage?.size, most]).toEqual([6, 4]);
  });
});
