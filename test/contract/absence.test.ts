import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Appointment, Extension, HealthcareService, Schedule } from '@medplum/fhirtypes';
import { offeredFor } from '../../core/booking/appointment/expiry.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { seriesOf, stepExtension, visitGroupOf } from '../../core/visits/visit.ts';
import { eventually } from '../lib/until.ts';
import {
  aBooked,
  absence,
  absent,
  aCalendar,
  aReachable,
  aService,
  at,
  blocksIn,
  linesIn,
  now,
  offerOf,
  outcomeOf,
  planned,
  proposedFor,
  rowOnce,
  rowsOf,
  silence,
  substitute,
} from './absence/fixtures.ts';
import { aPatient, book, parameters, several, stored, succeeded } from './fixtures.ts';
import { hold } from './holds/fixtures.ts';
import { issuesOf, medplum, refusalOf, request, resourceIn } from './http.ts';
import { config } from './installation.ts';
import { subscribed, unsubscribeAll } from './notifications/fixtures.ts';
import { type Listener, listen } from './notifications/listener.ts';
import { cancellation, patch } from './patch/fixtures.ts';
import { length, policy } from './policy/fixtures.ts';
import { runBot } from './requests/fixtures.ts';
import { accepting } from './waitlist/fixtures.ts';

let listener: Listener;

beforeAll(async () => {
  listener = await listen();
  await subscribed(listener, { topic: 'appointment-offer' });
});

afterAll(async () => {
  await unsubscribeAll();
  await listener.close();
});

const accept = async (offer: Appointment): Promise<number> => (await book(accepting(offer))).status;

const statusesOn = async (schedule: { readonly id?: string }): Promise<string[]> =>
  (await stored('Slot', `schedule=Schedule/${schedule.id}&_sort=start`)).map(({ status }) => status);

/** A calendar with an appointment at nine, and a substitute who is free then and at ten. */
async function aClinicWithSubstitute(role: 'portal-a' | 'portal-b' = 'portal-a', more = {}) {
  const service = aService();
  const [own, other] = [await aCalendar(service, [9]), await aCalendar(service, [9, 10], more)];
  return { service, own, other, ...(await aBooked(own.slots, service, role)) };
}

describe('planning', () => {
  it('takes the least change: a substitute at the same time, then the same person another day', async () => {
    const service = aService();
    const own = await aCalendar(service, [9, 10, [2, 9]]);
    const other = await aCalendar(service, [9, [5, 9]]);
    const [first, second] = [
      await aBooked(own.slots.slice(0, 1), service),
      await aBooked(own.slots.slice(1, 2), service),
    ];
    const dry = await planned(
      absent([own.schedule], [substitute(other.schedule), { name: 'dry-run', valueBoolean: true }]),
    );
    expect(linesIn(dry).map(({ id, schedule, start, reach }) => [id, schedule, start, reach])).toEqual([
      [first.appointment.id, `Schedule/${other.schedule.id}`, at(0, 9), 'portal'],
      [second.appointment.id, `Schedule/${own.schedule.id}`, at(2, 9), 'portal'],
    ]);
    expect(blocksIn(dry)).toEqual([]);
    expect(await statusesOn(own.schedule)).toEqual(['busy', 'busy', 'free']);
  });

  it('blocks the time at once, and only once', async () => {
    const { own, other, appointment } = await aClinicWithSubstitute();
    const body = absent([own.schedule], [substitute(other.schedule)]);
    const [one, again] = [await planned(body), await planned(body)];
    expect(blocksIn(one)).toHaveLength(1);
    expect([blocksIn(again), linesIn(again).map(({ id }) => id)]).toEqual([blocksIn(one), [appointment.id]]);
    expect(await statusesOn(own.schedule)).toEqual(['busy-unavailable', 'busy']);
    expect((await now(appointment)).status).toBe('booked');
    expect(await rowsOf(appointment)).toEqual([]);
  });

  it('keeps to the other appointments of the patient, to the policy and to the service', async () => {
    const service = aService();
    const own = await aCalendar(service, [9]);
    const far = await aCalendar(service, [11], policy(length('window', 1, 'h')));
    const [elsewhere, foreign] = [await aCalendar(service, [10]), await aCalendar(aService(), [9])];
    const { patient } = await aBooked(own.slots, service);
    const there = await aCalendar(service, [10]);
    expect((await book(proposedFor(patient, there.slots, service))).status).toBe(201);
    const dry = [substitute(far.schedule), substitute(elsewhere.schedule), { name: 'dry-run', valueBoolean: true }];
    expect(linesIn(await planned(absent([own.schedule], dry))).map(({ schedule }) => schedule)).toEqual([undefined]);
    const refused = await absence(absent([own.schedule], [substitute(foreign.schedule)]));
    expect(refusalOf(refused)).toEqual([422, 'service-type-not-offered Parameters.parameter[3]']);
  });

  it('of all calendars at once, over a night of daylight saving, by days of the clinic', async () => {
    const service = aService();
    const calendars = [await aCalendar(service, [9]), await aCalendar(service, [9])];
    const booked = await Promise.all(calendars.map(({ slots }) => aBooked(slots, service)));
    const period = { start: at(0, 0).slice(0, 10), end: at(0, 0).slice(0, 10) };
    const all = await planned(
      absent(
        calendars.map(({ schedule }) => schedule),
        [],
        period,
      ),
    );
    expect(
      linesIn(all)
        .map(({ id, start }) => [id, start])
        .sort(),
    ).toEqual(booked.map(({ appointment }) => [appointment.id, undefined]).sort());
    const blocks = await stored(
      'Slot',
      `_id=${blocksIn(all)
        .map((one) => one.split('/')[1])
        .join(',')}`,
    );
    expect(blocks.map(({ start, end }) => Date.parse(end) - Date.parse(start))).toEqual([86_400_000, 86_400_000]);
  });
});

describe('a plan that is confirmed', () => {
  it('offers each person the other time; accepted, it replaces the appointment: moved', async () => {
    const { own, other, appointment } = await aClinicWithSubstitute();
    const body = absent([own.schedule], [substitute(other.schedule)]);
    await planned(body);
    const confirmed = absent([own.schedule], [substitute(other.schedule), silence('keep')]);
    expect(linesIn(await planned(confirmed)).map(({ outcome }) => outcome)).toEqual(['offered']);
    const offer = await offerOf(appointment);
    expect([offer.status, offer.start]).toEqual(['proposed', appointment.start]);
    expect(await accept(offer)).toBe(201);
    const row = await rowOnce(appointment, (task) => outcomeOf(task) === 'moved');
    expect(row?.status).toBe('completed');
    expect([(await now(appointment)).status, (await now(offer)).status]).toEqual(['cancelled', 'booked']);
    const again = await planned(confirmed);
    expect(linesIn(again).map(({ outcome }) => outcome)).toEqual(['moved']);
    const collision = encodeURIComponent(`${artefactUri(config, 'LocalTask')}|collision`);
    expect(await stored('Task', `code=${collision}&focus=Appointment/${appointment.id}`)).toEqual([]);
    expect(await rowsOf(appointment)).toHaveLength(1);
  });

  it('declined, the appointment is cancelled; whoever is not reached is called', async () => {
    const { own, other, appointment } = await aClinicWithSubstitute();
    const unreached = await aClinicWithSubstitute('portal-b');
    await planned(absent([own.schedule], [substitute(other.schedule), silence('keep')]));
    await planned(absent([unreached.own.schedule], [substitute(unreached.other.schedule), silence('move')]));
    const offer = await offerOf(appointment);
    expect((await patch(offer.id ?? '', cancellation)).status).toBe(200);
    await rowOnce(appointment, (task) => outcomeOf(task) === 'declined');
    expect((await now(appointment)).status).toBe('cancelled');
    const call = await rowOnce(unreached.appointment, (task) => outcomeOf(task) === 'call');
    expect([call?.status, call?.for?.reference]).toEqual(['ready', `Patient/${unreached.patient.id}`]);
    expect((await now(unreached.appointment)).status).toBe('booked');
    const ticked = await medplum('front-desk', 'PUT', `/Task/${call?.id}`, { body: { ...call, status: 'completed' } });
    expect(ticked.status).toBe(200);
  });

  it('of several steps of a visit is one line and one call; of what is left of it, another one', async () => {
    const service = aService();
    const { schedule, slots } = await aCalendar(service, [9, 10, 11]);
    const patient = await aPatient();
    const steps = slots.map((slot) => proposedFor(patient, [slot], service));
    expect((await book(several(...steps))).status).toBe(201);
    const [first, second] = await stored('Appointment', `patient=Patient/${patient.id}&_sort=date`);
    if (!first || !second) {
      throw new Error('There is no visit.');
    }
    const ids = async () => {
      await runBot('end-requests');
      return linesIn(await planned(absent([schedule], [silence('keep')]))).map(({ id }) => id);
    };
    expect(linesIn(await planned(absent([schedule]))).map(({ id, reach }) => [id, reach])).toEqual([
      [first.id, 'call'],
    ]);
    expect(await ids()).toEqual([first.id]);
    await rowOnce(first, (task) => outcomeOf(task) === 'call');
    expect(await ids()).toEqual([first.id]);
    const current = await now(first);
    await medplum('front-desk', 'PUT', `/Appointment/${first.id}`, { body: { ...current, status: 'cancelled' } });
    const call = await rowOnce(second, (task) => outcomeOf(task) === 'call');
    expect(call?.description).toMatch(/^The visit of /);
    expect((await ids()).sort()).toEqual([first.id, second.id].sort());
  });

  describe('of a step of a visit', () => {
    /** Blood at nine, the ECG at ten within two hours of it; the ECG could also be at eleven, or at one. */
    async function aVisit(...more: readonly [number, number][]) {
      const [blood, ecg] = [aService(), aService()];
      const first = await aCalendar(blood, [9, 10.5, ...more]);
      const second = await aCalendar(ecg, [10, 13, [1, 11]]);
      const other = await aCalendar(ecg, [11, 13]);
      const part = (name: string, { id }: Schedule, ...more: Extension[]): Extension => ({
        url: 'step',
        extension: [
          { url: 'name', valueString: name },
          ...[{ id }, ...(name === 'ECG' ? [other.schedule] : [])].map((one) => ({
            url: 'schedule',
            valueReference: { reference: `Schedule/${one.id}` },
          })),
          ...more,
        ],
      });
      const body: HealthcareService = {
        resourceType: 'HealthcareService',
        active: true,
        extension: [
          {
            url: artefactUri(config, 'LocalVisit'),
            extension: [
              part('Blood', first.schedule),
              part(
                'ECG',
                second.schedule,
                { url: 'after', valueString: 'Blood' },
                { url: 'gapMax', valueDuration: { value: 2, code: 'h' } },
              ),
            ],
          },
        ],
      };
      const service = succeeded(
        'HealthcareService',
        await medplum('front-desk', 'POST', '/HealthcareService', { body }),
      );
      const patient = await aReachable();
      const steps = [first, second].map(({ slots }, index) => ({
        ...proposedFor(patient, slots.slice(0, 1), index === 0 ? blood : ecg),
        extension: [stepExtension({ service: service.id ?? '', step: index === 0 ? 'Blood' : 'ECG' }, config)],
      }));
      expect(refusalOf(await book(several(...steps)))).toEqual([201]);
      const appointments = await stored('Appointment', `patient=Patient/${patient.id}&_sort=date`);
      return { first, second, other, steps: appointments as [Appointment, Appointment] };
    }

    it('offers another time within its gaps; accepted, it is a step of the visit, and the rest stays', async () => {
      const { second, other, steps } = await aVisit();
      const [blood, ecg] = steps;
      const lines = linesIn(await planned(absent([second.schedule], [substitute(other.schedule), silence('keep')])));
      expect(lines.map(({ id, reach, start }) => [id, reach, start])).toEqual([[ecg.id, 'portal', at(0, 11)]]);
      const offer = await offerOf(ecg);
      expect(await accept(offer)).toBe(201);
      await rowOnce(ecg, (task) => outcomeOf(task) === 'moved');
      const after = await Promise.all([blood, ecg, offer].map(now));
      expect(after.map(({ status }) => status)).toEqual(['booked', 'cancelled', 'booked']);
      expect(after[2] && visitGroupOf(after[2], config)).toBe(visitGroupOf(blood, config));
    });

    /** A visit both of whose steps cannot take place, with the same ones free the day after: it is offered as a whole. */
    async function aWholeOffer(said: string) {
      const visit = await aVisit([1, 9.5]);
      const { first, second, steps } = visit;
      const schedules = [first.schedule, second.schedule];
      const sent = linesIn(await planned(absent(schedules))).map((line) => line.sent);
      const lines = linesIn(await planned(absent(schedules, [silence(said), ...sent])));
      expect(lines.map(({ id, schedule, reach, start }) => [id, schedule, reach, start])).toEqual([
        [steps[0].id, `Schedule/${first.schedule.id}`, 'portal', at(1, 9.5)],
      ]);
      const offer = await offerOf(steps[0]);
      const patient = offer.participant.find(({ actor }) => actor?.reference?.startsWith('Patient/'))?.actor?.reference;
      const offers = (await stored('Appointment', `patient=${patient}&_sort=date`)).filter(
        ({ status }) => status === 'proposed',
      );
      expect(offers.map(({ start }) => start)).toEqual([at(1, 9.5), at(1, 11)]);
      expect(offers.map((appointment) => offeredFor(appointment, config))).toEqual(
        offers.map(() => steps.map(({ id }) => id)),
      );
      expect((await Promise.all(steps.map(now))).map(({ status }) => status)).toEqual(['booked', 'booked']);
      const endsAs = async (outcome: string, ...expected: string[]) => {
        await rowOnce(steps[0], (row) => outcomeOf(row) === outcome);
        const appointments = await Promise.all([...steps, ...offers].map(now));
        expect(appointments.map(({ status }) => status)).toEqual(expected);
        expect(await rowsOf(steps[1])).toEqual([]);
      };
      return { ...visit, offers, endsAs };
    }

    it('offers another whole visit where more of it cannot take place: one line, one offer, one acceptance', async () => {
      const { first, second, offers, endsAs } = await aWholeOffer('keep');
      await planned(absent([first.schedule, second.schedule], [silence('keep')]));
      const half = await book(accepting(offers[0] as Appointment));
      expect(refusalOf(half)).toEqual([422, 'visit-mismatch Appointment.id']);
      expect((await book(several(...offers.map(accepting)))).status).toBe(201);
      await endsAs('moved', 'cancelled', 'cancelled', 'booked', 'booked');
    });

    it('ends as a whole with one decline; withdrawn where the absence ends, all of it stays', async () => {
      const { offers, endsAs } = await aWholeOffer('keep');
      expect((await patch(offers[1]?.id ?? '', cancellation)).status).toBe(200);
      await endsAs('declined', 'cancelled', 'cancelled', 'cancelled', 'cancelled');
      const ended = await aWholeOffer('cancel');
      await planned(absent([ended.first.schedule, ended.second.schedule], [{ name: 'end', valueInstant: at(0, 0) }]));
      const rows = await eventually(async () => {
        await runBot('end-requests');
        return rowsOf(ended.steps[0]);
      }).is(([row]) => row?.status === 'cancelled');
      expect(rows).toHaveLength(1);
      const appointments = await Promise.all([...ended.steps, ...ended.offers].map(now));
      expect(appointments.map(({ status }) => status)).toEqual(['booked', 'booked', 'cancelled', 'cancelled']);
    });

    it('is one line where other absences hit other steps, and a call where more of it cannot take place', async () => {
      const { first, second, steps } = await aVisit();
      await planned(absent([second.schedule], [silence('keep')]));
      const [row] = await rowsOf(steps[1]);
      expect(row).toBeDefined();
      expect(linesIn(await planned(absent([first.schedule], [silence('keep')])))).toEqual([]);
      await runBot('end-requests');
      expect(await rowsOf(steps[0])).toEqual([]);
      const both = await aVisit();
      const lines = linesIn(await planned(absent([both.first.schedule, both.second.schedule])));
      expect(lines.map(({ id, reach, start }) => [id, reach, start])).toEqual([[both.steps[0].id, 'call', undefined]]);
    });
  });

  it('offers another time for one of a series, which then is one of it', async () => {
    const service = aService();
    const extension = [
      { url: 'count', valuePositiveInt: 2 },
      { url: 'every', valueDuration: { value: 1, code: 'd' } },
    ];
    const body: HealthcareService = {
      resourceType: 'HealthcareService',
      active: true,
      type: [service],
      extension: [{ url: artefactUri(config, 'LocalVisit'), extension: [{ url: 'series', extension }] }],
    };
    const visiting = succeeded(
      'HealthcareService',
      await medplum('front-desk', 'POST', '/HealthcareService', { body }),
    );
    const { schedule, slots } = await aCalendar(service, [9, [1, 9], [1, 14]], {
      actor: [{ reference: `HealthcareService/${visiting.id}` }],
    });
    const patient = await aReachable();
    const series = slots.slice(0, 2).map((slot, index) => ({
      ...proposedFor(patient, [slot], service),
      extension: [stepExtension({ service: visiting.id ?? '', step: String(index + 1) }, config)],
    }));
    const booked = await book(several(...series));
    expect(refusalOf(booked)).toEqual([201]);
    const [first, second] = (await stored('Appointment', `patient=Patient/${patient.id}&_sort=date`)) as [
      Appointment,
      Appointment,
    ];
    const [line] = linesIn(await planned(absent([schedule], [silence('keep')])));
    expect([line?.id, line?.reach, line?.start]).toEqual([first.id, 'portal', at(1, 14)]);
    const offer = await offerOf(first);
    expect(await accept(offer)).toBe(201);
    const after = await Promise.all([first, second, offer].map(now));
    expect(after.map(({ status }) => status)).toEqual(['cancelled', 'booked', 'booked']);
    expect(after[2] && seriesOf(after[2], config)).toBe(seriesOf(second, config));
  });

  it.each([
    ['keep', 'call', 'booked', 'free'],
    ['cancel', 'declined', 'cancelled', 'free'],
    ['move', 'moved', 'cancelled', 'busy'],
  ])('that nobody answers for: %s', async (said, outcome, status, time) => {
    const { own, other, appointment } = await aClinicWithSubstitute('portal-a', policy(length('offerFor', 1, 's')));
    await planned(absent([own.schedule], [substitute(other.schedule), silence(said)]));
    await rowOnce(appointment, (task) => outcomeOf(task) === outcome);
    expect((await now(appointment)).status).toBe(status);
    await runBot('reconcile');
    expect((await statusesOn(other.schedule))[0]).toBe(time);
  });

  it('as staff have changed it', async () => {
    const { own, other, appointment } = await aClinicWithSubstitute();
    const [line] = linesIn(await planned(absent([own.schedule], [substitute(other.schedule)])));
    const [, ten] = other.slots;
    const proposal = (slot: string, start: string, end: string) => ({
      name: 'plan',
      part: [
        { name: 'appointment', valueReference: { reference: `Appointment/${line?.id}` } },
        {
          name: 'proposal',
          part: [
            { name: 'schedule', valueReference: { reference: `Schedule/${other.schedule.id}` } },
            { name: 'slot', valueReference: { reference: slot } },
            { name: 'start', valueInstant: start },
            { name: 'end', valueInstant: end },
          ],
        },
      ],
    });
    const wrong = await absence(
      absent(
        [own.schedule],
        [substitute(other.schedule), silence('keep'), proposal('Slot/unknown', at(0, 10), at(0, 10.5))],
      ),
    );
    expect(refusalOf(wrong)).toEqual([422, 'slot-not-found Parameters.parameter[5]']);
    const right = proposal(`Slot/${ten?.id}`, at(0, 10), at(0, 10.5));
    await planned(absent([own.schedule], [substitute(other.schedule), silence('keep'), right]));
    expect((await offerOf(appointment)).start).toBe(at(0, 10));
  });

  it('leaves no time that somebody holds to be booked', async () => {
    const service = aService();
    const own = await aCalendar(service, [9]);
    const wanted = proposedFor(await aPatient(), own.slots, service);
    const held = resourceIn('Appointment', await hold(wanted));
    await planned(absent([own.schedule], [silence('keep')]));
    expect(refusalOf(await book({ ...wanted, id: held.id }))).toEqual([409, 'slot-not-free Appointment.slot[0]']);
  });
});

describe('an absence', () => {
  it('that ends early gives back what was not accepted', async () => {
    const { own, other, appointment } = await aClinicWithSubstitute();
    const body = [substitute(other.schedule), silence('keep')];
    await planned(absent([own.schedule], body));
    const offer = await offerOf(appointment);
    const ended = await planned(absent([own.schedule], [{ name: 'end', valueInstant: new Date().toISOString() }]));
    expect(linesIn(ended).map(({ outcome }) => outcome)).toEqual(['over']);
    expect([(await now(appointment)).status, (await now(offer)).status]).toEqual(['booked', 'cancelled']);
    expect(await statusesOn(own.schedule)).toEqual(['busy']);
    expect(await statusesOn(other.schedule)).toEqual(['free', 'free']);
    const gone = await absence(
      absent([own.schedule], [{ name: 'end', valueInstant: new Date().toISOString() }], {
        start: at(3, 0),
        end: at(4, 0),
      }),
    );
    expect(refusalOf(gone)).toEqual([422, 'transition-not-allowed Parameters']);
  });

  it('that nobody confirms is over with its period', async () => {
    const { own } = await aClinicWithSubstitute();
    const [start, end] = [0, 2_000].map((time) => new Date(Date.now() + time).toISOString());
    const { parameter = [] } = await planned(absent([own.schedule], [], { start: start ?? '', end: end ?? '' }));
    const id = parameter.find(({ name }) => name === 'absence')?.valueReference?.reference?.split('/')[1];
    const [row] = await eventually(async () => {
      await runBot('end-requests');
      return stored('Task', `_id=${id}`);
    }).is(([one]) => one?.status !== 'draft');
    expect(row?.status).toBe('cancelled');
  });

  it('is replaced by its person: moved', async () => {
    const { service, own, other, appointment, patient } = await aClinicWithSubstitute();
    await planned(absent([own.schedule], [substitute(other.schedule), silence('keep')]));
    const [slot] = await stored('Slot', `schedule=Schedule/${other.schedule.id}&status=free&_sort=-start`);
    const replaced = { name: 'cancelled-appt-id', valueUri: `Appointment/${appointment.id}` };
    const body = parameters(proposedFor(patient, slot ? [slot] : [], service));
    const made = await book({ ...body, parameter: [...body.parameter, replaced] });
    expect(made.status).toBe(201);
    expect(outcomeOf(await rowOnce(appointment, (task) => outcomeOf(task) !== undefined))).toBe('moved');
  });

  it('over another one: each appointment has one row, and an offer in the second is renewed', async () => {
    const service = aService();
    const [own, first, second] = [
      await aCalendar(service, [9]),
      await aCalendar(service, [9]),
      await aCalendar(service, [9]),
    ];
    const { appointment } = await aBooked(own.slots, service);
    const substitutes = [substitute(first.schedule), substitute(second.schedule)];
    const [line] = linesIn(await planned(absent([own.schedule], [...substitutes, silence('keep')])));
    const [taken, left] = line?.schedule === `Schedule/${first.schedule.id}` ? [first, second] : [second, first];
    const offer = await offerOf(appointment);
    await planned(absent([taken.schedule], [silence('keep')]));
    await planned(absent([own.schedule], [silence('keep')], { start: at(0, 8), end: at(0, 12) }));
    await rowOnce(appointment, ({ input = [] }) =>
      input.some(
        ({ valueReference }) =>
          valueReference?.reference?.startsWith('Appointment/') &&
          valueReference.reference !== `Appointment/${offer.id}`,
      ),
    );
    const renewed = await offerOf(appointment);
    expect([(await now(offer)).status, renewed.slot]).toEqual([
      'cancelled',
      [{ reference: `Slot/${left.slots[0]?.id}` }],
    ]);
    expect(await rowsOf(appointment)).toHaveLength(1);
    expect(await accept(renewed)).toBe(201);
    await rowOnce(appointment, (task) => outcomeOf(task) === 'moved');
  });

  it('is for staff alone', async () => {
    const { own } = await aClinicWithSubstitute();
    const refused = await absence(absent([own.schedule]), 'portal-a');
    expect([refused.status, resourceIn('OperationOutcome', refused).issue[0]?.code]).toEqual([403, 'forbidden']);
    expect((await request('front-desk', 'GET', '/Schedule/$absence')).status).toBe(405);
  });

  it('that is malformed is refused with all that is wrong', async () => {
    const refused = await absence({
      resourceType: 'Parameters',
      parameter: [
        { name: 'schedule', valueReference: { reference: 'Patient/1' } },
        { name: 'period', valuePeriod: { start: '2030-01-02', end: '2030-01-01' } },
        { name: 'silence', valueCode: 'perhaps' },
        { name: 'colour', valueString: 'red' },
      ],
    });
    expect([refused.status, issuesOf(refused).sort()]).toEqual([
      400,
      [
        'malformed-request Parameters.parameter[0]',
        'malformed-request Parameters.parameter[2]',
        'parameter-unknown Parameters.parameter[3]',
        'period-invalid Parameters.parameter[1]',
      ],
    ]);
  });
});
