import { nextMoment } from '../../../../../test/bots/clock.ts';
import type { Scenario } from '../scenario.ts';
import type { Member, Stage } from '../stage.ts';
import { appointment, patient, schedule, slot, tag } from './resources.ts';

/** A practitioner with calendars, slots written one moment after the other, and an appointment, all of this run. */
async function clinic({ admin: { send }, unique }: Stage) {
  const coding = [{ system: 'urn:type', code: unique, display: 'Check-up' }];
  const serviceType = [{ coding }];
  const meyer = await send('POST Practitioner', {
    resourceType: 'Practitioner',
    identifier: [{ system: 'urn:practitioner', value: unique }],
    name: [{ family: 'Meyer-Lüdenscheidt', given: ['Karl'] }],
  });
  const service = await send('POST HealthcareService', {
    resourceType: 'HealthcareService',
    name: `Check-up ${unique}`,
    type: serviceType,
    active: true,
  });
  const ward = await send('POST Schedule', {
    ...schedule(unique, `Practitioner/${meyer.id}`),
    actor: [{ reference: `Practitioner/${meyer.id}` }, { reference: `HealthcareService/${service.id}` }],
    serviceType,
    meta: tag(unique),
  });
  const closed = await send('POST Schedule', schedule(`${unique}-2`, `Practitioner/${meyer.id}`, { active: false }));
  const nine = await send('POST Slot', slot(ward.id, '09:00', { serviceType, meta: tag(unique) }));
  await nextMoment();
  const half = await send(
    'POST Slot',
    slot(ward.id, '09:30', { status: 'busy', identifier: [{ system: 'urn:slot', value: unique }] }),
  );
  await nextMoment();
  const ten = await send('POST Slot', slot(closed.id, '10:00', { status: 'busy-tentative', meta: tag(`${unique}-x`) }));
  const person = await send('POST Patient', patient(unique, { birthDate: '1980-02-03', meta: tag(unique) }));
  const visit = await send('POST Appointment', appointment(person.id, half.id, { serviceType, meta: tag(unique) }));
  return { meyer, service, ward, closed, nine, half, ten, person, visit };
}

async function getAll({ send }: Member, queries: readonly string[]): Promise<void> {
  for (const query of queries) {
    await send(`GET ${query}`);
  }
}

/** Parameters, modifiers and prefixes, chains, `_has`, `_filter`. */
export const searchParameters: Scenario = async (stage) => {
  const { admin, unique } = stage;
  const { meyer, service, ward, closed, nine, half, ten, person, visit } = await clinic(stage);
  const own = `_sort=start&schedule=Schedule/${ward.id},Schedule/${closed.id}`;
  await getAll(admin, [
    `Slot?${own}`,
    `Slot?${own}&status=free`,
    `Slot?${own}&status=free,busy`,
    `Slot?${own}&status:not=free`,
    `Slot?${own}&status=FREE`,
    `Slot?${own}&status=http://hl7.org/fhir/slotstatus|free`,
    `Slot?${own}&start=ge2031-03-04T09:30:00Z`,
    `Slot?${own}&start=gt2031-03-04T09:30:00Z`,
    `Slot?${own}&start=lt2031-03-04T10:30:00%2B01:00`,
    `Slot?${own}&start=ge2031-03-04&start=lt2031-03-04T09:30:00Z`,
    `Slot?${own}&start=2031-03-04`,
    `Slot?${own}&start=2031-03-04T09:00:00Z`,
    `Slot?${own}&start=ne2031-03-04T09:00:00Z`,
    `Slot?${own}&start=eq2031-03-04T09:00:00.000Z`,
    `Slot?${own}&_filter=(start lt "2031-03-04T09:45:00Z" and end gt "2031-03-04T09:10:00Z")`,
    `Slot?${own}&_filter=status eq "free" or status eq "busy"`,
    `Slot?${own}&_filter=not(status eq "free")`,
    `Slot?${own}&service-type=${unique}`,
    `Slot?${own}&service-type=urn:type|${unique}`,
    `Slot?${own}&service-type=urn:TYPE|${unique}`,
    `Slot?${own}&service-type=|${unique}`,
    `Slot?${own}&service-type=urn:type|`,
    `Slot?${own}&service-type:text=check`,
    `Slot?${own}&service-type:missing=true`,
    `Slot?${own}&service-type:not=urn:type|${unique}`,
    `Slot?${own}&identifier=urn:slot|${unique}`,
    `Slot?identifier=${unique}`,
    `Slot?${own}&_tag=urn:owner|${unique}`,
    `Slot?${own}&_tag=urn:OWNER|${unique}`,
    `Slot?${own}&_tag:not=urn:owner|${unique}`,
    `Slot?${own}&_id=${nine.id},${ten.id}`,
    `Slot?${own}&_id=unknown`,
    `Slot?${own}&_id:not=${nine.id}`,
    `Slot?schedule=${ward.id}&_sort=-start`,
    `Slot?schedule:missing=true&identifier=urn:slot|${unique}`,
    `Slot?schedule.actor=Practitioner/${meyer.id}&_sort=start`,
    `Slot?schedule.identifier=urn:schedule|${unique}&_sort=start`,
    `Slot?schedule.active=true&schedule.identifier=urn:schedule|${unique}&_sort=start`,
    `Slot?schedule.actor:HealthcareService.service-type=${unique}&_sort=start`,
    `Slot?schedule.actor:HealthcareService.name=${encodeURIComponent(`Check-up ${unique}`)}&_sort=start`,
    `Slot?schedule.actor:Practitioner.name=meyer&${own}`,
    `Slot?schedule:Schedule.actor:Practitioner.identifier=urn:practitioner|${unique}&_sort=start`,
    `Schedule?_has:Slot:schedule:status=busy&identifier=urn:schedule|${unique}`,
    `Schedule?_has:Slot:schedule:status=entered-in-error&identifier=urn:schedule|${unique}`,
    `HealthcareService?_has:Schedule:actor:_has:Slot:schedule:status=busy&_id=${service.id}`,
    `Schedule?actor=HealthcareService/${service.id}`,
    `Schedule?actor:HealthcareService=${service.id}`,
    `Schedule?identifier=urn:schedule|${unique}&active=true`,
    `Schedule?identifier=urn:schedule|${unique}&active:not=true`,
    `Patient?identifier=urn:patient|${unique}&name=mey`,
    `Patient?identifier=urn:patient|${unique}&name:contains=eye`,
    `Patient?identifier=urn:patient|${unique}&name:exact=Meyer`,
    `Patient?identifier=urn:patient|${unique}&family=MEYER&given=anna`,
    `Patient?identifier=urn:patient|${unique}&birthdate=1980-02-03`,
    `Patient?identifier=urn:patient|${unique}&birthdate=lt1981`,
    `Patient?identifier=urn:patient|${unique}&active=true`,
    `Patient?identifier:contains=${unique}`,
    `Practitioner?identifier=urn:practitioner|${unique}&name=luden`,
    `Practitioner?identifier=urn:practitioner|${unique}&name=lüden`,
    `Appointment?patient=Patient/${person.id}`,
    `Appointment?patient=${person.id}&status=booked,pending`,
    `Appointment?actor=Patient/${person.id}&date=ge2031-03-04`,
    `Appointment?actor=Patient%2F${person.id}&status=proposed%2Cpending%2Cbooked%2Carrived%2Cchecked-in%2Cwaitlist&_count=1000`,
    `Appointment?slot=Slot/${half.id},Slot/${ten.id}&status=booked,pending,proposed`,
    `Appointment?slot:Slot.identifier=urn:slot|${unique}`,
    `Appointment?slot%3ASlot.identifier=urn%3Aslot%7C${unique}`,
    `Appointment?patient.identifier=urn:patient|${unique}`,
    `Appointment?patient:Patient.family=meyer&_tag=urn:owner|${unique}`,
    `Appointment?_id=${visit.id}&_tag=urn:owner|${unique}&_count=1000&_fields=id`,
    `Appointment?_id=${visit.id}&_lastUpdated=ge2020-01-01T00:00:00Z`,
    `Appointment?_id=${visit.id}&_lastUpdated=lt2020-01-01T00:00:00Z`,
    `Appointment?_id=${visit.id}&service-type=urn:type|${unique}`,
  ]);
};

/** Includes, pages, totals, and parts of resources. */
export const searchResults: Scenario = async (stage) => {
  const { admin, unique } = stage;
  const { ward, closed, half, visit } = await clinic(stage);
  const own = `schedule=Schedule/${ward.id},Schedule/${closed.id}&_sort=start`;
  await getAll(admin, [
    `Slot?_id=${half.id}&_include=Slot:schedule`,
    `Slot?_id=${half.id}&_include=Slot:schedule&_include:iterate=Schedule:actor`,
    `Slot?_id=${half.id}&_include:iterate=Schedule:actor`,
    `Slot?_id=${half.id}&_include=Slot:*`,
    `Slot?_id=${half.id}&_include=*`,
    `Slot?_id=${half.id}&_include=Schedule:actor`,
    `Slot?_id=${half.id}&_include=Slot:nothing`,
    `Slot?_id=${half.id}&_include=nonsense`,
    `Appointment?_id=${visit.id}&_include=Appointment:slot&_include=Appointment:patient&_include:iterate=Slot:schedule`,
    `Appointment?_id=${visit.id}&_include=Appointment:actor:Patient`,
    `Schedule?_id=${closed.id}&_revinclude=Slot:schedule`,
    `Schedule?_id=${closed.id}&_revinclude=Slot:schedule&_revinclude:iterate=Appointment:slot`,
    `Slot?${own}&_count=1`,
    `Slot?${own}&_count=1&_offset=1`,
    `Slot?${own}&_count=2&_offset=2`,
    `Slot?${own}&_count=1&_offset=9`,
    `Slot?${own}&_count=0`,
    `Slot?${own}&_count=0&_total=accurate`,
    `Slot?${own}&_count=1&_total=accurate`,
    `Slot?${own}&_count=3&_total=estimate`,
    `Slot?${own}&_count=3&_total=none`,
    `Slot?${own}&_summary=count`,
    `Slot?${own}&_summary=true`,
    `Slot?${own}&_summary=text`,
    `Slot?${own}&_summary=data`,
    `Slot?${own}&_summary=false`,
    `Slot?${own}&_elements=start,end`,
    `Slot?${own}&_elements=nothing`,
    `Slot?${own}&_fields=id`,
    `Slot?${own}&_fields=start,status`,
    `Slot?${own.replace('_sort=start', '_sort=status,-start')}`,
    `Slot?${own.replace('_sort=start', '_sort=-start')}&_count=1`,
    `Slot?_id=${half.id}&_sort=_id&_count=1000&_offset=0&_fields=status`,
    `Slot?${own.replace('_sort=start', '_sort=_lastUpdated')}&_count=1`,
    `Slot?${own.replace('_sort=start', '_sort=-_lastUpdated')}&_count=1&_offset=1`,
    `Slot?${own}&_format=json`,
    `Slot?${own}&_pretty=true`,
    `Slot?_id=${half.id}&_type=Slot`,
    `Slot/?${own}&_count=1`,
    `Slot?_count=1&${own}&status=`,
  ]);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  await admin.send('POST Slot/_search', `${own}&_count=1`, headers);
  await admin.send('POST Slot/_search?status=busy', own, headers);
  await admin.send('POST Device/_search?identifier=nothing', { status: 'active' });
  await admin.send(`GET Slot/${half.id}`, undefined, { accept: 'application/fhir+xml' });
  await admin.send(`GET Slot?identifier=urn:slot|${unique}`, undefined, { 'x-medplum': 'extended' });
};

/** What a search is refused for. */
export const searchRefusals: Scenario = async ({ admin }) => {
  await getAll(admin, [
    'Slot?colour=red',
    'Slot?start=soon',
    'Slot?start=ge',
    'Slot?start=2031-13-40',
    'Slot?status:unheard-of=free&identifier=nothing',
    'Slot?service-type:in=x',
    'Slot?service-type:below=x',
    'Slot?schedule.colour=red',
    'Slot?schedule.actor.name=x',
    'Slot?schedule.actor:HealthcareService.type=x',
    'Slot?schedule.actor:Nothing.name=x',
    'Slot?schedule:Nothing=1',
    'Slot?_has:Appointment:slot=1',
    'Slot?_has:Appointment:colour:status=booked',
    'Slot?_has:Nothing:slot:status=booked',
    'Slot?_filter=nonsense',
    'Slot?_filter=colour eq red',
    'Slot?_filter=(status eq "free"',
    'Slot?_count=-1&identifier=nothing',
    'Slot?_count=x&identifier=nothing',
    'Slot?_count=1001&identifier=nothing',
    'Slot?_count=100000&status=nothing',
    'Slot?_offset=10001&identifier=nothing',
    'Slot?_offset=x&identifier=nothing',
    'Slot?_cursor=x&identifier=nothing',
    'Slot?_sort=colour&status=nothing',
    'Slot?_sort=&status=nothing',
    'Slot?_total=x&status=nothing',
    'Slot?_summary=x&status=nothing',
    'Slot?_lastUpdated=x&identifier=nothing',
    'Slot?_id=&identifier=nothing',
    'Slot?_profile=x&status=nothing',
    'Slot?_text=x&identifier=nothing',
    'Slot?_content=x&identifier=nothing',
    'Slot?_list=x&identifier=nothing',
    'Slot?_query=x&identifier=nothing',
    'Slot?_in=x&identifier=nothing',
    'CodeSystem?context-type-value=a$b',
    'CodeSystem?context=urn:x|nothing',
    'CodeSystem?context-type=urn:x|nothing',
    'Patient?link.family=x',
    'Patient?link:Patient.family=nothing-of-this-name',
    'Binary?_id=1',
    'Bundle?_count=0',
    'AuditEvent?_id=00000000-0000-4000-8000-000000000000',
    'Nothing?a=b',
    'Appointment?supporting-info=x',
    'Appointment?patient:identifier=urn:patient|nothing',
    'Appointment?date=ap2031&identifier=nothing',
    'Appointment?date=sa2031-01-01&identifier=nothing',
    'Appointment?date=eb1931-01-01&identifier=nothing',
  ]);
};
