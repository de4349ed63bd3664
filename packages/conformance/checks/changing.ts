import { asking, type Check, fromStage5, isikStages, type RequestStep } from '../check.ts';
import { codedOutcome, header, leadsTo, refusal, resource, status, success, that } from '../expectation.ts';
import {
  cancellation,
  cancelledByPatient,
  parameters,
  participant,
  patch,
  patient,
  proposal,
} from '../preparation/bodies.ts';
import { bookSlot } from './booking/common.ts';

/** Elements that an update must not change, with the path below Appointment and a new value. */
const immutable: readonly (readonly [element: string, path: string, value: object])[] = [
  ['slot', 'slot[0].reference', { valueString: '{otherSlot}' }],
  ['start', 'start', { valueInstant: '{slot.start.date}T00:00:00Z' }],
  ['end', 'end', { valueInstant: '{slot.start.date}T23:45:00Z' }],
  ['patient', 'participant[{appointment.participant.ofPatient}].actor.reference', { valueString: '{otherPatient}' }],
];

const createPatient = (keep: string): RequestStep => ({
  request: 'POST /Patient',
  body: patient({ identifier: undefined }),
  keep,
  expect: [success],
});

const immutableCheck = ([element, path, value]: (typeof immutable)[number]): Check => ({
  name: `patch-${element}`,
  rule: `An update that changes the ${element} is refused with 400 and a coded OperationOutcome, and changes nothing.`,
  section: 'Specification 4.5 and 7',
  needs: ['slot', 'patient', ...(element === 'slot' ? (['otherSlot'] as const) : [])],
  steps: [
    ...(element === 'patient' ? [createPatient('otherPatient')] : []),
    bookSlot,
    {
      request: 'PATCH /{appointment}',
      body: patch({ type: 'replace', path: `Appointment.${path}`, value }),
      expect: [status(400), codedOutcome],
    },
    {
      request: 'GET /{appointment}',
      expect: [
        status(200),
        that('start.toDateTime() ~ @{appointment.start} and end.toDateTime() ~ @{appointment.end}'),
        that("slot.where(reference = '{appointment.slot.0.reference}').exists()"),
        that(`participant.actor.where(${leadsTo('{patient}')}).exists()`),
      ],
    },
  ],
});

/** A patch of a booked Appointment, and a FHIRPath expression that holds afterwards. */
interface Patching extends Omit<Check, 'needs' | 'steps'>, Pick<RequestStep, 'body' | 'expect'> {
  readonly after: string;
}

const patching = ({ body, expect, after, ...check }: Patching): Check => ({
  ...check,
  needs: ['slot', 'patient'],
  steps: [
    bookSlot,
    { request: 'PATCH /{appointment}', body, expect },
    { request: 'GET /{appointment}', expect: [status(200), that(after)] },
  ],
});

/** Updating and cancelling appointments (specification 4.5). */
export const changingChecks: readonly Check[] = [
  patching({
    name: 'patch-cancel',
    rule: 'A FHIRPath Patch cancels an Appointment.',
    section: 'Specification 4.5 and 3',
    body: cancellation,
    expect: [success],
    after: "status = 'cancelled'",
  }),
  patching({
    name: 'patch-cancel-with-reason',
    rule: 'A cancellation can carry its reason.',
    section: 'ISiK Terminplanung, ISiKTermin.cancelationReason',
    stages: isikStages,
    body: cancelledByPatient,
    expect: [success],
    after: "status = 'cancelled' and cancelationReason.coding.where(code = 'pat').exists()",
  }),
  patching({
    name: 'patch-reason-not-bound',
    rule: 'A reason for a cancellation that is not one of the bound codes is refused.',
    section: 'ISiK Terminplanung, ISiKTermin.cancelationReason',
    stages: isikStages,
    body: patch({
      type: 'add',
      path: 'Appointment',
      name: 'cancelationReason',
      value: { valueCodeableConcept: { coding: [{ system: 'https://example.org/reasons', code: 'mood' }] } },
    }),
    expect: [refusal, codedOutcome],
    after: 'cancelationReason.exists().not()',
  }),
  patching({
    name: 'patch-other-element',
    rule: 'A FHIRPath Patch updates what may be changed.',
    section: 'Specification 4.5',
    body: patch({ type: 'replace', path: 'Appointment.comment', value: { valueString: 'Changed' } }),
    expect: [success],
    after: "comment = 'Changed'",
  }),
  ...immutable.map(immutableCheck),
  {
    name: 'patch-not-a-patch',
    rule: 'A body that is not a patch is refused with an OperationOutcome.',
    section: 'Specification 2.5 and 4.5',
    needs: ['slot', 'patient'],
    steps: [
      bookSlot,
      {
        request: 'PATCH /{appointment}',
        body: { resourceType: 'Parameters', parameter: [{ name: 'operation', part: [] }] },
        expect: [refusal, codedOutcome],
      },
    ],
  },
  asking({
    name: 'absence-for-staff',
    level: 'MAY',
    rule: 'That somebody is absent is for staff of the clinic to say: a portal is refused with 403.',
    section: 'docs/absences.md',
    needs: ['slot'],
    request: 'POST /Schedule/$absence',
    body: {
      resourceType: 'Parameters',
      parameter: [
        { name: 'schedule', valueReference: { reference: '{slot.schedule.reference}' } },
        { name: 'period', valuePeriod: { start: '{slot.start}', end: '{slot.end}' } },
      ],
    },
    expect: [status(403), codedOutcome],
  }),
];

/** Submitting patients (specification 4.6). */
export const patientChecks: readonly Check[] = [
  {
    name: 'patient-create',
    rule: 'POST /Patient creates a Patient.',
    section: 'Specification 4.6',
    orElse: 'book-with-patient',
    steps: [
      {
        request: 'POST /Patient',
        body: patient({ identifier: undefined }),
        keep: 'created',
        expect: [status(201), header('location', /\/Patient\//)],
      },
      {
        request: 'GET /{created}',
        expect: [
          status(200),
          resource('Patient'),
          that("meta.tag.where(system = '{config.metaTagSystem}' and code = 'external').exists()"),
        ],
      },
    ],
  },
  {
    name: 'patient-create-for-isik',
    rule: 'POST /Patient creates a Patient; passing it in $book is not enough.',
    section: 'ISiK Terminplanung, Anlage einer Patient-Ressource',
    stages: isikStages,
    steps: [{ request: 'POST /Patient', body: patient({ identifier: undefined }), expect: [status(201)] }],
  },
  {
    name: 'patient-update',
    level: 'SHOULD',
    rule: 'PUT /Patient/[id] updates a Patient.',
    section: 'Specification 4.6',
    steps: [
      createPatient('created'),
      {
        request: 'PUT /{created}',
        body: patient({ identifier: undefined, id: '{created.id}', birthDate: '1981-01-01' }),
        expect: [success],
      },
      { request: 'GET /{created}', expect: [status(200), that('birthDate = @1981-01-01')] },
    ],
  },
  {
    name: 'patient-book-at-once',
    rule: 'A Patient that was created can be booked for at once.',
    section: 'Specification 4.6',
    stages: fromStage5,
    needs: ['slot'],
    steps: [
      createPatient('created'),
      {
        request: 'POST /Appointment/$book',
        body: parameters(proposal({ participant: [participant('{created}')] })),
        expect: [success, resource('Appointment')],
      },
    ],
  },
];
