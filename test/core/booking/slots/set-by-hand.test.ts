import { expect, it } from '@jest/globals';
import type { Appointment, Bundle, Slot } from '@medplum/fhirtypes';
import { setByHand } from '../../../../core/booking/slots/synchronize.ts';
import { appointment, config, slot } from '../support.ts';

const history = (...versions: readonly [status: Appointment['status'], minute: number][]): Bundle => ({
  resourceType: 'Bundle',
  type: 'history',
  entry: versions.map(([status, minute]) => ({
    resource: appointment({ status, meta: { lastUpdated: `2027-01-01T00:0${minute}:00.000Z` } }),
  })),
});

const written = (minute: number, author: string, status: Slot['status'] = 'busy'): Slot =>
  slot('nine', '09:00', '09:30', {
    status,
    meta: { lastUpdated: `2027-01-01T00:0${minute}:00.000Z`, author: { reference: author } },
  });

const cancelledAt3 = history(['cancelled', 5], ['cancelled', 3], ['booked', 1]);

it.each<[string, Slot, Bundle, string[]]>([
  [
    'by staff after the cancellation, whatever was written to the appointment since',
    written(4, 'Practitioner/a'),
    cancelledAt3,
    ['nine'],
  ],
  ['by staff before it', written(2, 'Practitioner/a'), cancelledAt3, []],
  ['by the service', written(4, 'Bot/a'), cancelledAt3, []],
  ['by the gateway that runs the Bots', written(4, 'ClientApplication/gateway'), cancelledAt3, []],
  ['by an application of the clinic', written(4, 'ClientApplication/a'), cancelledAt3, ['nine']],
  ['by staff, but free', written(4, 'Practitioner/a', 'free'), cancelledAt3, []],
  ['while the appointment is still booked', written(4, 'Practitioner/a'), history(['booked', 1]), []],
  [
    'by staff, and the appointment has had too many versions since to tell when it gave the slot back',
    written(2, 'Practitioner/a'),
    { ...history(['cancelled', 5], ['cancelled', 4]), total: 3 },
    ['nine'],
  ],
  ['of an appointment that is not known', written(4, 'Practitioner/a'), history(), []],
])('a slot that was taken %s', (_, one, versions, expected) => {
  expect([...setByHand([one], versions, { ...config, gatewayClient: 'gateway' })]).toEqual(expected);
});
