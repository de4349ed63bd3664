import { describe, expect, it } from '@jest/globals';
import type { Schedule } from '@medplum/fhirtypes';
import { buffersOf, isForStaffToKeep, rewrittenIds } from '../../../../core/booking/book/situation.ts';
import { changeService } from '../../../../core/calendar/change/opening-hours.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { appointment, at, config, ct, patient, requestor, schedule, situation, slot, stateOf } from '../support.ts';

const nine = slot('nine', '09:00', '09:30');

describe('what a booking rewrites', () => {
  it('is nothing if it is new', () => {
    expect(rewrittenIds(situation(appointment()))).toEqual([]);
  });

  it('is the appointment that it moves', () => {
    const meta = { tag: [requestorTag(requestor, config)] };
    const stored = appointment({ id: 'a', status: 'booked', meta });
    const state = stateOf(schedule, patient, nine, stored);
    expect(rewrittenIds(situation(appointment({ id: 'a' }), state))).toEqual(['a']);
  });
});

it.each([
  ['booked', true],
  ['pending', false],
  ['arrived', false],
] as const)('staff who send one again that is %s confirm it: %s', (status, expected) => {
  const meta = { tag: [requestorTag(requestor, config)] };
  const state = stateOf(schedule, patient, nine, appointment({ id: 'a', status, meta }));
  expect(isForStaffToKeep(situation(appointment({ id: 'a' }), state))).toBe(expected);
});

it('a quota per patient is counted for those who take part as patients, and for nobody else', () => {
  const limit = { url: 'maxOpenPerPatient', valuePositiveInt: 2 };
  const limited: Schedule = {
    ...schedule,
    extension: [{ url: artefactUri(config, 'LocalBookingPolicy'), extension: [limit] }],
  };
  const participant = ['Practitioner/d', 'Patient/anna'].map((reference) => ({
    actor: { reference },
    status: 'accepted' as const,
  }));
  const { verdict } = situation(appointment({ participant }), stateOf(limited, patient, nine));
  expect(verdict.quotas.map(({ row }) => row)).toEqual(['portal/Patient/anna']);
});

describe('the buffers of a booking', () => {
  const service = {
    ...changeService(
      { resourceType: 'HealthcareService', type: [ct] },
      { duration: 30, bufferBefore: 5, bufferAfter: 10 },
    ),
    id: 'ct',
  };

  it('are known by the Schedule, each with the first slot that is taken there', () => {
    const later = slot('later', '09:30', '10:00');
    const body = appointment({ end: at('10:00'), slot: [{ reference: 'Slot/later' }, { reference: 'Slot/nine' }] });
    const found = buffersOf(situation(body, stateOf(schedule, service, patient, later, nine)));
    expect([...found].map(([id, { slot: first, buffers }]) => [id, first.id, buffers.before, buffers.after])).toEqual([
      ['calendar', 'nine', 300_000, 600_000],
    ]);
  });

  it('are none where no service needs any', () => {
    expect(buffersOf(situation(appointment())).size).toBe(0);
  });
});
