import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Practitioner, Schedule, Slot } from '@medplum/fhirtypes';
import { withAlternatives } from '../../../../bots/lib/booking/alternatives.ts';
import { decideBooking, type Requestor } from '../../../../bots/lib/booking/decide.ts';
import type { Purpose } from '../../../../core/booking/book/request/request.ts';
import { parseBookRequest } from '../../../../core/booking/book/request/request.ts';
import { SCHEDULING_PARAMETERS } from '../../../../core/calendar/parameters/scheduling-parameters.ts';
import { formatKey } from '../../../../core/calendar/slots/published-slot.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import type { BookingErrorCode } from '../../../../core/fhir/outcome/errors.ts';
import {
  aPortal,
  aSchedule,
  aService,
  aSlot,
  asks,
  aType,
  at,
  booked,
  extension,
  inMinutes,
  only,
  policy,
  proposed,
  refused,
  requestorOf,
  tagsOf,
  typeOf,
} from '../../booking/fixtures.ts';
import { config, configured } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';

const medplum = withMedplum();

interface Options {
  readonly requestor?: Partial<Requestor>;
  readonly purpose?: Purpose;
  readonly codes?: readonly BookingErrorCode[];
}

/** The Slots and times that are proposed for a request: `slots hh:mm`. */
async function proposals(portal: Parameters<typeof requestorOf>[0], body: unknown, options: Options = {}) {
  const { request } = parseBookRequest(body, config);
  if (!request) {
    throw new Error('The request cannot be read.');
  }
  const requestor = { ...requestorOf(portal), ...options.requestor };
  const { state } = await decideBooking(medplum().medplum, { request, issues: [] }, requestor, { isDry: true });
  const codes = options.codes ?? ['slot-not-free'];
  const given = codes.map((code) => ({ code, diagnostics: 'It cannot be booked.' }));
  const issues = await withAlternatives(medplum().medplum, given, request, state, requestor, options.purpose);
  expect(issues.map(({ code }) => code)).toEqual(codes);
  const [first] = issues;
  return (first?.alternatives ?? []).map(
    ({ slots, start }) => `${slots.join('+')} ${new Date(start).toISOString().slice(11, 16)}`,
  );
}

/** A Schedule in which 9:00 is taken, and a portal that wants it. */
async function setting(more: Partial<Schedule> = {}) {
  const portal = await aPortal(medplum());
  const schedule = await aSchedule(medplum(), more);
  const { slot, patient } = await booked(medplum(), portal, { schedule });
  const free = (from: string, to: string, other: Schedule = schedule) => aSlot(medplum(), other, from, to);
  return { portal, schedule, patient, slot, body: proposed(patient, [slot]), free };
}

describe('what could be booked instead', () => {
  it('is the nearest times of the same Schedule, three of them', async () => {
    const { portal, body, free } = await setting({ extension: [policy({ maxPerPortalAndDay: 9 })] });
    const slots = [
      await free('12:00', '12:30'),
      await free('08:30', '09:00'),
      await free('10:00', '10:30'),
      await free('11:00', '11:30'),
    ];
    const found = await proposals(portal, body);
    expect(found).toEqual([`${slots[1]?.id} 08:30`, `${slots[2]?.id} 10:00`, `${slots[3]?.id} 11:00`]);
  });

  it('is judged as the request itself: no time that something else takes', async () => {
    const { portal, body, free, schedule } = await setting();
    const slots = [
      await free('09:30', '10:00'),
      await free('10:00', '10:30'),
      await free('10:30', '11:00'),
      await free('11:00', '11:30'),
      await free('11:30', '12:00'),
    ];
    await aSlot(medplum(), schedule, '10:00', '10:30', { status: 'busy' });
    const found = await proposals(portal, body);
    expect(found).toEqual([0, 2, 3].map((index) => `${slots[index]?.id} ${['09:30', '', '10:30', '11:00'][index]}`));
  });

  it('is one of six times at most', async () => {
    const { portal, body, free, schedule } = await setting();
    for (const minutes of [30, 35, 40, 45, 50, 55]) {
      await free(`09:${minutes}`, `10:${minutes}`);
    }
    const last = await free('10:30', '11:00');
    const further = await free('11:30', '12:00');
    await aSlot(medplum(), schedule, '09:30', '10:30', { status: 'busy' });
    const found = await proposals(portal, body);
    expect(found).not.toContain(`${further.id} 11:30`);
    expect(last.status).toBe('free');
  });

  it('is permitted by the policy of the Schedule', async () => {
    const { portal, body, free } = await setting({
      extension: [policy({ leadTime: (Date.parse(at('10:45')) - Date.now()) / 3_600_000 })],
    });
    await free('10:00', '10:30');
    const later = await free('11:00', '11:30');
    const given = await proposals(portal, body);
    expect(given).toEqual([`${later.id} 11:00`]);
    const first = await proposals(portal, body, { requestor: { role: 'repository' } });
    expect(first).toHaveLength(2);
  });

  it('is permitted by the policy of the services: of its actor, and those that it names', async () => {
    const leadTime = (Date.parse(at('10:45')) - Date.now()) / 3_600_000;
    const service = await aService(medplum(), { extension: [policy({ leadTime })] });
    for (const more of [
      { serviceType: [typeOf(service)] },
      { actor: [{ reference: `HealthcareService/${service.id}` }] },
    ]) {
      const { portal, body, free } = await setting(more);
      await free('10:00', '10:30');
      const later = await free('11:00', '11:30');
      const given = await proposals(portal, body);
      expect(given).toEqual([`${later.id} 11:00`]);
    }
  });

  it('is nothing in a Schedule that is closed', async () => {
    const { portal, body, free, schedule } = await setting();
    await free('10:00', '10:30');
    await medplum().change(schedule, { active: false });
    const found = await proposals(portal, body);
    expect(found).toEqual([]);
  });

  it('is a time of each Schedule if several are needed, and none elsewhere', async () => {
    const type = aType();
    const { portal, patient, slot, free } = await setting({ serviceType: [type] });
    const second = await aSchedule(medplum(), { serviceType: [type] });
    const other = await free('09:00', '09:30', second);
    const body = proposed(patient, [slot, other], { start: at('09:00'), end: at('09:30') });
    const together = [await free('10:00', '10:30'), await free('10:00', '10:30', second)];
    await free('11:00', '11:30');
    await free('09:00', '09:30', await aSchedule(medplum(), { serviceType: [type] }));
    const found = await proposals(portal, body);
    expect(found).toEqual([`${together.map(({ id }) => id).join('+')} 10:00`]);
  });

  it('is nothing if one of several Schedules is closed', async () => {
    const { portal, patient, slot, free } = await setting();
    const second = await aSchedule(medplum());
    const other = await free('09:00', '09:30', second);
    await medplum().change(second, { active: false });
    await free('10:00', '10:30');
    const body = proposed(patient, [slot, other], { start: at('09:00'), end: at('09:30') });
    expect(await proposals(portal, body)).toEqual([]);
  });
});

describe('the time that was refused', () => {
  it('is not judged again', async () => {
    const { portal, patient, free, schedule } = await setting();
    const wanted = await free('11:00', '11:30');
    await aSlot(medplum(), schedule, '11:00', '11:30', { status: 'busy' });
    const next = await free('12:00', '12:30');
    const given = await proposals(portal, proposed(patient, [wanted]));
    expect(given).toEqual([`${next.id} 12:00`]);
  });
});

describe('an appointment that is moved', () => {
  it('may be proposed what it keeps off the market itself, but not the slot that it has', async () => {
    const minutes = (url: string, value: number) => ({ url, valueDuration: { value, unit: 'min' } });
    const practitioner = await medplum().create<Practitioner>({ resourceType: 'Practitioner' });
    const times = [minutes('duration', 60), minutes('alignmentInterval', 30), { url: 'timezone', valueCode: 'UTC' }];
    const service = await aService(medplum(), {
      availableTime: [{ daysOfWeek: ['mon'], availableStartTime: '09:00:00', availableEndTime: '11:00:00' }],
      extension: [{ url: SCHEDULING_PARAMETERS, extension: times }],
    });
    const { portal, patient, schedule, body, slot } = await setting({
      serviceType: [typeOf(service)],
      actor: [{ reference: `Practitioner/${practitioner.id}` }],
    });
    await medplum().change<Slot>(slot, { start: at('07:00'), end: at('08:00') });
    const published = (from: string, to: string, status: Slot['status']) => {
      const start = Date.parse(at(from));
      const value = formatKey({ kind: 'offer', schedule: schedule.id, service: service.id, start, place: 1 });
      const identifier = [{ system: artefactUri(config, 'LocalPublishedSlot'), value }];
      return aSlot(medplum(), schedule, from, to, { status, identifier });
    };
    const own = await published('09:00', '10:00', 'busy');
    const withdrawn = await published('09:30', '10:30', 'entered-in-error');
    const moved = await medplum().create<Appointment>(
      proposed(patient, [own], { status: 'booked', meta: tagsOf(portal) }),
    );
    const wanted = { ...body, start: at('07:00'), end: at('08:00') };
    expect(await proposals(portal, { ...wanted, id: moved.id })).toEqual([`${withdrawn.id} 09:30`]);
    expect(await proposals(portal, wanted)).toEqual([]);
  });
});

describe('the same service elsewhere', () => {
  it('is proposed if nothing is known of the place that was wanted', async () => {
    const type = aType();
    const { portal, patient, free, slot } = await setting();
    const there = await free('10:00', '10:30', await aSchedule(medplum(), { serviceType: [type] }));
    const body = proposed(patient, [{ ...slot, id: '00000000-0000-4000-8000-000000000000' }], { serviceType: [type] });
    expect(await proposals(portal, body, { codes: ['slot-not-found'] })).toEqual([`${there.id} 10:00`]);
  });

  it('is proposed for what is still missing, the nearest first', async () => {
    const type = aType();
    const { portal, body, free } = await setting({ serviceType: [type] });
    const others = [
      await aSchedule(medplum(), { serviceType: [type] }),
      await aSchedule(medplum(), { serviceType: [type] }),
    ];
    const here = await free('12:00', '12:30');
    const there = [
      await free('09:00', '09:30', others[0]),
      await free('09:30', '10:00', others[1]),
      await free('11:00', '11:30', others[0]),
    ];
    const found = await proposals(portal, body);
    expect(found).toEqual([`${here.id} 12:00`, `${there[0]?.id} 09:00`, `${there[1]?.id} 09:30`]);
  });

  it('is bound by the policies there', async () => {
    const type = aType();
    const service = await aService(medplum(), { extension: [policy({ leadTime: 8_000 })] });
    const { portal, body, free } = await setting({ serviceType: [type] });
    const other = await aSchedule(medplum(), {
      serviceType: [type],
      actor: [{ reference: `HealthcareService/${service.id}` }],
    });
    await free('10:00', '10:30', other);
    const given = await proposals(portal, body);
    expect(given).toEqual([]);
    expect(await proposals(portal, body, { requestor: { role: 'repository' } })).toHaveLength(1);
  });

  it('is not looked for with the rights of the Bot', async () => {
    const type = aType();
    const { portal, body, free } = await setting({ serviceType: [type] });
    await free('10:00', '10:30', await aSchedule(medplum(), { serviceType: [type] }));
    const requestor = { authorization: undefined, role: 'requestor' } as const;
    expect(await proposals(portal, body, { requestor })).toEqual([]);
    expect(await proposals(portal, body)).toHaveLength(1);
  });
});

describe('no alternatives', () => {
  const given = async () => {
    const one = await setting();
    await one.free('10:00', '10:30');
    return one;
  };

  it.each([[['patient-not-found']], [['slot-not-free', 'patient-not-found']], [['slot-mismatch']]] as const)(
    'are looked for if another time would not help (%j)',
    async (codes) => {
      const { portal, body } = await given();
      const found = await proposals(portal, body, { codes });
      expect(found).toEqual([]);
    },
  );

  it('are looked for if the request names no time', async () => {
    const { portal, body } = await given();
    expect(await proposals(portal, { ...body, end: undefined })).toEqual([]);
  });

  it.each([
    ['who calls', ({ type }: { type: string }) => type === 'read'],
    ['the free slots', asks(/&status=free&_count=20/)],
    ['other Schedules', asks(/^GET Schedule\?service-type/)],
  ])('are proposed if the server cannot be asked for %s', async (_, isMeant) => {
    const { portal, body } = await given();
    for (const answer of [
      refused,
      () => ({
        status: 200,
        body: { resourceType: 'Bundle', type: 'batch-response', entry: [{ response: { status: '500' } }] },
      }),
    ]) {
      medplum().interfere(only(isMeant, answer));
      expect(await proposals(portal, body)).toEqual([]);
    }
  });

  it('are no excuse for other errors', async () => {
    const { portal, body } = await given();
    medplum().interfere(only(asks(/&status=free&_count=20/), () => Promise.reject(new TypeError('broken'))));
    await expect(proposals(portal, body)).rejects.toThrow('broken');
  });

  it('are proposed by what a requestor does not see', async () => {
    const { portal, body, slot } = await given();
    const narrow: Requestor['narrow'] = (state) =>
      new Map([...state].filter(([key, one]) => one.resourceType !== 'Slot' || key === `Slot/${slot.id}`));
    const requestor = { narrow, role: 'requestor' } as const;
    expect(await proposals(portal, body, { requestor })).toEqual([]);
  });
});

it('alternatives to a hold are judged as holds', async () => {
  const { portal, patient, body, free } = await setting();
  const next = await free('10:00', '10:30');
  const held = extension('LocalHeldUntil', { valueInstant: inMinutes(9) });
  await medplum().create<Appointment>(proposed(patient, [], { extension: [held], meta: tagsOf(portal) }));
  await configured({ holds: { maxPerRequestor: 1 } }, async () => {
    expect(await proposals(portal, body)).toEqual([`${next.id} 10:00`]);
    expect(await proposals(portal, body, { purpose: 'hold' })).toEqual([]);
  });
});
