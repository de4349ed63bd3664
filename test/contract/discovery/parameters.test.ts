import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Appointment, Bundle, HumanName, Patient, Schedule, Slot } from '@medplum/fhirtypes';
import { isResource } from '../../../core/fhir/resource.ts';
import { instantOf } from '../../../core/time/time-zone.ts';
import { aClinic, aPatient, aSchedule, aSlot, book, proposed, simultaneously, succeeded } from '../fixtures.ts';
import { isActionable, issuesOf, medplum, request, resourceIn } from '../http.ts';
import { base, config, type Role } from '../installation.ts';

describe('any search', () => {
  it('gives pages whose links lead back through the service', async () => {
    const schedule = await aSchedule();
    const slots = await simultaneously(5, (index) => aSlot(schedule, index * 30, index * 30 + 30));
    const seen: (string | undefined)[] = [];
    let path: string | undefined = `/Slot?schedule=Schedule/${schedule.id}&_count=2&_sort=start`;
    for (let page = 0; path && page < 5; page++) {
      const bundle: Bundle = resourceIn('Bundle', await request('portal-a', 'GET', path));
      seen.push(...(bundle.entry ?? []).map(({ resource }) => resource?.id));
      const next: string | undefined = bundle.link?.find(({ relation }) => relation === 'next')?.url;
      expect(next ?? base).toMatch(new RegExp(`^${base}`));
      path = next?.slice(base.length);
    }
    expect(seen).toEqual(slots.map(({ id }) => id));
  });

  it('knows _id, _tag and _include', async () => {
    const tag = { system: 'urn:test', code: `tag-${Date.now()}` };
    const schedule = await aSchedule();
    const slot = await aSlot(schedule, 0, 30, { meta: { tag: [tag] } });
    const byId = await request('portal-a', 'GET', `/Slot?_id=${slot.id}&_include=Slot:schedule`);
    const types = (resourceIn('Bundle', byId).entry ?? []).map(({ resource }) => resource?.resourceType);
    expect(types.sort()).toEqual(['Schedule', 'Slot']);
    const byTag = await request('portal-a', 'GET', `/Slot?_tag=${tag.system}|${tag.code}`);
    const found = (resourceIn('Bundle', byTag).entry ?? []).map(
      ({ resource }) => isResource(resource, 'Slot') && resource.id,
    );
    expect(found).toEqual([slot.id]);
  });

  it.each(['/Slot/?_count=1', '/Slot?_count', '/Slot?_count=', '/Slot/?_count=1&status'])(
    'works with a slash before the query and with empty parameters: %s',
    async (path) => {
      const answer = await request('portal-a', 'GET', path);
      expect(answer.status).toBe(200);
      expect(resourceIn('Bundle', answer).type).toBe('searchset');
    },
  );
});

describe('chains', () => {
  const family = `Kette${randomUUID().replaceAll('-', '')}`;
  let patient: Patient;
  let appointment: Appointment;

  beforeAll(async () => {
    const clinic = await aClinic();
    patient = await aPatient('portal-a', { name: [{ family }] });
    appointment = succeeded('Appointment', await book(proposed(patient, [clinic.slot])));
  });

  async function found(role: Role, path: string) {
    const { total, entry = [], link = [] } = resourceIn('Bundle', await request(role, 'GET', path));
    return {
      total,
      ids: entry.map(({ resource }) => resource?.id),
      next: link.find(({ relation }) => relation === 'next')?.url,
    };
  }

  describe('a chain', () => {
    it.each<[string, () => string]>([
      ['through a patient', () => `patient.family=${family}`],
      ['through a participant', () => `actor:Patient.family=${family}`],
      ['through a patient and on', () => `patient.family=${family}&slot.schedule.active=true`],
      ['with a modifier at its end', () => `patient.family:exact=${family}`],
    ])("%s finds the caller's own, and what staff may read", async (_, query) => {
      expect((await found('portal-a', `/Appointment?${query()}`)).ids).toEqual([appointment.id]);
      expect((await found('front-desk', `/Appointment?${query()}`)).ids).toEqual([appointment.id]);
      expect((await found('portal-b', `/Appointment?${query()}`)).ids).toEqual([]);
    });

    it('is counted', async () => {
      expect((await found('portal-a', `/Appointment?patient.family=${family}&_total=accurate`)).total).toBe(1);
      expect((await found('portal-b', `/Appointment?patient.family=${family}&_total=accurate`)).total).toBe(0);
    });

    it('stands in the links to further pages', async () => {
      const clinic = await aClinic();
      const second = succeeded('Appointment', await book(proposed(patient, [clinic.slot])));
      const first = await found('portal-a', `/Appointment?patient.family=${family}&_count=1`);
      expect(first.next).toContain(`patient.family=${family}`);
      const rest = await found('portal-a', `/Appointment?${first.next?.split('?')[1]}`);
      expect([...first.ids, ...rest.ids]).toEqual([appointment.id, second.id]);
    });

    it('to what the clinic alone may read finds nothing', async () => {
      const foreign = await aPatient('portal-b', { name: [{ family: `${family}B` }] });
      const own = await aPatient('portal-a');
      const link = [{ type: 'seealso' as const, other: { reference: `Patient/${foreign.id}` } }];
      succeeded('Patient', await request('portal-a', 'PUT', `/Patient/${own.id}`, { body: { ...own, link } }));
      const path = `/Patient?link:Patient.family=${family}B`;
      expect((await found('portal-a', path)).ids).toEqual([]);
      expect((await found('front-desk', path)).ids).toEqual([own.id]);
    });

    it('is refused in If-None-Exist', async () => {
      const headers = { 'if-none-exist': 'link:Patient.family=x' };
      const answer = await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient' }, headers });
      expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'malformed-request http.link:Patient.family']);
      expect(isActionable(answer)).toBe(true);
    });

    it('of several types says which', async () => {
      const answer = await request('portal-a', 'GET', '/Appointment?actor.name=x');
      expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'malformed-request http.actor.name']);
      expect(answer.text).toContain('Patient, Practitioner, PractitionerRole, HealthcareService, Location');
    });
  });

  it('staff see a patient that they search for as Medplum itself finds it', async () => {
    const query = `/Appointment?patient.family=${family}&_sort=_lastUpdated,_id`;
    const direct = resourceIn('Bundle', await medplum('front-desk', 'GET', query)).entry?.map(
      ({ resource }) => resource?.id,
    );
    expect((await found('front-desk', query)).ids).toEqual(direct);
  });
});

describe('dates', () => {
  const hour = 3_600_000;

  /** What the clocks of the installation show at the time that is written, as an instant. */
  const local = (time: string) => new Date(instantOf(config.timeZone, Date.parse(`${time}Z`))).toISOString();

  const slotAt = (schedule: Schedule, time: string) =>
    aSlot(schedule, 0, 0, { start: local(time), end: new Date(Date.parse(local(time)) + hour).toISOString() });

  async function find(path: string): Promise<string[]> {
    const answer = await request('portal-a', 'GET', path);
    expect(answer.status).toBe(200);
    const bundle = resourceIn('Bundle', answer);
    return (bundle.entry ?? []).map(({ resource }) => resource?.id ?? '');
  }

  describe('a day in a search for slots', () => {
    /** The last hour of a day, both ends of the next, and the first hour of the one after; then a week later. */
    const times = [
      '2031-12-31T23:00:00',
      '2032-01-01T00:00:00',
      '2032-01-01T23:00:00',
      '2032-01-02T00:00:00',
      '2032-01-07T23:00:00',
      '2032-01-08T00:00:00',
    ];
    let schedule: Schedule;
    let slots: Slot[];

    beforeAll(async () => {
      schedule = await aSchedule();
      slots = await Promise.all(times.map((time) => slotAt(schedule, time)));
    });

    const found = async (query: string) => {
      const ids = await find(`/Slot?schedule=Schedule/${schedule.id}&_sort=start&${query}`);
      return ids.map((id) => slots.findIndex((slot) => slot.id === id));
    };

    it.each<[string, number[]]>([
      ['start=2032-01-01', [1, 2]],
      ['start=eq2032-01-01', [1, 2]],
      ['start=ne2032-01-01', [0, 3, 4, 5]],
      ['start=gt2032-01-01', [3, 4, 5]],
      ['start=sa2032-01-01', [3, 4, 5]],
      ['start=ge2032-01-01', [1, 2, 3, 4, 5]],
      ['start=lt2032-01-01', [0]],
      ['start=eb2032-01-01', [0]],
      ['start=le2032-01-01', [0, 1, 2]],
      ['start=ge2032-01-01&start=le2032-01-07', [1, 2, 3, 4]],
      ['start=2031-12-31,2032-01-07', [0, 4]],
      ['start=2032', [1, 2, 3, 4, 5]],
      ['start=2031-12', [0]],
      ['start=2032-01-01T23:00', [2]],
    ])('%s', async (query, expected) => {
      expect(await found(query)).toEqual(expected);
    });

    it('is found page by page, by links that repeat what was asked', async () => {
      const answer = await request(
        'portal-a',
        'GET',
        `/Slot?schedule=Schedule/${schedule.id}&start=ne2032-01-01&_count=3`,
      );
      const next = resourceIn('Bundle', answer).link?.find(({ relation }) => relation === 'next')?.url ?? '';
      expect(next).toContain('start=ne2032-01-01');
      expect(await find(next.slice(config.baseUrl.length))).toHaveLength(1);
    });

    it.each(['tomorrow', '2032-02-30', 'ge2032-01-01T25:00:00Z'])(
      'start=%s is refused, whoever would answer it',
      async (value) => {
        const answer = await request('portal-a', 'GET', `/Slot?start=${value}`);
        expect(answer.status).toBe(400);
        expect(issuesOf(answer)).toEqual(['malformed-request http.start']);
      },
    );
  });

  it('a day in a search for appointments, also by their slots', async () => {
    const [schedule, patient] = await Promise.all([aSchedule(), aPatient()]);
    const slot = await slotAt(schedule, '2032-02-03T00:00:00');
    const { start, end } = slot;
    const booked = succeeded('Appointment', await book(proposed(patient, [slot], { start, end })));
    const own = `/Appointment?patient=Patient/${patient.id}`;
    for (const condition of [
      'date=2032-02-03',
      'date=2032-02-02,2032-02-03',
      'slot.start=2032-02-03',
      'date=le2032-02-03',
    ]) {
      expect(await find(`${own}&${condition}`)).toEqual([booked.id]);
    }
    for (const condition of ['date=2032-02-02', 'date=ne2032-02-03', 'slot.start=2032-02-02', 'date=gt2032-02-03']) {
      expect(await find(`${own}&${condition}`)).toEqual([]);
    }
  });

  it('a year of birth, and the day of a change', async () => {
    const patient: Patient = await aPatient('portal-a', { birthDate: '1990-12-31' });
    const found = (condition: string) => find(`/Patient?_id=${patient.id}&${condition}`);
    for (const condition of [
      'birthdate=1990',
      'birthdate=1990-12',
      'birthdate=gt1989',
      'birthdate=le1990',
      'birthdate=ne1991',
    ]) {
      expect(await found(condition)).toEqual([patient.id]);
    }
    for (const condition of ['birthdate=1989', 'birthdate=gt1990', 'birthdate=lt1990', 'birthdate=ne1990']) {
      expect(await found(condition)).toEqual([]);
    }
    const changed = patient.meta?.lastUpdated?.slice(0, 4);
    expect(await found(`_lastUpdated=${changed}`)).toEqual([patient.id]);
    expect(await found(`_lastUpdated=ne${changed}`)).toEqual([]);
  });
});

/** Whether the search finds, of a patient of this name and another one, just the former. */
async function finds(name: HumanName, query: string): Promise<boolean> {
  const [wanted, other] = [await aPatient('portal-a', { name: [name] }), await aPatient()];
  const path = `/Patient?_id=${wanted.id},${other.id}&${query}`;
  const answer = await request('portal-a', 'GET', path);
  expect(answer.status).toBe(200);
  const ids = (resourceIn('Bundle', answer).entry ?? []).map(({ resource }) => resource?.id);
  expect([[], [wanted.id]]).toContainEqual(ids);
  return ids.length === 1;
}

/** From the public test suite of ISiK: the names of a patient, and how they are searched for. */
const german: HumanName = { family: 'Gräfin Müßtermánn', given: ['An&na,Vic$tor|a', 'Ğabriele'] };

it.each<[string, HumanName]>([
  ['family:contains=Gr%C3%A4fin%20M%C3%BC%C3%9Fterm%C3%A1nn', german],
  ['given:contains=An%26na%5C%2CVic%24tor%7Ca', german],
  ['given=An%26na%5C%2CVic%24tor%7Ca', german],
  ['given=An%26na%5C%2CVic%5C%24tor%5C%7Ca', german],
  ['given=an%26NA', german],
  ['family=gr%C3%84fin+m%C3%BC%C3%9F', german],
  ['family:exact=Gr%C3%A4fin%20M%C3%BC%C3%9Fterm%C3%A1nn', german],
  ['name=%C4%9Eabriele', german],
  ['family=Gra%CC%88fin', german],
  ['family:contains=Mu%CC%88%C3%9Fterma%CC%81nn', german],
  ['family:exact=Gra%CC%88fin%20Mu%CC%88%C3%9Fterma%CC%81nn', german],
  ["family=O'Hara", { family: "O'Hara" }],
  ['family=O%E2%80%99Hara', { family: "O'Hara" }],
  ['family=Hara', { family: "O'Hara" }],
  ['family=Meier-Schm', { family: 'Meier-Schmidt' }],
  ['family=St.Clair', { family: 'St.Clair' }],
  ['given=Anna/Mar', { family: 'Kim', given: ['Anna/Maria'] }],
  ['family=100%25_', { family: '100%_Ok' }],
  ['family=back%5C%5Cslash', { family: 'back\\slash' }],
  ['family=%F0%9F%98%80', { family: '😀 Smile' }],
  ['family=%F0%9F%98%80,Xu', { family: 'Xu' }],
  ['family=Mu%CC%88:', { family: 'Mu\u0308:ller' }],
  ['family:contains=M%C3%BCll', { family: 'Mu\u0308ller' }],
  ['family=%E6%9D%8E', { family: '李', given: ['明'] }],
  ['name=%D0%94%D0%BC%D0%B8', { family: 'Дмитриев' }],
  ['family=%E0%A4%95%E0%A5%81%E0%A4%AE', { family: 'कुमार' }],
])('by %s', async (query, name) => {
  expect(await finds(name, query)).toBe(true);
});

it.each([
  'family=%F0%9F%98%80',
  'family=!',
  "given='",
  'name=-',
  'family:contains=%25',
  'family=_',
  'family:exact=Meier*',
])('nobody is found by what no name has: %s', async (query) => {
  expect(await finds({ family: 'Meier', given: ['Kim'] }, query)).toBe(false);
});

it.each(['family=%2C', 'family=%5C', 'given:contains=%2C,', 'family=M%FCller'])('%s is refused', async (query) => {
  const answer = await request('portal-a', 'GET', `/Patient?${query}`);
  expect([answer.status, issuesOf(answer)[0]]).toEqual([400, expect.stringMatching(/^malformed-request http\./)]);
});

it('If-None-Exist with a name without letters finds nobody, and creates', async () => {
  await aPatient();
  const headers = { 'if-none-exist': 'family=%F0%9F%98%B6%E2%80%8D%F0%9F%8C%AB' };
  const body = { resourceType: 'Patient', name: [{ family: 'Nebel' }] };
  expect((await request('portal-a', 'POST', '/Patient', { body, headers })).status).toBe(201);
});

describe('tokens', () => {
  async function find(path: string): Promise<(string | undefined)[]> {
    const answer = await request('portal-a', 'GET', path);
    expect(answer.status).toBe(200);
    return (resourceIn('Bundle', answer).entry ?? []).map(({ resource }) => resource?.id);
  }

  it('a status is found by its code, with its code system or without', async () => {
    const schedule = await aSchedule();
    const [free, busy] = [await aSlot(schedule, 0, 30), await aSlot(schedule, 30, 60, { status: 'busy' })];
    const own = `/Slot?schedule=Schedule/${schedule.id}&_sort=start`;
    const system = 'http://hl7.org/fhir/slotstatus';
    expect(await find(`${own}&status=free`)).toEqual([free.id]);
    expect(await find(`${own}&status=${system}|free`)).toEqual([free.id]);
    expect(await find(`${own}&status=${system}|free,${system}|busy`)).toEqual([free.id, busy.id]);
    expect(await find(`${own}&status:not=${system}|free`)).toEqual([busy.id]);
    expect(await find(`${own}&status=http://hl7.org/fhir/appointmentstatus|free`)).toEqual([]);
    expect(await find(`${own}&schedule.active=http://terminology.hl7.org/CodeSystem/special-values|true`)).toHaveLength(
      2,
    );
  });

  it('other codes and booleans are found the same way', async () => {
    const patient = await aPatient('portal-a', { gender: 'female', active: true });
    const own = `/Patient?_id=${patient.id}`;
    expect(await find(`${own}&gender=http://hl7.org/fhir/administrative-gender|female`)).toEqual([patient.id]);
    expect(await find(`${own}&gender=http://hl7.org/fhir/administrative-gender|male`)).toEqual([]);
    expect(await find(`${own}&active=http://terminology.hl7.org/CodeSystem/special-values|true`)).toEqual([patient.id]);
  });

  it('a code system without a code is refused rather than finding nothing', async () => {
    const answer = await request('portal-a', 'GET', '/Slot?status=http://hl7.org/fhir/slotstatus|');
    expect(answer.status).toBe(400);
    expect(issuesOf(answer)).toEqual(['malformed-request http.status']);
  });

  it('a reference is found by the identifier that it carries', async () => {
    const identifier = { system: 'https://example.org/rooms', value: randomUUID() };
    const schedule = await aSchedule({ actor: [{ identifier, display: 'Room 1' }] });
    expect(await find(`/Schedule?actor:identifier=${identifier.system}|${identifier.value}`)).toEqual([schedule.id]);
    expect(await find(`/Schedule?actor:identifier=https://example.org/other|${identifier.value}`)).toEqual([]);
  });

  it('free slots are those to come, unless a start is asked for', async () => {
    const schedule = await aSchedule();
    const past = await aSlot(schedule, 0, 0, { start: '2020-01-06T08:00:00Z', end: '2020-01-06T08:30:00Z' });
    const future = await aSlot(schedule, 0, 30);
    const own = `/Slot?schedule=Schedule/${schedule.id}&_sort=start`;
    expect(await find(`${own}&status=free`)).toEqual([future.id]);
    expect(await find(`${own}&status=http://hl7.org/fhir/slotstatus|free`)).toEqual([future.id]);
    expect(await find(`${own}&status=free&start=ge2019`)).toEqual([past.id, future.id]);
    expect(await find(own)).toEqual([past.id, future.id]);
  });
});
