import '../../config.ts';
import { expect, it } from '@jest/globals';
import type { Appointment, Bundle, BundleEntry, Task } from '@medplum/fhirtypes';
import {
  limitsReached,
  type RequestorLimit,
  requestorLimitReads,
} from '../../../../core/booking/policy/requestor-limits.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { aPortal, at, type Portal, tagsOf } from '../../booking/fixtures.ts';
import { config, configured } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';

const medplum = withMedplum();

/** So many open appointments of a portal. */
const appointments = (portal: Portal, count: number) =>
  medplum().transaction(
    Array.from({ length: count }, () => ({
      request: { method: 'POST', url: 'Appointment' },
      resource: {
        resourceType: 'Appointment',
        meta: tagsOf(portal),
        status: 'booked',
        start: at('09:00'),
        end: at('09:30'),
        participant: [{ actor: { display: 'Kim' }, status: 'accepted' }],
      } satisfies Appointment,
    })),
  );

const jobs = (portal: Portal, count: number) =>
  medplum().transaction(
    Array.from({ length: count }, () => ({
      request: { method: 'POST', url: 'Task' },
      resource: {
        resourceType: 'Task',
        meta: tagsOf(portal),
        status: 'requested',
        intent: 'order',
        code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'book' }] },
      } satisfies Task,
    })),
  );

/** Answers the entries of a check with the rights of the portal. */
async function answersTo(entry: readonly BundleEntry[], { authorization }: Portal): Promise<BundleEntry[]> {
  const bundle = { resourceType: 'Bundle', type: 'batch', entry };
  const { body } = await medplum().fhir<Bundle>('POST', '', bundle, { authorization });
  return body.entry ?? [];
}

const limits: readonly RequestorLimit[] = ['open', 'rate', 'jobs'];

/** The limits that are reached. */
async function reached(portal: Portal): Promise<RequestorLimit[]> {
  const { maxOpenAppointments, maxBookingsPerMinute } = config.requestors;
  expect([maxOpenAppointments, maxBookingsPerMinute]).toEqual([3, 2]);
  const entry = requestorLimitReads(limits, portal.id, Date.now(), config);
  return [...(limitsReached(limits, await answersTo(entry, portal)) ?? [])];
}

it('a limit is reached by as many as are allowed, those of others do not count', async () => {
  const [portal, other] = [await aPortal(medplum()), await aPortal(medplum())];
  await configured({ requestors: { maxOpenAppointments: 3, maxBookingsPerMinute: 2 } }, async () => {
    await appointments(other, 5);
    await appointments(portal, 1);
    await jobs(portal, 1);
    expect(await reached(portal)).toEqual([]);
    await appointments(portal, 1);
    await jobs(portal, 1);
    expect(await reached(portal)).toEqual(['rate', 'jobs']);
    await appointments(portal, 1);
    expect(await reached(portal)).toEqual(limits);
  });
});

it.each([
  ['too few answers', []],
  ['too many answers', [{ response: { status: '200' } }, { response: { status: '200' } }]],
  ['an answer without a status', [{}]],
  ['an error', [{ response: { status: '500' } }]],
])('%s are no decision', (_, answers) => {
  expect(limitsReached(['open'], answers)).toBeUndefined();
});

it('what a portal may not search for does not limit it', () => {
  expect(limitsReached(['open'], [{ response: { status: '403' } }])).toEqual(new Set());
});
