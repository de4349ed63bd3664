/** What a search finds for one caller, page by page and counted. How a query is rewritten is in `test/gateway/search`. */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Appointment, Bundle, HumanName, Patient, Schedule, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { emptyClosedDays } from '../../core/fhir/scheduling/closed-days.ts';
import { instantOf } from '../../core/time/time-zone.ts';
import { rows } from '../lib/rows.ts';
import { aClinic, aPatient, aSchedule, aSlot, book, proposed, simultaneously, succeeded } from './fixtures.ts';
import { isActionable, issuesOf, medplum, refusalOf, request, resourceIn } from './http.ts';
import { base, config, type Role } from './installation.ts';

async function search(path: string, role: Role = 'portal-a', headers = {}): Promise<Bundle> {
  const response = await request(role, 'GET', path.replace(base, ''), { headers });
  expect([path, response.status]).toEqual([path, 200]);
  return resourceIn('Bundle', response);
}

const idsIn = ({ entry = [] }: Bundle) =>
  entry.flatMap(({ resource, search: { mode } = {} }) => (mode === 'match' ? (resource?.id ?? []) : []));

const find = async (path: string, role: Role = 'portal-a') => idsIn(await search(path, role));

const nextOf = ({ link = [] }: Bundle): string | undefined => link.find(({ relation }) => relation === 'next')?.url;

/** Whatever is found over all pages. */
async function pagesOf(path: string): Promise<Bundle[]> {
  const pages: Bundle[] = [];
  for (
    let next: string | undefined = path;
    next;
    next = nextOf(pages.at(-1) ?? { resourceType: 'Bundle', type: 'searchset' })
  ) {
    pages.push(await search(next));
    expect(next.startsWith('/') || next.startsWith(base)).toBe(true);
  }
  return pages;
}

describe('definitions', () => {
  async function codeSystemsFor(type: string) {
    const value = `${config.contextTypeSystem}|ResourceUsage$${config.resourceTypesSystem}|${type}`;
    const { entry = [] } = await search(`/CodeSystem?context-type-value=${encodeURIComponent(value)}`);
    return entry.map(({ resource }) => (resource && 'url' in resource ? resource.url : undefined));
  }

  it.each(['HealthcareService', 'Schedule'])('the code systems of %s are found, and no others', async (type) => {
    const urls = await codeSystemsFor(type);
    expect(urls).not.toContain(artefactUri(config, 'LocalBookingError'));
    expect(urls).toEqual(
      expect.arrayContaining([artefactUri(config, 'LocalServiceType'), artefactUri(config, 'LocalSpecialty')]),
    );
  });

  it('what the metadata names is found by its URL and read by the end of it; nothing else is, whatever Medplum has', async () => {
    const statement = (await request('nobody', 'GET', '/metadata')).text;
    for (const [type, artefact] of [
      ['StructureDefinition', 'LocalTermin'],
      ['OperationDefinition', 'book'],
    ] as const) {
      const url = artefactUri(config, artefact);
      const bundle = await search(`/${type}?url=${encodeURIComponent(url)}`);
      expect(bundle).toMatchObject({ type: 'searchset', total: 1, entry: [{ resource: { url } }] });
      const path = bundle.entry?.[0]?.fullUrl?.replace(base, '') ?? '';
      expect(path).toBe(`/${type}/${url.split('/').pop()}`);
      expect((await request('portal-a', 'GET', path)).body).toEqual(bundle.entry?.[0]?.resource);
    }
    for (const type of ['StructureDefinition', 'OperationDefinition', 'SearchParameter']) {
      const { entry = [] } = await search(`/${type}`);
      const urls = entry.map(({ resource }) => resource && 'url' in resource && resource.url);
      expect(urls.filter((url) => !statement.includes(`"${url}"`))).toEqual([]);
    }
    for (const url of [
      'http://hl7.org/fhir/StructureDefinition/Patient',
      artefactUri(config, 'LocalRequestor'),
      'x,y',
      '*',
    ]) {
      expect(await search(`/StructureDefinition?url=${encodeURIComponent(url)}`)).toMatchObject({ total: 0 });
    }
  });

  it('they are not read by the ids of Medplum, nor searched otherwise', async () => {
    const stored = await medplum('admin', 'GET', '/StructureDefinition?name=LocalTermin,ISiKTermin');
    const id = resourceIn('Bundle', stored).entry?.[0]?.resource?.id ?? randomUUID();
    expect((await request('portal-a', 'GET', `/StructureDefinition/${id}`)).status).toBe(404);
    const response = await request('portal-a', 'GET', '/StructureDefinition?name=LocalTermin');
    expect(refusalOf(response)).toEqual([400, 'malformed-request http.name']);
  });
});

describe('pages and totals', () => {
  let schedule: Schedule;
  let slots: Slot[];
  /** A service of its own, whose Schedule is that. */
  let code: string;

  beforeAll(async () => {
    code = randomUUID();
    const type = [{ coding: [{ system: 'urn:services', code }] }];
    const body = { resourceType: 'HealthcareService', name: 'Totals', type };
    const made = succeeded('HealthcareService', await medplum('front-desk', 'POST', '/HealthcareService', { body }));
    schedule = await aSchedule({ actor: [{ reference: `HealthcareService/${made.id}` }] });
    slots = await simultaneously(3, (index) => aSlot(schedule, index * 30, index * 30 + 30));
  });

  it.each(
    rows(`
    &_sort=start ¦ 3 ¦ 3
    &_count ¦ 3 ¦ 3
    &_count=2 ¦ 3 ¦ 2
    &_count=2&_offset=2 ¦ 3 ¦ 1
    &_count=1&_include=Slot:schedule ¦ 3 ¦ 2
    &_count=1&_total=accurate ¦ 3 ¦ 1
    &status=free ¦ 3 ¦ 3
    &_count=0 ¦ 3 ¦ 0
    &_summary=count ¦ 3 ¦ 0
    &_count=0&_total=none ¦ 3 ¦ 0
    &_total=none ¦ undefined ¦ 3
    &start=lt1990-01-01 ¦ 0 ¦ 0
    &status=busy ¦ 0 ¦ 0`),
  )(
    'a search for Slots with "%s" counts %s and gives %s, of one Schedule or of a service',
    async (query, total, entries) => {
      for (const whose of [
        `schedule=Schedule/${schedule.id}`,
        `schedule.actor:HealthcareService.type=urn:services%7C${code}`,
      ]) {
        const bundle = await search(`/Slot?${whose}${query}`);
        expect([`${bundle.total}`, `${bundle.entry?.length ?? 0}`]).toEqual([total, entries]);
      }
    },
  );

  it('pages lead back through the service, each with the same total', async () => {
    const pages = await pagesOf(`/Slot?schedule=Schedule/${schedule.id}&_count=2&_sort=start`);
    expect(pages.map(({ total }) => total)).toEqual([3, 3]);
    expect(pages.flatMap(idsIn)).toEqual(slots.map(({ id }) => id));
  });

  it('knows _tag and _include, a slash before the query and empty parameters', async () => {
    const tag = { system: 'urn:test', code: randomUUID() };
    const slot = await aSlot(schedule, 300, 330, { meta: { tag: [tag] } });
    const { entry = [] } = await search(`/Slot/?_tag=${tag.system}|${tag.code}&_include=Slot:schedule&status`);
    expect(entry.map(({ resource }) => resource?.id).sort()).toEqual([slot.id, schedule.id].sort());
    await medplum('front-desk', 'DELETE', `/Slot/${slot.id}`);
  });

  it('unknown parameters: refused where that is asked for, else ignored, left out of self, and named in an entry', async () => {
    const path = `/Slot?schedule=Schedule/${schedule.id}&colour=blue&schedule.taste=sweet`;
    const names = ['http.colour', 'http.schedule.taste'];
    const strict = await request('portal-a', 'GET', path, { headers: { prefer: 'handling=strict' } });
    expect(refusalOf(strict)).toEqual([400, ...names.map((name) => `malformed-request ${name}`)]);
    const lenient = { prefer: 'handling=lenient' };
    const { total, entry = [], link } = await search(path, 'portal-a', lenient);
    expect([total, entry.map((one) => one.search?.mode)]).toEqual([3, ['match', 'match', 'match', 'outcome']]);
    expect(link?.find(({ relation }) => relation === 'self')?.url).not.toMatch(/colour|taste/);
    const issue = names.map((name) => ({ severity: 'warning', code: 'not-supported', expression: [name] }));
    expect(entry[3]?.resource).toMatchObject({ resourceType: 'OperationOutcome', issue });
    const form = { ...lenient, 'content-type': 'application/x-www-form-urlencoded' };
    const posted = await request('portal-a', 'POST', '/Slot/_search', { body: path.slice(6), headers: form });
    expect(resourceIn('Bundle', posted).entry).toHaveLength(4);
    for (const query of ['status:below=free', 'start=tomorrow', '_count=many', '_sort=colour']) {
      expect((await request('portal-a', 'GET', `/Slot?${query}&colour=blue`, { headers: lenient })).status).toBe(400);
    }
    expect((await request('portal-a', 'GET', path)).status).toBe(config.handling === 'lenient' ? 200 : 400);
    const body = { resourceType: 'Patient', name: [{ family: 'Muster' }] };
    for (const condition of ['colour=blue', 'link:Patient.family=x']) {
      const headers = { ...lenient, 'if-none-exist': condition };
      const response = await request('portal-a', 'POST', '/Patient', { body, headers });
      expect(refusalOf(response)).toEqual([400, `malformed-request http.${condition.split('=')[0]}`]);
    }
  });
});

describe('a chain', () => {
  const family = `Kette${randomUUID().replaceAll('-', '')}`;
  let patient: Patient;
  let appointment: Appointment;

  beforeAll(async () => {
    const clinic = await aClinic();
    patient = await aPatient('portal-a', { name: [{ family }] });
    appointment = succeeded('Appointment', await book(proposed(patient, [clinic.slot])));
  });

  it.each([
    'patient.family={}',
    'actor:Patient.family={}',
    'patient.family={}&slot.schedule.active=true',
    'patient.family:exact={}&_total=accurate',
  ])("%s finds the caller's own, and what staff may read", async (query) => {
    const path = `/Appointment?${query.replace('{}', family)}`;
    expect(await find(path)).toEqual([appointment.id]);
    expect(await find(path, 'front-desk')).toEqual([appointment.id]);
    expect(await search(path, 'portal-b')).toMatchObject({ total: 0 });
  });

  it('stands in the links to further pages', async () => {
    const clinic = await aClinic();
    const second = succeeded('Appointment', await book(proposed(patient, [clinic.slot])));
    const pages = await pagesOf(`/Appointment?patient.family=${family}&_count=1`);
    expect(nextOf(pages[0] as Bundle)).toContain(`patient.family=${family}`);
    expect(pages.flatMap(idsIn)).toEqual([appointment.id, second.id]);
  });

  it('to what the clinic alone may read finds nothing; of several types it says which', async () => {
    const foreign = await aPatient('portal-b', { name: [{ family: `${family}B` }] });
    const own = await aPatient('portal-a');
    const link = [{ type: 'seealso' as const, other: { reference: `Patient/${foreign.id}` } }];
    succeeded('Patient', await request('portal-a', 'PUT', `/Patient/${own.id}`, { body: { ...own, link } }));
    const path = `/Patient?link:Patient.family=${family}B`;
    expect([await find(path), await find(path, 'front-desk')]).toEqual([[], [own.id]]);
    const response = await request('portal-a', 'GET', '/Appointment?actor.name=x');
    expect([...issuesOf(response), isActionable(response)]).toEqual(['malformed-request http.actor.name', true]);
  });
});

describe('dates', () => {
  /** What the clocks of the installation show at the time that is written, as an instant. */
  const local = (time: string) => new Date(instantOf(config.timeZone, Date.parse(`${time}Z`))).toISOString();

  const slotAt = (schedule: Schedule, time: string) => {
    const start = local(time);
    return aSlot(schedule, 0, 0, { start, end: new Date(Date.parse(start) + 3_600_000).toISOString() });
  };

  it('of appointments, of their slots, of birth and of a change', async () => {
    const patient = await aPatient('portal-a', { birthDate: '1990-12-31' });
    const slot = await slotAt(await aSchedule(), '2032-02-03T00:00:00');
    const { start, end } = slot;
    const booked = succeeded('Appointment', await book({ ...proposed(patient, [slot]), start, end }));
    const changed = patient.meta?.lastUpdated?.slice(0, 4);
    const found = ['date=2032-02-03', 'date=2032-02-02,2032-02-03', 'slot.start=2032-02-03', 'date=le2032-02-03'];
    const not = ['date=2032-02-02', 'date=ne2032-02-03', 'slot.start=2032-02-02', 'date=gt2032-02-03'];
    const born = [
      'birthdate=1990',
      'birthdate=1990-12',
      'birthdate=gt1989',
      'birthdate=le1990',
      `_lastUpdated=${changed}`,
    ];
    const unborn = ['birthdate=1989', 'birthdate=gt1990', 'birthdate=ne1990', `_lastUpdated=ne${changed}`];
    for (const [conditions, path, expected] of [
      [found, `/Appointment?patient=Patient/${patient.id}`, [booked.id]],
      [not, `/Appointment?patient=Patient/${patient.id}`, []],
      [born, `/Patient?_id=${patient.id}`, [patient.id]],
      [unborn, `/Patient?_id=${patient.id}`, []],
    ] as const) {
      for (const condition of conditions) {
        expect([condition, await find(`${path}&${condition}`)]).toEqual([condition, expected]);
      }
    }
  });
});

/** From the public test suite of ISiK: the names of a patient, and how they are searched for. */
const german: HumanName = { family: 'Gräfin Müßtermánn', given: ['An&na,Vic$tor|a', 'Ğabriele'] };

// biome-ignore format: a row a line
it.each<[HumanName, boolean, ...string[]]>([
  [german, true, 'family:contains=Gr%C3%A4fin%20M%C3%BC%C3%9Fterm%C3%A1nn', 'given:contains=An%26na%5C%2CVic%24tor%7Ca'],
  [german, true, 'given=An%26na%5C%2CVic%24tor%7Ca', 'given=An%26na%5C%2CVic%5C%24tor%5C%7Ca', 'given=an%26NA'],
  [german, true, 'family=gr%C3%84fin+m%C3%BC%C3%9F', 'family:exact=Gr%C3%A4fin%20M%C3%BC%C3%9Fterm%C3%A1nn', 'name=%C4%9Eabriele'],
  [german, true, 'family=Gra%CC%88fin', 'family:contains=Mu%CC%88%C3%9Fterma%CC%81nn', 'family:exact=Gra%CC%88fin%20Mu%CC%88%C3%9Fterma%CC%81nn'],
  [{ family: "O'Hara" }, true, "family=O'Hara", 'family=O%E2%80%99Hara', 'family=Hara'],
  [{ family: 'Meier-Schmidt' }, true, 'family=Meier-Schm'],
  [{ family: 'St.Clair', given: ['Anna/Maria'] }, true, 'family=St.Clair', 'given=Anna/Mar'],
  [{ family: '100%_Ok', given: ['back\\slash'] }, true, 'family=100%25_', 'given=back%5C%5Cslash'],
  [{ family: '😀 Smile', given: ['Xu'] }, true, 'family=%F0%9F%98%80', 'given=%F0%9F%98%80,Xu'],
  [{ family: 'Mu\u0308:ller' }, true, 'family=Mu%CC%88:', 'family:contains=M%C3%BC'],
  [{ family: '李', given: ['Дмитриев', 'कुमार'] }, true, 'family=%E6%9D%8E', 'name=%D0%94%D0%BC%D0%B8', 'given=%E0%A4%95%E0%A5%81%E0%A4%AE'],
  [{ family: 'Meier', given: ['Kim'] }, false, 'family=%F0%9F%98%80', 'family=!', "given='", 'name=-', 'family:contains=%25', 'family=_', 'family:exact=Meier*'],
])('%j is found (%s) by the names %s', async (name, isFound, ...queries) => {
  const [wanted, other] = [await aPatient('portal-a', { name: [name] }), await aPatient()];
  for (const query of queries) {
    const found = await find(`/Patient?_id=${wanted.id},${other.id}&${query}`);
    expect([query, found]).toEqual([query, isFound ? [wanted.id] : []]);
  }
});

it('If-None-Exist with a name without letters finds nobody, and creates', async () => {
  await aPatient();
  const headers = { 'if-none-exist': 'family=%F0%9F%98%B6%E2%80%8D%F0%9F%8C%AB' };
  const body = { resourceType: 'Patient', name: [{ family: 'Nebel' }] };
  expect((await request('portal-a', 'POST', '/Patient', { body, headers })).status).toBe(201);
});

describe('codes, references and defaults', () => {
  it('a code is found with its code system or without, a reference by the identifier that it carries', async () => {
    const identifier = { system: 'https://example.org/rooms', value: randomUUID() };
    const schedule = await aSchedule({ actor: [{ identifier, display: 'Room 1' }] });
    const [free, busy] = [await aSlot(schedule, 0, 30), await aSlot(schedule, 30, 60, { status: 'busy' })];
    const patient = await aPatient('portal-a', { gender: 'female', active: true });
    const unsaid = await aPatient('portal-a', { gender: undefined });
    const [system, own] = ['http://hl7.org/fhir/slotstatus', `/Slot?schedule=Schedule/${schedule.id}&_sort=start`];
    const special = 'http://terminology.hl7.org/CodeSystem/special-values';
    for (const [path, expected] of [
      [`${own}&status=free`, [free.id]],
      [`${own}&status=${system}|free`, [free.id]],
      [`${own}&status=${system}|free,${system}|busy`, [free.id, busy.id]],
      [`${own}&status:not=${system}|free`, [busy.id]],
      [`${own}&status=http://hl7.org/fhir/appointmentstatus|free`, []],
      [`${own}&schedule.active=${special}|true`, [free.id, busy.id]],
      [`/Patient?_id=${patient.id}&gender=http://hl7.org/fhir/administrative-gender|female`, [patient.id]],
      [`/Patient?_id=${patient.id}&gender=http://hl7.org/fhir/administrative-gender|male`, []],
      [`/Patient?_id=${patient.id}&active=${special}|true`, [patient.id]],
      [`/Patient?_id=${unsaid.id}&gender:not=other,unknown`, [unsaid.id]],
      [`/Patient?_id=${patient.id}&gender:not=female,unknown`, []],
      [`/Schedule?actor:identifier=${identifier.system}|${identifier.value}`, [schedule.id]],
      [`/Schedule?actor:identifier=https://example.org/other|${identifier.value}`, []],
    ] as const) {
      expect([path, await find(path)]).toEqual([path, expected]);
    }
  });

  it('free slots are those to come, unless a start is asked for', async () => {
    const schedule = await aSchedule();
    const past = await aSlot(schedule, 0, 0, { start: '2020-01-06T08:00:00Z', end: '2020-01-06T08:30:00Z' });
    const future = await aSlot(schedule, 0, 30);
    const own = `/Slot?schedule=Schedule/${schedule.id}&_sort=start`;
    expect([await find(`${own}&status=free`), await find(own)]).toEqual([[future.id], [past.id, future.id]]);
    expect(await find(`${own}&status=free&start=ge2019`)).toEqual([past.id, future.id]);
  });

  it('a Schedule that does not say whether it is active is open for booking, with the actors asked for; an inactive one is not', async () => {
    const body = { resourceType: 'Practitioner' };
    const practitioner = succeeded('Practitioner', await medplum('admin', 'POST', '/Practitioner', { body }));
    const actor = [{ reference: `Practitioner/${practitioner.id}` }];
    const unsaid = await aSchedule({ actor, active: undefined });
    await aSchedule({ actor, active: false });
    const own = `/Schedule?actor=Practitioner/${practitioner.id}`;
    expect(await find(own)).toEqual([unsaid.id]);
    for (const [target, types] of [
      ['Practitioner', ['Schedule', 'Practitioner']],
      ['Location', ['Schedule']],
    ] as const) {
      const { entry = [] } = await search(`${own}&_include=Schedule:actor:${target}`);
      expect(entry.map(({ resource }) => resource?.resourceType)).toEqual(types);
    }
  });

  it('the list of closed days is not among the services, even if asked for', async () => {
    const name = `Service ${Date.now()}`;
    const make = async (body: object) =>
      succeeded('HealthcareService', await medplum('admin', 'POST', '/HealthcareService', { body }));
    const stored = await make({ ...emptyClosedDays(config), name });
    const inactive = await make({ resourceType: 'HealthcareService', active: false, name });
    for (const query of [`name=${name}`, `_id=${stored.id},${inactive.id}`, `active=false&name=${name}`]) {
      const bundle = await search(`/HealthcareService?${query}`);
      expect([bundle.total, idsIn(bundle)]).toEqual([1, [inactive.id]]);
    }
    await medplum('admin', 'DELETE', `/HealthcareService/${stored.id}`);
  });
});
