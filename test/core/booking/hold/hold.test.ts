import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { holdExtensions } from '../../../../core/booking/appointment/expiry.ts';
import { holdQuota, quotaIssues, quotaKey } from '../../../../core/booking/policy/quota.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { told } from '../../../lib/told.ts';
import { appointment, config, now, requestor, stateOf } from '../support.ts';

const until = now + 600_000;

const hold: Appointment = {
  ...appointment({ id: 'held', status: 'proposed', extension: holdExtensions(until, false, config) }),
  meta: { versionId: 'held-1', tag: [requestorTag('another', config)] },
};

describe('how many a requestor holds', () => {
  const many = { ...config, holds: { ...config.holds, maxPerRequestor: 120 } };
  const context = { requestor, now, config: many };
  const quota = holdQuota(context);

  const issuesWith = (holding: number, over: number) => {
    const appointments = Array.from({ length: holding + over }, (_, index): Appointment => {
      const end = index < holding ? now + 1 : now;
      return { ...hold, id: `hold-${index}`, extension: holdExtensions(end, false, many) };
    });
    const usage = new Map([[quotaKey(quota), { row: undefined, found: stateOf(...appointments) }]]);
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
