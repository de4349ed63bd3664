import { expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { type BookingPlan, planBooking } from '../../../../../core/booking/book/plan.ts';
import { parseBookRequest } from '../../../../../core/booking/book/request/request.ts';
import { requestorTag } from '../../../../../core/fhir/tags.ts';
import { appointment, at, config, now, patient, requestor, schedule, slot, stateOf } from '../../support.ts';

const identifier = [{ system: 'urn:portal', value: '1' }];
const booked = appointment({
  id: 'known',
  status: 'booked',
  identifier,
  meta: { versionId: 'known-1', tag: [requestorTag(requestor, config)] },
});
const busy = slot('nine', '09:00', '09:30', { status: 'busy' });
const state = stateOf(schedule, patient, busy, slot('ten', '10:00', '10:30'), booked);
const loose: Appointment['text'] = { status: 'generated', div: '<<' };
const atTen = { start: at('10:00'), end: at('10:30'), slot: [{ reference: 'Slot/ten' }] };

const planFor = (more: Partial<Appointment>): BookingPlan =>
  planBooking(parseBookRequest(appointment({ identifier, ...more }), config), state, {
    now,
    requestor,
    config,
    newId: () => 'urn:uuid:1',
  });

it('a request that is sent again gets the appointment that it has made', () => {
  expect(planFor({})).toEqual({ kind: 'existing', appointment: booked });
});

it('a request at another time than the appointment with its identifier asks whether that was moved', () => {
  expect(planFor(atTen)).toEqual({ kind: 'read', wanted: { histories: ['known'] } });
});

it.each<[string, Partial<Appointment>, BookingPlan['kind']]>([
  ['at the same time is refused without a look at the history', {}, 'refuse'],
  ['at another time asks for the history', atTen, 'read'],
])('a request with a narrative that is no XHTML, %s', (_, more, kind) => {
  expect(planFor({ ...more, text: loose }).kind).toBe(kind);
});
