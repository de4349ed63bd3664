import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Appointment, Extension, HealthcareService, Schedule } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { localTimeOf } from '../../../core/time/time-zone.ts';
import { eventually } from '../../lib/until.ts';
import { aPatient, aSchedule, aSlot, book, minutes, proposed, several, slotsOf, succeeded } from '../fixtures.ts';
import { type Answer, issuesOf, medplum, refusalOf, request, resourceIn } from '../http.ts';
import { base, config, type Role } from '../installation.ts';

const length = (url: string, value: number): Extension => ({ url, valueDuration: { value, code: 'min' } });
const schedules = (...all: Schedule[]): Extension[] =>
  all.map(({ id }) => ({ url: 'schedule', valueReference: { reference: `Schedule/${id}` } }));
const step = (name: string, ...more: Extension[]): Extension => ({
  url: 'step',
  extension: [{ url: 'name', valueString: name }, ...more],
});

/** A service whose visits are like this. */
async function aService(...extension: Extension[]): Promise<HealthcareService> {
  const body: HealthcareService = {
    resourceType: 'HealthcareService',
    active: true,
    name: 'Before the operation',
    type: [{ coding: [{ system: artefactUri(config, 'LocalServiceType'), code: randomUUID() }] }],
    ...(extension.length > 0 && { extension: [{ url: artefactUri(config, 'LocalVisit'), extension }] }),
  };
  return succeeded('HealthcareService', await medplum('front-desk', 'POST', '/HealthcareService', { body }));
}

type Parameter = Readonly<Record<string, unknown>> & { readonly name: string };

/** `$find` for a service, in the first three hours of the morning unless it is said otherwise. */
const find = ({ id }: HealthcareService, role: Role = 'portal-a', ...more: Parameter[]) => {
  const service = { name: 'service', valueReference: { reference: `HealthcareService/${id}` } };
  const period = { name: 'period', valuePeriod: { start: minutes(0), end: minutes(180) } };
  const parameter = [service, ...(more.some(({ name }) => name === 'period') ? [] : [period]), ...more];
  return request(role, 'POST', '/Appointment/$find', { body: { resourceType: 'Parameters', parameter } });
};

/** The appointments of each proposal. */
const visitsIn = (response: Answer): Appointment[][] =>
  (resourceIn('Bundle', response).entry ?? []).flatMap(({ resource }) =>
    isResource(resource, 'Bundle')
      ? [(resource.entry ?? []).flatMap(({ resource: one }) => (isResource(one, 'Appointment') ? [one] : []))]
      : [],
  );

const offset = (instant = ''): number => (Date.parse(instant) - Date.parse(minutes(0))) / 60_000;

/** Visits as text: `A 0-30, B 40-60`. */
const shown = (response: Answer): string[] =>
  visitsIn(response).map((visit) =>
    visit
      .map(({ start, end, extension = [] }) => {
        const mark = extension.flatMap((one) => one.extension ?? []).find(({ url }) => url === 'step');
        return `${mark?.valueString ?? ''} ${offset(start)}-${offset(end)}`;
      })
      .join(', '),
  );

describe('a visit of two steps', () => {
  let rooms: Schedule[] = [];
  let service: HealthcareService;
  beforeAll(async () => {
    rooms = await Promise.all([aSchedule(), aSchedule(), aSchedule()]);
    const [blood, ecg, doctor] = rooms as [Schedule, Schedule, Schedule];
    await Promise.all([
      aSlot(blood, 0, 20),
      aSlot(blood, 60, 80),
      aSlot(ecg, 30, 50),
      aSlot(ecg, 90, 110),
      aSlot(doctor, 90, 150),
    ]);
    service = await aService(
      step('Blood', ...schedules(blood), length('duration', 20)),
      step(
        'ECG',
        ...schedules(ecg),
        { url: 'with', extension: schedules(doctor) },
        { url: 'after', valueString: 'Blood' },
        length('duration', 20),
        length('gapMax', 60),
      ),
    );
  });

  it('is found once for each start, where everybody who is needed is free', async () => {
    expect(shown(await find(service))).toEqual(['Blood 60-80, ECG 90-110']);
  });

  it('is found within the hours that are wished for', async () => {
    const time = (name: string, at: number): Parameter => ({
      name,
      valueTime: new Date(localTimeOf(config.timeZone, Date.parse(minutes(at)))).toISOString().slice(11, 19),
    });
    expect(shown(await find(service, 'portal-a', time('earliest', 0), time('latest', 100)))).toEqual([]);
    expect(shown(await find(service, 'portal-a', time('earliest', 60), time('latest', 110)))).toHaveLength(1);
  });

  it('shows portals its steps, and not who can take them', async () => {
    const [read, searched] = [
      await request('portal-a', 'GET', `/HealthcareService/${service.id}`),
      await request('portal-a', 'GET', `/HealthcareService?_id=${service.id}`),
    ];
    for (const { text } of [read, searched]) {
      expect(text).toContain('gapMax');
      expect(text).not.toContain('Schedule/');
    }
  });

  it('is booked as it stands', async () => {
    const patient = await aPatient();
    const response = await find(service, 'portal-a', {
      name: 'patient',
      valueReference: { reference: `Patient/${patient.id}` },
    });
    const [visit = []] = visitsIn(response);
    expect(refusalOf(await book(several(...visit)))).toEqual([201]);
    expect(await slotsOf(rooms[1] as Schedule)).toEqual(['free 30-50', 'busy 90-110']);
    expect(shown(await find(service))).toEqual([]);
  });
});

it('finds single appointments of a service without steps, and marks them with nothing', async () => {
  const service = await aService();
  const schedule = await aSchedule({ actor: [{ reference: `HealthcareService/${service.id}` }] });
  await Promise.all([aSlot(schedule, 0, 30), aSlot(schedule, 30, 60)]);
  const response = await find(service, 'portal-a', { name: 'count', valuePositiveInt: 1 });
  const [[only] = []] = visitsIn(response);
  expect(shown(response)).toEqual([' 0-30']);
  expect([only?.identifier, only?.extension, only?.status]).toEqual([undefined, undefined, 'proposed']);
});

it('proposes only what serves who pays, and says who pays in it', async () => {
  const kind = (code: string) => ({ system: artefactUri(config, 'LocalPayerKinds'), code });
  const service = await aService();
  const schedule = await aSchedule({ actor: [{ reference: `HealthcareService/${service.id}` }] });
  const extension = [{ url: artefactUri(config, 'LocalPayerKind'), valueCoding: kind('PKV') }];
  await Promise.all([aSlot(schedule, 0, 30, { extension }), aSlot(schedule, 30, 60)]);
  const asked = (valueCoding: unknown) => find(service, 'portal-a', { name: 'payer-kind', valueCoding });
  expect(shown(await asked(kind('PKV')))).toEqual([' 0-30', ' 30-60']);
  const response = await asked(kind('GKV'));
  expect(shown(response)).toEqual([' 30-60']);
  const [[only] = []] = visitsIn(response);
  expect(only?.extension).toEqual([{ ...extension[0], valueCoding: kind('GKV') }]);
  const { participant: _, ...proposal } = only as Appointment;
  const patient = await aPatient();
  const participant = [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' as const }];
  expect(refusalOf(await book({ ...proposal, participant }))).toEqual([201]);
  expect(issuesOf(await asked({ code: 'GKV' }))).toEqual(['malformed-request Parameters.parameter[2]']);
});

it('proposes for a series what fits, and near to it what does not', async () => {
  const day = 24 * 60;
  const week = { url: 'every', valueDuration: { value: 1, code: 'wk' } };
  const service = await aService({
    url: 'series',
    extension: [{ url: 'count', valuePositiveInt: 4 }, week, length('tolerance', 60)],
  });
  const schedule = await aSchedule({ actor: [{ reference: `HealthcareService/${service.id}` }] });
  const at = (weeks: number, from: number) => aSlot(schedule, weeks * 7 * day + from, weeks * 7 * day + from + 30);
  await Promise.all([at(0, 0), at(1, 0), at(2, 60), at(3, 120)]);
  const response = await find(service, 'portal-a', {
    name: 'period',
    valuePeriod: { start: minutes(0), end: minutes(4 * 7 * day) },
  });
  const [visit = []] = visitsIn(response);
  const instead = visit.map(
    ({ extension = [] }) =>
      extension.flatMap((one) => one.extension ?? []).find(({ url }) => url === 'instead')?.valueInstant,
  );
  expect(shown(response)[0]).toBe(`1 0-30, 2 ${7 * day}-${7 * day + 30}, 3 ${14 * day + 60}-${14 * day + 90}`);
  expect(instead).toEqual([undefined, undefined, minutes(14 * day)]);
  const last = await find(service, 'portal-a', { name: 'step', valueString: '4' });
  expect(shown(last)).toEqual(['4 0-30']);
});

it('keeps the order of what is left when an optional step is left out', async () => {
  const [blood, ecg, doctor] = (await Promise.all([aSchedule(), aSchedule(), aSchedule()])) as [
    Schedule,
    Schedule,
    Schedule,
  ];
  const after = (valueString: string) => ({ url: 'after', valueString });
  const optional = { url: 'optional', valueBoolean: true };
  const service = await aService(
    step('Blood', ...schedules(blood)),
    step('ECG', ...schedules(ecg), after('Blood'), optional),
    step('Doctor', ...schedules(doctor), after('ECG')),
  );
  await Promise.all([aSlot(doctor, 0, 20), aSlot(blood, 30, 50), aSlot(doctor, 60, 80)]);
  const found = await find(service, 'portal-a', { name: 'without', valueString: 'ECG' });
  expect(shown(found)).toEqual(['Blood 30-50, Doctor 60-80']);
});

describe('a visit of which several appointments were taken', () => {
  const day = 24 * 60;
  const week = { url: 'every', valueDuration: { value: 1, code: 'wk' } };

  /** What the first issue proposes instead: `A 0-30, B 40-60`, and each as it would be sent. */
  const wholesIn = (response: Answer, sent: readonly Appointment[]) =>
    (resourceIn('OperationOutcome', response).issue[0]?.extension ?? [])
      .filter(({ url }) => url === artefactUri(config, 'LocalAlternative'))
      .map(({ extension = [] }) => {
        const steps = extension
          .filter(({ url }) => url === 'step')
          .map(({ extension: parts = [] }) => {
            const part = (name: string) => parts.find(({ url }) => url === name);
            return {
              name: part('name')?.valueString ?? '',
              start: part('start')?.valueInstant ?? '',
              end: part('end')?.valueInstant ?? '',
              slot: parts.flatMap(({ valueReference }) => valueReference ?? []),
            };
          });
        const nameOf = ({ extension: marks = [] }: Appointment) =>
          marks.flatMap((one) => one.extension ?? []).find(({ url }) => url === 'step')?.valueString;
        return {
          text: steps.map(({ name, start, end }) => `${name} ${offset(start)}-${offset(end)}`).join(', '),
          appointments: sent.map((appointment) => {
            const { name: _, ...time } = steps.find(({ name }) => name === nameOf(appointment)) ?? {};
            return { ...appointment, ...time };
          }),
        };
      });

  const foundFor = async (service: HealthcareService, ...more: Parameter[]) => {
    const patient = await aPatient();
    const valueReference = { reference: `Patient/${patient.id}` };
    return visitsIn(await find(service, 'portal-a', { name: 'patient', valueReference }, ...more));
  };

  /** Sends something, at once or asynchronously. */
  const sent = async (operation: string, body: unknown, headers: Readonly<Record<string, string>>) => {
    const response = await request('portal-a', 'POST', `/Appointment/${operation}`, { body, headers });
    const path = response.headers.get('content-location')?.slice(base.length);
    return path === undefined
      ? response
      : eventually(() => request('portal-a', 'GET', path)).is(({ status }) => status !== 202);
  };

  it.each([
    ['$book', {}],
    ['$hold', {}],
    ['$book', { prefer: 'respond-async' }],
  ])('%s %p names other whole visits, each of which can be booked', async (operation, headers) => {
    const [blood, ecg] = (await Promise.all([aSchedule(), aSchedule()])) as [Schedule, Schedule];
    const service = await aService(
      step('Blood', ...schedules(blood)),
      step('ECG', ...schedules(ecg), { url: 'after', valueString: 'Blood' }, length('gapMax', 30)),
    );
    await Promise.all([0, 40, 80].flatMap((at) => [aSlot(blood, at, at + 10), aSlot(ecg, at + 20, at + 30)]));
    const [wanted = []] = await foundFor(service);
    const [[others = []]] = [await foundFor(service)];
    expect((await book(several(...others))).status).toBe(201);
    const refused = await sent(operation, several(...wanted), headers as Readonly<Record<string, string>>);
    const named = wholesIn(refused, wanted);
    expect([refused.status, issuesOf(refused).length]).toEqual([409, 2]);
    expect(named.map(({ text }) => text)).toEqual(['Blood 40-50, ECG 60-70', 'Blood 80-90, ECG 100-110']);
    expect((await book(several(...(named[0]?.appointments ?? [])))).status).toBe(201);
  });

  it('names other appointments of a series for those that were taken, and leaves the rest', async () => {
    const service = await aService({
      url: 'series',
      extension: [{ url: 'count', valuePositiveInt: 4 }, week, length('tolerance', 60)],
    });
    const schedule = await aSchedule({ actor: [{ reference: `HealthcareService/${service.id}` }] });
    const at = (weeks: number, from: number) => aSlot(schedule, weeks * 7 * day + from, weeks * 7 * day + from + 30);
    const [, , third, fourth] = await Promise.all([at(0, 0), at(1, 0), at(2, 0), at(3, 0), at(2, 30), at(3, 60)]);
    const period = { name: 'period', valuePeriod: { start: minutes(0), end: minutes(4 * 7 * day) } };
    const [wanted = []] = await foundFor(service, period);
    for (const slot of [third, fourth]) {
      const patient = await aPatient();
      const { start, end } = slot;
      expect((await book({ ...proposed(patient, [slot]), start, end }, 'front-desk')).status).toBe(201);
    }
    const refused = await book(several(...wanted));
    const [first] = wholesIn(refused, wanted);
    const regular = [0, 7 * day].map((start, index) => `${index + 1} ${start}-${start + 30}`);
    const instead = [14 * day + 30, 21 * day + 60].map((start, index) => `${index + 3} ${start}-${start + 30}`);
    expect(first?.text).toBe([...regular, ...instead].join(', '));
    expect((await book(several(...(first?.appointments ?? [])))).status).toBe(201);
  });
});

describe('what is refused', () => {
  const period = (start: string, end: string): Parameter => ({ name: 'period', valuePeriod: { start, end } });
  it.each<[string, Parameter, number, string]>([
    ['a parameter that $find does not have', { name: 'colour' }, 400, 'parameter-unknown Parameters.parameter[2].name'],
    ['a period that is none', { name: 'period' }, 400, 'malformed-request Parameters.parameter[1]'],
    [
      'a search for a thousand visits',
      { name: 'count', valuePositiveInt: 1_000 },
      400,
      'malformed-request Parameters.parameter[2]',
    ],
    [
      'a period that ends before it starts',
      period(minutes(30), minutes(0)),
      422,
      "period-invalid Parameters.parameter.where(name = 'period')",
    ],
    [
      'a period that is over',
      period('2020-01-01', '2020-01-31'),
      422,
      "start-in-past Parameters.parameter.where(name = 'period')",
    ],
    [
      'a period of ten years',
      period('2090-01-01', '2099-12-31'),
      422,
      "too-costly Parameters.parameter.where(name = 'period')",
    ],
    [
      'a step that the visit does not have',
      { name: 'step', valueString: '?' },
      422,
      "visit-mismatch Parameters.parameter.where(name = 'step')",
    ],
    [
      'a visit without a step that it needs',
      { name: 'without', valueString: 'Blood' },
      422,
      "visit-mismatch Parameters.parameter.where(name = 'without')",
    ],
  ])('%s', async (_, parameter, status, issue) => {
    const service = await aService(step('Blood', ...schedules(await aSchedule()), length('duration', 20)));
    expect(refusalOf(await find(service, 'portal-a', parameter))).toEqual([status, issue]);
  });

  it('a search without a service', async () => {
    const body = { resourceType: 'Parameters', parameter: [period(minutes(0), minutes(180))] };
    const refused = await request('portal-a', 'POST', '/Appointment/$find', { body });
    expect(refusalOf(refused)).toEqual([400, 'element-missing Parameters']);
  });

  it('a service that is not there, and one that the caller cannot book with anybody, whatever the reason', async () => {
    const gone = await find({ resourceType: 'HealthcareService', id: randomUUID() });
    const nobody = await find(
      await aService(step('Blood', ...schedules({ ...(await aSchedule()), id: randomUUID() }))),
    );
    const reference = `HealthcareService/${randomUUID()}`;
    const ofNoService = await find(await aService(step('Blood', { url: 'service', valueReference: { reference } })));
    expect(refusalOf(ofNoService)).toEqual(refusalOf(nobody));
    expect(refusalOf(gone)).toEqual([422, "service-not-found Parameters.parameter.where(name = 'service')"]);
    expect(refusalOf(nobody)).toEqual([422, "schedule-not-found Parameters.parameter.where(name = 'service')"]);
  });

  it('where it is saved: a visit that can never be', async () => {
    const body: HealthcareService = {
      resourceType: 'HealthcareService',
      extension: [{ url: artefactUri(config, 'LocalVisit'), extension: [step('Blood')] }],
    };
    const response = await medplum('front-desk', 'POST', '/HealthcareService', { body });
    expect(response.status).toBe(422);
    expect(response.text).toContain('visit-invalid');
  });
});
