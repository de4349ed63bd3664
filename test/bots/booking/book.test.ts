import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Bundle, Patient, Schedule, Slot } from '@medplum/fhirtypes';
import { handler as book } from '../../../bots/booking/book.ts';
import { handler as hold } from '../../../bots/booking/hold.ts';
import { withAlternatives } from '../../../bots/lib/booking/alternatives.ts';
import { bookAppointment } from '../../../bots/lib/booking/book.ts';
import { type DecisionOptions, decideBooking, type Requestor } from '../../../bots/lib/booking/decide.ts';
import type { Unanswered } from '../../../bots/lib/medplum.ts';
import { LEADS_HEADER } from '../../../core/booking/booking/answer.ts';
import { limitsReached } from '../../../core/booking/policy/requestor-limits.ts';
import { type Purpose, parseBookRequest } from '../../../core/booking/request/request.ts';
import { timeLimits } from '../../../core/config/time-limits.ts';
import type { BookingErrorCode } from '../../../core/fhir/outcome/errors.ts';
import { told } from '../../lib/told.ts';
import { withClock } from '../clock.ts';
import { config, configured } from '../config.ts';
import { type Asked, withMedplum } from '../medplum.ts';
import {
  aPatient,
  aPortal,
  aSchedule,
  aService,
  aSlot,
  asks,
  aType,
  at,
  bookable,
  booked,
  eventOf,
  extension,
  inMinutes,
  meanwhile,
  only,
  overtaken,
  type Portal,
  parameters,
  policy,
  problems,
  proposed,
  requestorOf,
  tagsOf,
  typeOf,
  writes,
} from './fixtures.ts';

const medplum = withMedplum();

describe('book', () => {
  const setting = (schedule = {}) => bookable(medplum(), schedule);

  it('is offered to its person until the first of several appointments begins, in whatever order they are sent', async () => {
    const { portal, schedule } = await setting();
    const patient = await aPatient(medplum(), portal, { telecom: [{ system: 'email', value: 'kim@example.org' }] });
    const messages = {
      from: 'a@clinic.example',
      page: 'https://portal.example',
      language: 'en',
      details: false,
    } as const;
    const [late, soon] = await Promise.all(
      [50, 20].map((from) =>
        aSlot(medplum(), schedule, '09:00', '09:30', { start: inMinutes(from), end: inMinutes(from + 10) }),
      ),
    );
    const sent = [late, soon].flatMap((slot) =>
      slot ? [{ name: 'appt-resource', resource: proposed(patient, [slot]) }] : [],
    );
    const event = eventOf(parameters(...sent, { name: 'personal-offer', valueBoolean: true }), portal);
    const held = await configured({ messages }, () => hold(medplum().medplum, event));
    expect(problems(held)).toEqual([]);
    expect(JSON.stringify(held)).toContain(`"valueInstant":"${soon?.start}"`);
    expect(JSON.stringify(held)).not.toContain(`"valueInstant":"${late?.start}"`);
  });
});

describe('book', () => {
  const setting = (schedule = {}) => bookable(medplum(), schedule);

  /** What a booking is made of. */
  interface Setting {
    readonly portal: Portal;
    readonly patient: Patient;
    readonly slot: Slot;
  }

  const identifier = [{ system: 'urn:portal', value: 'one' }];

  const book = (
    { portal, patient, slot }: Setting,
    more: Partial<Appointment> = {},
    options: Parameters<typeof bookAppointment>[3] = {},
  ) => {
    const request = parseBookRequest(proposed(patient, [slot], more), config);
    return bookAppointment(medplum().medplum, request, requestorOf(portal), options);
  };

  const issuesIn = (result: Awaited<ReturnType<typeof book>>) => (result.kind === 'refused' ? told(result.issues) : []);

  describe('a write that fails', () => {
    it('is not tried again when the gateway does not wait any more', async () => {
      const given = await setting();
      await withClock(async (skip) => {
        medplum().interfere((asked) => {
          skip(writes(asked) ? timeLimits(config).decide + 1 : 0);
          return writes(asked) ? overtaken() : undefined;
        });
        expect(issuesIn(await book(given))).toEqual(['booking-conflict']);
      });
    });

    it.each([[undefined], [[]]])('without showing the appointment may have been carried out (%j)', async (entry) => {
      const given = await setting();
      medplum().interfere((asked) =>
        writes(asked)
          ? { status: 200, body: { resourceType: 'Bundle', type: 'transaction-response', entry } }
          : undefined,
      );
      const result = await book(given);
      expect(issuesIn(result)).toEqual(['upstream-unavailable']);
      expect(result).toMatchObject({ issues: [{ diagnostics: expect.stringContaining('Appointment.identifier') }] });
    });
  });

  describe('an answer that is lost', () => {
    const lost = async ({ bundle }: Asked): Promise<Unanswered> => {
      // It is carried out all the same.
      const { entry = [] } = bundle ?? {};
      await medplum().transaction(entry);
      return 'no-answer';
    };

    it.each([
      ['an identifier', identifier],
      ['one identifier that has a value', [{ system: 'urn:portal' }, ...identifier]],
    ])('leads to the appointment if it has %s', async (_, identifiers) => {
      const given = await setting();
      medplum().interfere(only(writes, lost));
      expect(await book(given, { identifier: identifiers })).toMatchObject({
        kind: 'existing',
        appointments: [{ status: 'booked' }],
      });
    });

    it.each([
      ['no identifier', {}],
      ['an identifier without a value', { identifier: [{ system: 'urn:portal' }] }],
    ])('of a booking with %s is told: sent again, it could book twice', async (_, more) => {
      const given = await setting();
      medplum().interfere(only(writes, () => 'no-answer'));
      const result = await book(given, more);
      expect(result).toMatchObject({ issues: [{ diagnostics: expect.stringContaining('may have been stored') }] });
    });

    it('is told in the end, too, if others were faster afterwards', async () => {
      const given = await setting();
      let attempts = 0;
      medplum().interfere((asked) => {
        attempts += writes(asked) ? 1 : 0;
        return writes(asked) ? (attempts === 1 ? 'too-late' : overtaken()) : undefined;
      });
      const result = await book(given, { identifier });
      expect(result).toMatchObject({ issues: [{ diagnostics: expect.stringContaining('may have been stored') }] });
      expect(issuesIn(result)).toEqual(['upstream-timeout']);
    });

    it('is of no interest any more once another reason speaks against the booking', async () => {
      const given = await setting();
      medplum().interfere(
        only(writes, async (): Promise<Unanswered> => {
          await medplum().change(given.slot, { status: 'busy' });
          return 'no-answer';
        }),
      );
      expect(issuesIn(await book(given, { identifier }))).toEqual(['slot-not-free Appointment.slot[0]']);
    });
  });

  describe('a refusal', () => {
    const alternativesIn = (result: Awaited<ReturnType<typeof book>>) =>
      result.kind === 'refused' ? result.issues.flatMap(({ alternatives = [] }) => alternatives) : [];

    it('says nothing of it when the decision took long', async () => {
      const portal = await aPortal(medplum());
      const taken = await booked(medplum(), portal);
      await aSlot(medplum(), taken.schedule, '10:00', '10:30');
      await withClock(async (skip) => {
        const isAny = () => true;
        meanwhile(medplum(), isAny, async () => skip(timeLimits(config).propose));
        expect(alternativesIn(await book({ ...taken, portal }))).toEqual([]);
      });
    });
  });
});

describe('decide', () => {
  const setting = (schedule = {}) => bookable(medplum(), schedule);

  /** Decides about a body of `$book`. */
  async function decide(body: unknown, requestor: Requestor, options?: DecisionOptions) {
    const { request, ...parsed } = parseBookRequest(body, config);
    if (!request) {
      throw new Error('The request cannot be read.');
    }
    return decideBooking(medplum().medplum, { ...parsed, request }, requestor, options);
  }

  type Decision = Awaited<ReturnType<typeof decide>>;
  const issuesIn = ({ plan }: Decision) => (plan.kind === 'refuse' ? told(plan.issues) : []);

  describe('a decision', () => {
    it('is a refusal where a limit is reached', async () => {
      const { portal, patient, slot, schedule } = await setting();
      await booked(medplum(), portal, { schedule, patient, from: '10:00', to: '10:30' });
      const decision = await configured({ requestors: { maxOpenAppointments: 1, maxBookingsPerMinute: 9 } }, () =>
        decide(proposed(patient, [slot]), requestorOf(portal)),
      );
      expect(issuesIn(decision)).toEqual(['portal-limit-reached Appointment']);
      expect([...decision.state.keys()].filter((key) => key.startsWith('Appointment/'))).toEqual([]);
    });
  });

  it('what cannot be read is more that takes the time than Medplum finds at once: the rest is read with the rights of the caller', async () => {
    const { portal, patient, slot } = await setting();
    medplum().interfere(
      only(asks(/Slot\?/), async ({ bundle }) => {
        const { body } = await medplum().fhir<Bundle>('POST', '', bundle, { authorization: portal.authorization });
        const [first, ...others] = body.entry ?? [];
        const found = {
          ...(first?.resource as Bundle),
          link: [{ relation: 'next', url: 'https://medplum.example/' }],
        };
        return { status: 200, body: { ...body, entry: [{ ...first, resource: found }, ...others] } };
      }),
    );
    expect((await decide(proposed(patient, [slot]), requestorOf(portal))).plan.kind).toBe('write');
  });

  describe('a patient who is submitted', () => {
    const identifier = [{ system: 'urn:kvnr', value: 'A123' }];

    async function ambiguous() {
      const { portal, slot } = await setting();
      const admin = await medplum().send<{ profile: { id: string } }>('GET', 'auth/me');
      const patients = [
        await aPatient(medplum(), portal, { identifier }),
        await aPatient(medplum(), portal, { identifier }),
      ];
      const submitted: Patient = { resourceType: 'Patient', identifier, meta: tagsOf(portal) };
      const { participant: _, ...appointment } = proposed(submitted, [slot]);
      const body = parameters(
        { name: 'appt-resource', resource: appointment as Appointment },
        { name: 'patient', resource: submitted },
      );
      return { portal, body, patients, gatewayClient: admin.body.profile.id };
    }

    it('and was made twice by the service is one person', async () => {
      const { portal, body, gatewayClient } = await ambiguous();
      const decision = await configured({ gatewayClient }, () => decide(body, requestorOf(portal)));
      expect(decision.plan.kind).toBe('write');
    });
  });
});

describe('alternatives', () => {
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

  it('what could be booked instead is permitted by the policy of the services: of its actor, and those that it names', async () => {
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

  it('the same service elsewhere is bound by the policies there', async () => {
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
});

it('what a portal may not search for does not limit it', () => {
  expect(limitsReached(['open'], [{ response: { status: '403' } }])).toEqual(new Set());
});

/** Notes what is asked from now on. */
function listen(): Asked[] {
  const heard: Asked[] = [];
  medplum().interfere((asked) => void heard.push(asked));
  return heard;
}

describe('what a booking leads to', () => {
  it('is read at once: a booking under a policy is one read and one write', async () => {
    const service = await aService(medplum(), { extension: [policy({ leadTime: 1 })] });
    const { portal, patient, schedule, slot } = await bookable(medplum(), { serviceType: [typeOf(service)] });
    const leads = { [LEADS_HEADER]: `Schedule/${schedule.id},HealthcareService/${service.id}` };
    const heard = listen();
    expect(problems(await book(medplum().medplum, eventOf(proposed(patient, [slot]), portal, leads)))).toEqual([]);
    // Two reads at the same time: as the caller, and what the clinic notes at the slots.
    expect(heard.map(({ type }) => type)).toEqual(['batch', 'batch', 'transaction']);
  });

  it('is not believed: a slot that is in another calendar meanwhile is judged there', async () => {
    const { portal, patient, schedule, slot } = await bookable(medplum());
    const other = await aSchedule(medplum());
    await aSlot(medplum(), other, '09:00', '09:30', { status: 'busy' });
    await medplum().change<Slot>(slot, { schedule: { reference: `Schedule/${other.id}` } });
    const leads = { [LEADS_HEADER]: `Schedule/${schedule.id}` };
    const answer = await book(medplum().medplum, eventOf(proposed(patient, [slot]), portal, leads));
    expect(problems(answer)).toEqual(['slot-not-free Appointment.slot[0]']);
  });
});

it('the limits of a requestor hold exactly where few are allowed', async () => {
  const { portal, patient, schedule } = await bookable(medplum());
  const found: string[] = [];
  await configured({ requestors: { maxOpenAppointments: 4, maxBookingsPerMinute: 100 } }, async () => {
    for (const hour of ['10', '11', '12', '13', '14', '15']) {
      const slot = await aSlot(medplum(), schedule, `${hour}:00`, `${hour}:30`);
      const asked = proposed(patient, [slot], { start: at(`${hour}:00`), end: at(`${hour}:30`) });
      found.push(problems(await book(medplum().medplum, eventOf(asked, portal))).join() || 'booked');
    }
  });
  const refused = 'portal-limit-reached Appointment';
  expect(found).toEqual([...Array(4).fill('booked'), refused, refused]);
});
