import { describe, expect, it } from '@jest/globals';
import type { BundleEntry, Resource } from '@medplum/fhirtypes';
import { patchReads, readPatchTarget } from '../../../../core/booking/patch/reads.ts';
import { stored } from '../change.cases.ts';

const searched = (...resources: Resource[]): BundleEntry => ({
  response: { status: '200' },
  resource: { resourceType: 'Bundle', type: 'searchset', entry: resources.map((resource) => ({ resource })) },
});

const read = (status: string, resource?: Resource): BundleEntry => ({
  response: { status },
  ...(resource && { resource }),
});

const older = { ...stored, status: 'pending' } as const;

describe('what is read before an appointment is changed', () => {
  it('is searched for, and read by its id', () => {
    const urls = patchReads('a b').entry?.map(({ request }) => request?.url);
    expect(urls).toEqual(['Appointment?_id=a%20b', 'Appointment/a%20b']);
  });

  it.each([
    ['what is found is taken, not what a cache has', searched(stored), read('200', older), 'found'],
    ['what only a cache has is in doubt', searched(), read('200', older), 'doubtful'],
    ['it was deleted', searched(), read('410'), 'deleted'],
    ['there is none', searched(), read('404'), 'unknown'],
    ['it is none of the caller’s', searched(), read('403'), 'unknown'],
    ['the search failed', read('429'), read('200', older), 'failed'],
    ['the read failed', searched(), read('500'), 'failed'],
    ['nothing was answered', undefined, undefined, 'failed'],
  ])('%s', (_, first, second, kind) => {
    const entry = [first, second].filter((one) => one !== undefined);
    const target = readPatchTarget({ resourceType: 'Bundle', type: 'batch-response', entry });
    expect(target).toMatchObject(kind === 'found' ? { kind, appointment: stored } : { kind });
  });
});
