import { describe, expect, it } from '@jest/globals';
import type { BundleEntry, Schedule } from '@medplum/fhirtypes';
import { nearbyReads, sameServiceReads } from '../../../../core/booking/alternatives/reads.ts';
import { parseBookRequest } from '../../../../core/booking/book/request/request.ts';
import { SERVICE_TYPE_REFERENCE } from '../../../../core/fhir/reference/service-reference.ts';
import { appointment, at, config, ct, schedule, slot, stateOf } from '../support.ts';

const anyTime = { earliest: Date.parse(at('00:00')), latest: Number.POSITIVE_INFINITY };
const wanted = { start: Date.parse(at('09:00')), end: Date.parse(at('09:30')) };

/** The parameters of each search, in order: `name=value`. */
const searches = (entries: readonly BundleEntry[]): string[][] =>
  entries.map(({ request }) => {
    const [type = '', query] = request?.url?.split('?') ?? [];
    return [`${request?.method} ${type}`, ...[...new URLSearchParams(query)].map((pair) => pair.join('='))];
  });

describe('the free slots near a time', () => {
  const common = ['schedule=Schedule/calendar', 'status=free', '_count=20'];

  it('are read in both directions, the nearest first', () => {
    expect(searches(nearbyReads(schedule, wanted, anyTime))).toEqual([
      ['GET Slot', ...common, `start=lt${at('09:00')}`, `end=gt${at('00:00')}`, '_sort=-start'],
      ['GET Slot', ...common, `start=ge${at('09:00')}`, '_sort=start'],
    ]);
  });

  it('lie within what may be booked', () => {
    const bounds = { earliest: Date.parse(at('11:00')), latest: Date.parse(at('20:00')) };
    const within = [...common, `start=le${at('20:00')}`];
    expect(searches(nearbyReads(schedule, wanted, bounds))).toEqual([
      ['GET Slot', ...within, `start=lt${at('11:00')}`, `end=gt${at('11:00')}`, '_sort=-start'],
      ['GET Slot', ...within, `start=ge${at('11:00')}`, '_sort=start'],
    ]);
  });
});

describe('the other schedules of the same service', () => {
  const rest = ['active:not=false', '_include=Schedule:actor', '_sort=_id', '_count=9'];
  const readsFor = (body: object, schedules: readonly Schedule[] = [schedule], state = stateOf()) => {
    const { request } = parseBookRequest(body, config);
    return request ? searches(sameServiceReads(request, schedules, state)) : undefined;
  };

  it('are searched by the type that is asked for, and by the services of the schedules', () => {
    expect(readsFor(appointment())).toEqual([
      ['GET Schedule', 'service-type=urn:services|ct', ...rest],
      ['GET Schedule', 'actor=HealthcareService/ct', ...rest],
    ]);
  });

  it('by the type of the slot, or else of the schedule, where none is asked for', () => {
    const mri = { coding: [{ system: 'urn:s', code: 'mri' }] };
    const body = appointment();
    delete body.serviceType;
    const state = stateOf(slot('nine', '09:00', '09:30', { serviceType: [mri] }));
    expect(readsFor(body, [schedule], state)?.[0]).toEqual(['GET Schedule', 'service-type=urn:s|mri', ...rest]);
    expect(readsFor(body)?.[0]).toEqual(['GET Schedule', 'service-type=urn:services|ct', ...rest]);
    expect(readsFor(body, [{ ...schedule, serviceType: [] }])).toEqual([
      ['GET Schedule', 'actor=HealthcareService/ct', ...rest],
    ]);
  });

  it('by the services that a schedule names in its types, each once', () => {
    const naming = (id: string) => ({
      extension: [{ url: SERVICE_TYPE_REFERENCE, valueReference: { reference: `HealthcareService/${id}` } }],
    });
    const both = { ...schedule, serviceType: [naming('ct'), naming('mri')] };
    expect(readsFor({ ...appointment(), serviceType: [{ text: 'A visit' }] }, [both, schedule])).toEqual([
      ['GET Schedule', 'actor=HealthcareService/ct,HealthcareService/mri', ...rest.slice(0, 3), '_count=10'],
    ]);
  });

  it('codes are escaped, and those without a system or a code are left out', () => {
    const odd = { coding: [{ system: 'urn:a|b', code: 'c,d$' }, { code: 'x' }, { system: 'urn:y' }] };
    const alone = { ...schedule, actor: [{ reference: 'Practitioner/1' }] };
    const reads = readsFor({ ...appointment(), serviceType: [ct, odd] }, [alone]);
    expect(reads).toEqual([['GET Schedule', 'service-type=urn:services|ct,urn:a\\|b|c\\,d\\$', ...rest]]);
  });

  it('are not searched where nothing is known of the service', () => {
    const unknown = { ...schedule, actor: [{ reference: 'Practitioner/1' }], serviceType: [] };
    const body = appointment();
    delete body.serviceType;
    expect(readsFor(body, [unknown])).toEqual([]);
  });
});
