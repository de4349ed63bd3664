import { describe, expect, it } from '@jest/globals';
import { bookingReads } from '../../../../core/booking/book/reads.ts';
import { parseBookRequest } from '../../../../core/booking/book/request/request.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { appointment, at, config, parameters, requestor, resourceParameter } from '../support.ts';

function reads(body: unknown): string[] {
  const { request } = parseBookRequest(body, config);
  if (!request) {
    throw new Error('It cannot be read.');
  }
  const { resourceType, type, entry = [] } = bookingReads(request, requestor, config);
  expect([resourceType, type]).toEqual(['Bundle', 'batch']);
  return entry.map(({ request: asked }) => {
    const [path = '', query] = asked?.url?.split('?') ?? [];
    return `${asked?.method} ${path}${query ? `?${[...new URLSearchParams(query)].map((one) => one.join('=')).join('&')}` : ''}`;
  });
}

const during = `start=lt${at('09:30')}&end=gt${at('09:00')}`;
const withSchedule = '_include=Slot:schedule&_include:iterate=Schedule:actor';
const withSlots = '_include=Appointment:slot&_include=Appointment:patient&_include:iterate=Slot:schedule';
const tag = `_tag=${artefactUri(config, 'LocalRequestor')}|${requestor}`;
const published = `_filter=status ne "free" or identifier eq "${artefactUri(config, 'LocalPublishedSlot')}|"`;

describe('what is read for a booking', () => {
  it('of a slot: by one search the slot and what is in its way, and the patient', () => {
    expect(reads(appointment())).toEqual([
      `GET Slot?schedule:Schedule._has:Slot:schedule:_id=nine&status=free,busy,busy-tentative,busy-unavailable&${published} or _id eq "nine"&${during}&_count=950&${withSchedule}`,
      'GET Patient/anna',
    ]);
  });

  it('on a schedule: its free slots, and what is taken', () => {
    const { slot: _, ...body } = appointment();
    const schedule = { name: 'schedule', valueReference: { reference: 'Schedule/calendar' } };
    expect(reads(parameters(resourceParameter('appt-resource', body), schedule))).toEqual([
      'GET Schedule?_id=calendar&_count=20&_include=Schedule:actor',
      `GET Slot?schedule=Schedule/calendar&status=free&${during}&_sort=start&_count=500`,
      `GET Slot?schedule=Schedule/calendar&status=busy,busy-tentative,busy-unavailable&${during}&_count=1000`,
      'GET Patient/anna',
    ]);
  });

  it('of a slot of a schedule: no other free slots', () => {
    const schedule = { name: 'schedule', valueReference: { reference: 'Schedule/calendar' } };
    const found = reads(parameters(resourceParameter('appt-resource', appointment()), schedule));
    expect(found.filter((one) => one.includes('_sort'))).toEqual([]);
    expect(found.filter((one) => one.startsWith('GET Slot?'))).toHaveLength(2);
  });

  it('without a time: only what it names', () => {
    expect(reads({ ...appointment(), end: at('08:00') })).toEqual([
      `GET Slot?_id=nine&_count=20&${withSchedule}`,
      'GET Patient/anna',
    ]);
  });

  it('with persons, answers and appointments: whoever has their identifiers, and whatever it names', () => {
    const identifier = (value: string) => [{ system: 'urn:a', value }];
    const body = parameters(
      resourceParameter('appt-resource', {
        ...appointment({ identifier: identifier('1'), participant: [] }),
        id: 'moved',
        participant: undefined,
        supportingInformation: [{ reference: 'QuestionnaireResponse/q' }, { reference: 'Appointment/x' }],
      }),
      resourceParameter('patient', { resourceType: 'Patient', id: 'p', identifier: identifier('2') }),
      resourceParameter('related-person', { resourceType: 'RelatedPerson', identifier: identifier('3') }),
      { name: 'cancelled-appt-id', valueUri: 'Appointment/replaced' },
    );
    expect(reads(body).slice(1)).toEqual([
      'GET Patient/p',
      'GET QuestionnaireResponse/q',
      `GET Patient?identifier=urn:a|2&${tag}`,
      `GET RelatedPerson?identifier=urn:a|3&${tag}`,
      `GET Appointment?identifier=urn:a|1&${tag}&${withSlots}`,
      `GET Appointment?_id=moved,replaced&_count=20&${withSlots}`,
    ]);
  });
});
