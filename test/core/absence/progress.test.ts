import { expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { type Known, nextStep } from '../../../core/absence/progress.ts';
import type { Silence } from '../../../core/absence/request.ts';
import { offerExtensions, reasonOf } from '../../../core/booking/appointment/expiry.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';

const config = resolveConfig({ baseUrl: 'https://example.org/fhir/R4', profileBase: 'https://example.org/fhir' });
const NOW = Date.parse('2031-01-06T08:00:00Z');
const HOUR = 3_600_000;
const iso = (hours: number): string => new Date(NOW + hours * HOUR).toISOString();

const slot = (id: string, schedule: string, hours: number): Slot => ({
  resourceType: 'Slot',
  id,
  schedule: { reference: `Schedule/${schedule}` },
  status: 'busy',
  start: iso(hours),
  end: iso(hours + 1),
});

const appointment = (more: Partial<Appointment> = {}): Appointment => ({
  resourceType: 'Appointment',
  id: 'old',
  status: 'booked',
  start: iso(10),
  end: iso(11),
  slot: [{ reference: 'Slot/own' }],
  participant: [],
  ...more,
});

const offer = (until: number, more: Partial<Appointment> = {}): Appointment =>
  appointment({
    id: 'new',
    status: 'proposed',
    slot: [{ reference: 'Slot/other' }],
    extension: offerExtensions({ reason: 'absence', for: ['old'], until: NOW + until * HOUR }, config),
    ...more,
  });

const known = (more: Partial<Known> = {}, silence: Silence = 'keep'): Known => ({
  row: {
    appointment: 'old',
    reach: 'portal',
    proposal: { schedule: 'b', slots: ['other'], start: NOW + 10 * HOUR, end: NOW + 11 * HOUR },
    silence,
    offer: undefined,
    tries: 0,
    start: NOW + 10 * HOUR,
  },
  rowStatus: 'waiting',
  appointment: appointment(),
  offer: undefined,
  together: [],
  slots: [slot('own', 'a', 10), slot('other', 'b', 10)],
  absent: [{ schedule: 'a', start: NOW, end: NOW + 24 * HOUR }],
  ...more,
});

const accepted: Appointment = { ...offer(1), status: 'booked', extension: [] };
const lapsed = offer(-1);
const tidied = offer(-1, { status: 'cancelled', cancelationReason: reasonOf('hold-expired', 'Over.', config) });
const gone = offer(1, { status: 'cancelled', cancelationReason: reasonOf('slot-not-free', 'Given away.', config) });
const declined = offer(1, { status: 'cancelled' });
const moved = appointment({ start: iso(40), end: iso(41) });
const both = [...known().absent, { schedule: 'b', start: NOW, end: NOW + 24 * HOUR }];
const ended = (as: string, withdraws = false) => ({ do: 'end', as, withdraws });

it.each<readonly [string, Known, object]>([
  ['what is planned is offered', known(), { do: 'offer' }],
  [
    'who is not reached is called with a time that is held',
    known({ row: { ...known().row, reach: 'call' } }),
    { do: 'offer' },
  ],
  ['who cannot be placed is called', known({ row: { ...known().row, proposal: undefined } }), ended('call')],
  ['an offer waits', known({ rowStatus: 'offered', offer: offer(1) }), { do: 'nothing' }],
  ['accepted: moved', known({ rowStatus: 'offered', offer: accepted }), ended('moved')],
  [
    'accepted and cancelled since: moved',
    known({ rowStatus: 'offered', offer: { ...accepted, status: 'cancelled' } }),
    ended('moved'),
  ],
  ['declined: cancelled', known({ rowStatus: 'offered', offer: declined }), { do: 'cancel' }],
  ['staff have given the offer away: another one', known({ rowStatus: 'offered', offer: gone }), { do: 'renew' }],
  [
    'each offer is given away',
    known({ rowStatus: 'offered', offer: gone, row: { ...known().row, tries: 3 } }),
    ended('call'),
  ],
  ['silence: keep', known({ rowStatus: 'offered', offer: lapsed }), ended('call')],
  ['silence, tidied up: keep', known({ rowStatus: 'offered', offer: tidied }), ended('call')],
  ['silence: cancel', known({ rowStatus: 'offered', offer: lapsed }, 'cancel'), { do: 'cancel' }],
  ['silence: move', known({ rowStatus: 'offered', offer: lapsed }, 'move'), { do: 'move' }],
  ['the offer is absent, too', known({ rowStatus: 'offered', offer: offer(1), absent: both }), { do: 'renew' }],
  ['the absence is over', known({ rowStatus: 'offered', offer: offer(1), absent: [] }), ended('over', true)],
  ['staff have moved it', known({ appointment: moved, slots: [], offer: offer(1) }), ended('moved', true)],
  [
    'its person has cancelled it',
    known({ appointment: appointment({ status: 'cancelled' }), offer: offer(1) }),
    ended('declined', true),
  ],
  ['it was deleted', known({ appointment: undefined }), ended('declined')],
  ['who is to be called', known({ rowStatus: 'call' }), { do: 'nothing' }],
  ['who need not be called any more', known({ rowStatus: 'call', absent: [] }), { do: 'tick' }],
  ['what has ended stays so', known({ rowStatus: 'moved', absent: [] }), { do: 'nothing' }],
])('%s', (_, one, step) => {
  expect(nextStep(one, NOW, config)).toEqual(step);
});
