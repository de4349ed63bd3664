import { describe, expect, it } from '@jest/globals';
import type { Appointment, Bundle, Resource } from '@medplum/fhirtypes';
import { fragmentReads, readFragments } from '../../../../core/booking/slots/fragments.ts';
import { appointment, slot } from '../support.ts';

const searches = ({ entry = [] }: Bundle): string[] =>
  entry.map(({ request }) => `${request?.method} ${decodeURIComponent(request?.url ?? '')}`);

it('all fragments are read, and of the appointments on them those that hold slots apart from the others', () => {
  const holding = 'proposed,pending,booked,arrived,checked-in,waitlist,fulfilled,noshow';
  const others = 'cancelled,entered-in-error';
  const reads = fragmentReads(['a', 'b'], 'urn:origin');
  expect([reads.resourceType, reads.type]).toEqual(['Bundle', 'batch']);
  expect(searches(reads)).toEqual([
    'GET Slot?_id=a,b&_count=1000',
    'GET Slot?identifier=urn:origin|a,urn:origin|b&_count=1000',
    ...[holding, others].flatMap((status) => [
      `GET Appointment?slot=Slot/a,Slot/b&status=${status}&_count=1000`,
      `GET Appointment?slot:Slot.identifier=urn:origin|a,urn:origin|b&status=${status}&_count=1000`,
    ]),
  ]);
});

/** The answer to a search that finds these resources. */
const found = (...resources: readonly Resource[]): Bundle => ({
  resourceType: 'Bundle',
  type: 'batch-response',
  entry: [
    {
      response: { status: '200' },
      resource: { resourceType: 'Bundle', type: 'searchset', entry: resources.map((resource) => ({ resource })) },
    },
  ],
});

const on = (id: string, status: Appointment['status'], ...slots: readonly string[]): Appointment => ({
  ...appointment({ status, slot: slots.map((one) => ({ reference: `Slot/${one}` })) }),
  id,
});

function usesOf(...parameters: Parameters<typeof readFragments>): string[] {
  const read = readFragments(...parameters);
  return 'uses' in read ? [...read.uses].map(([id, use]) => `${id} ${use}`) : [`status ${read.status}`];
}

describe('the uses of slots', () => {
  it('are the strongest of their appointments, in whatever order these come', () => {
    const all = [on('1', 'booked', 'a', 'b'), on('2', 'pending', 'a', 'c'), on('3', 'cancelled', 'b', 'd')];
    const expected = ['a confirmed', 'b confirmed', 'c requested', 'd given-back'];
    expect(usesOf(found(...all), []).sort()).toEqual(expected);
    expect(usesOf(found(...all.toReversed()), []).sort()).toEqual(expected);
  });

  it('do not count appointments that are rewritten, or that are over', () => {
    const all = [on('1', 'booked', 'a'), on('2', 'pending', 'b'), on('3', 'proposed', 'c')];
    expect(usesOf(found(...all), ['1'])).toEqual(['b requested', 'c held']);
    const isOver = ({ id }: Appointment) => id === '3' || id === '1';
    expect(usesOf(found(...all), ['1'], isOver)).toEqual(['b requested']);
    expect(readFragments(found(...all), ['1'], isOver)).toMatchObject({ expired: [{ id: '3' }] });
  });

  it('come with the slots', () => {
    const slots = [slot('a', '09:00', '09:30'), slot('b', '09:30', '10:00')];
    expect(readFragments(found(...slots, on('1', 'booked', 'a')), [])).toMatchObject({ slots, expired: [] });
  });

  it('are not known where a search has failed', () => {
    const { entry = [], ...bundle } = found();
    expect(usesOf({ ...bundle, entry: [...entry, { response: { status: '503' } }] }, [])).toEqual(['status 503']);
  });
});
