import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Schedule } from '@medplum/fhirtypes';
import { withAlternatives } from '../../../../bots/lib/booking/alternatives.ts';
import { decideBooking, type Requestor } from '../../../../bots/lib/booking/decide.ts';
import type { Purpose } from '../../../../core/booking/book/request/request.ts';
import { parseBookRequest } from '../../../../core/booking/book/request/request.ts';
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
  const decision = await decideBooking(medplum().medplum, { request, issues: [] }, requestor, { isDry: true });
  const codes = options.codes ?? ['slot-not-free'];
  const given = codes.map((code) => ({ code, diagnostics: 'It cannot be booked.' }));
  const issues = await withAlternatives(medplum().medplum, given, request, decision, requestor, options.purpose);
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

describe('the same service elsewhere', () => {
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
