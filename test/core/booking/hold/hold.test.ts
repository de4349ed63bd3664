import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { afterItsEnd, endOf, hasEnded, holdExtensions, isHold } from '../../../../core/booking/appointment/expiry.ts';
import { holdQuota, quotaIssues, quotaKey } from '../../../../core/booking/policy/quota.ts';
import { readFragments } from '../../../../core/booking/slots/fragments.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { told } from '../../../lib/told.ts';
import {
  appointment,
  config,
  issuesOf,
  now,
  patient,
  plan,
  requestor,
  schedule,
  slot,
  stateOf,
  written,
} from '../support.ts';

it('an appointment is a hold by its extension, whatever else stands beside it', () => {
  const extension = [null, { url: 'urn:x' }, ...holdExtensions(now, false, config)];
  expect(endOf('hold', Object.assign(appointment(), { extension }), config)).toBe(now);
});

it.each([['no list'], [[null]], [[{ url: 'urn:x' }]]])('an appointment with the extension %j is none', (extension) => {
  expect(isHold(Object.assign(appointment(), { extension }), config)).toBe(false);
});

const until = now + 600_000;

const hold: Appointment = {
  ...appointment({ id: 'held', status: 'proposed', extension: holdExtensions(until, false, config) }),
  meta: { versionId: 'held-1', tag: [requestorTag('another', config)] },
};

const identifier = [{ system: artefactUri(config, 'LocalSlotOrigin'), value: 'nine' }];
const tentative = slot('nine', '09:00', '09:30', { status: 'busy-tentative', identifier });

/** What is read of the slot and the hold on it at a moment, while no clock of the service runs. */
function fragmentsAt(moment: number, rewritten: readonly string[] = []) {
  const entry = [
    {
      response: { status: '200' },
      resource: {
        resourceType: 'Bundle' as const,
        type: 'searchset' as const,
        entry: [{ resource: tentative }, { resource: hold }],
      },
    },
  ];
  const read = readFragments({ resourceType: 'Bundle', type: 'batch-response', entry }, rewritten, (one) =>
    hasEnded(one, moment, config),
  );
  if (!('slots' in read)) {
    throw new Error('The fragments could not be read.');
  }
  return read;
}

const bookAt = (moment: number, body = appointment(), purpose: 'book' | 'hold' = 'book', more: Appointment[] = []) =>
  plan(body, stateOf(schedule, patient, tentative, ...more), { now: moment, purpose }, fragmentsAt(moment));

describe('a hold, by the millisecond, although nothing has tidied up', () => {
  it.each(['book', 'hold'] as const)('keeps others out to its last moment, and not after it ($%s)', (purpose) => {
    expect(issuesOf(bookAt(until - 1, appointment(), purpose))).toEqual(['slot-not-free Appointment.slot[0]']);
    expect(bookAt(until, appointment(), purpose).kind).not.toBe('refuse');
  });

  it('is ended in the transaction that takes its time', () => {
    expect(written(bookAt(until), 'Appointment')[1]).toMatchObject({
      id: 'held',
      status: 'cancelled',
      cancelationReason: { coding: [{ code: 'hold-expired' }] },
    });
  });

  it('books for its holder as long as its time is free, and then no more', () => {
    const own = { ...hold, meta: { ...hold.meta, tag: [requestorTag(requestor, config)] } };
    const body = appointment({ id: 'held' });
    const free = plan(body, stateOf(schedule, patient, tentative, own), { now: until }, fragmentsAt(until, ['held']));
    expect(free.kind).toBe('write');
    const busy = { ...tentative, status: 'busy' as const };
    const taken = stateOf(schedule, patient, busy, afterItsEnd(own, until, config));
    const pieces = { slots: [busy], uses: new Map([['nine', 'confirmed' as const]]) };
    expect(issuesOf(plan(body, taken, { now: until }, pieces))).toEqual(['hold-expired Appointment.slot[0]']);
  });
});

describe('how many a requestor holds', () => {
  const many = { ...config, holds: { ...config.holds, maxPerRequestor: 120 } };
  const context = { requestor, now, config: many };
  const quota = holdQuota(context);

  const issuesWith = (holding: number, over: number) => {
    const all = Array.from({ length: holding + over }, (_, index): Appointment => {
      const end = index < holding ? now + 1 : now;
      return { ...hold, id: `hold-${index}`, extension: holdExtensions(end, false, many) };
    });
    const usage = new Map([[quotaKey(quota), { row: undefined, found: stateOf(...all) }]]);
    return told(quotaIssues([quota], usage, [], 'Appointment.start', context)).map((text) => text.split(' ')[0]);
  };

  it('counts more than a hundred, and none that is over', () => {
    expect(issuesWith(119, 0)).toEqual([]);
    expect(issuesWith(120, 0)).toEqual(['too-many-holds']);
    expect(issuesWith(119, 300)).toEqual([]);
  });

  it('where it has more than are looked at, none is left', () => {
    expect(issuesWith(0, 1_000)).toEqual(['too-many-holds']);
  });
});
