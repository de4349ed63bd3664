import type { RequestStep } from '../check.ts';
import { inManual, isBooked, timeOf } from '../checks/booking/common.ts';
import { type Expectation, success, that } from '../expectation.ts';
import { cancelledByPatient, clinic, parameters, patient, payerKind, proposal, slotOn, staffPatch } from './bodies.ts';
import type { Need } from './needs.ts';

/** The kind of time that a recipe gets as `{time.start}` and `{time.end}`. */
export type Time = 'halfHour' | 'longDay' | 'past';

/** The creation of a need: its own needs, and the steps, one of which keeps the result. */
export interface Recipe {
  readonly needs: readonly Need[];
  readonly time?: Time;
  readonly steps: readonly RequestStep[];
  /** A response to a requestor after which the tester must prepare the need; default: a refusal. */
  readonly orElse?: Expectation;
}

const byStaff = (needs: readonly Need[], keep: Need, type: string, body: object, time?: Time): Recipe => ({
  needs: ['staff', ...needs],
  ...(time && { time }),
  steps: [{ by: 'staff', request: `POST /${type}`, body, keep, expect: [success] }],
});

const freeSlot = (keep: Need, schedule: Need, time: Time): Recipe =>
  byStaff([schedule], keep, 'Slot', slotOn(`{${schedule}}`), time);

const byRequestor = (keep: Need, body: object): Recipe => ({
  needs: [],
  steps: [{ request: 'POST /Patient', body, keep, expect: [success] }],
});

const replacing = parameters(proposal(timeOf('busySlot')), { name: 'cancelled-appt-id', valueUri: '{replaced}' });

const setSlot = (status: string): RequestStep => ({
  by: 'staff',
  request: 'PATCH /{busySlot}',
  ...staffPatch('replace', '/status', status),
  expect: [success],
});

const manual = byStaff(['practitioner'], 'manualSchedule', 'Schedule', clinic.manualSchedule);

/** Manual confirmation is an extension of this project, which other services may ignore. */
const isConfirmedByHand: readonly RequestStep[] = [
  { by: 'staff', request: 'POST /Slot', body: slotOn('{manualSchedule}'), keep: 'manualSlot', expect: [success] },
  { request: 'POST /Appointment/$book', body: proposal(inManual), expect: [that("status != 'booked'")] },
];

/** The needs that the kit can create, with access as staff or as a requestor. */
export const recipes: Readonly<Partial<Record<Need, Recipe>>> = {
  practitioner: byStaff([], 'practitioner', 'Practitioner', clinic.practitioner),
  healthcareService: byStaff([], 'healthcareService', 'HealthcareService', clinic.healthcareService),
  schedule: byStaff(['practitioner'], 'schedule', 'Schedule', clinic.schedule),
  serviceSchedule: byStaff(['healthcareService'], 'serviceSchedule', 'Schedule', clinic.serviceSchedule),
  inactiveSchedule: byStaff(['practitioner'], 'inactiveSchedule', 'Schedule', clinic.inactiveSchedule),
  manualSchedule: {
    ...manual,
    needs: [...manual.needs, 'patient'],
    time: 'halfHour',
    steps: [...manual.steps, ...isConfirmedByHand],
    orElse: isBooked,
  },
  slot: freeSlot('slot', 'schedule', 'halfHour'),
  otherSlot: freeSlot('otherSlot', 'schedule', 'halfHour'),
  longSlot: freeSlot('longSlot', 'schedule', 'longDay'),
  serviceSlot: freeSlot('serviceSlot', 'serviceSchedule', 'halfHour'),
  manualSlot: freeSlot('manualSlot', 'manualSchedule', 'halfHour'),
  privateSlot: byStaff(
    ['schedule'],
    'privateSlot',
    'Slot',
    slotOn('{schedule}', { extension: [payerKind('private')] }),
    'halfHour',
  ),
  pastSlot: freeSlot('pastSlot', 'schedule', 'past'),
  busySlot: byStaff(['schedule'], 'busySlot', 'Slot', slotOn('{schedule}', { status: 'busy' }), 'halfHour'),
  patient: byRequestor('patient', patient()),
  deactivatedPatient: {
    needs: [],
    steps: [
      {
        request: 'POST /Patient',
        body: patient({ identifier: undefined }),
        keep: 'deactivatedPatient',
        expect: [success],
      },
      {
        request: 'PUT /{deactivatedPatient}',
        body: patient({ identifier: undefined, id: '{deactivatedPatient.id}', active: false }),
        expect: [success],
      },
    ],
  },
  inactivePatient: byRequestor('inactivePatient', patient({ identifier: undefined, active: false })),
  endedAppointment: {
    needs: ['staff', 'slot', 'busySlot', 'patient'],
    steps: [
      { request: 'POST /Appointment/$book', body: proposal(), keep: 'replaced', expect: [success] },
      setSlot('free'),
      { request: 'POST /Appointment/$book', body: replacing, keep: 'endedAppointment', expect: [success] },
      { request: 'PATCH /{endedAppointment}', body: cancelledByPatient, expect: [success] },
      setSlot('busy'),
    ],
  },
  encounter: byStaff(['patient', 'endedAppointment'], 'encounter', 'Encounter', clinic.encounter),
  stay: byStaff(['patient', 'endedAppointment'], 'stay', 'Encounter', clinic.stay),
};
