import { type Asking, asking, type Check, isikStages } from '../../check.ts';
import { codedOutcome, refusal, status, success, that } from '../../expectation.ts';
import { parameters, participant, payerKind, proposal } from '../../preparation/bodies.ts';
import { answers, bookSlot, div, timeOf } from './common.ts';

interface Refused extends Omit<Asking, 'request' | 'expect'> {
  readonly status?: 400;
}

const refused = ({ status: code, ...more }: Refused): Check =>
  asking({
    needs: ['slot', 'patient'],
    ...more,
    request: 'POST /Appointment/$book',
    expect: [code ? status(code) : refusal, codedOutcome],
  });

/** Bookings that `$book` refuses (specification 2, 3, 4.4 and 7). */
export const refusedChecks: readonly Check[] = [
  refused({
    name: 'book-incomplete',
    rule: 'An Appointment without start and end is refused with 400 and an OperationOutcome.',
    section: 'ISiK Terminplanung, $book',
    status: 400,
    stages: isikStages,
    body: proposal({ start: undefined, end: undefined }),
    covers: [
      {
        feature: 'Appointment-Book',
        scenario: 'Book an appointment when the request is incomplete (no slot or schedule provided)',
      },
    ],
  }),
  {
    name: 'book-payer-kind',
    level: 'MAY',
    rule: 'A patient whose payer kind the Slot does not serve is refused; that of an Appointment is kept.',
    section: 'docs/portals.md, Booking',
    needs: ['privateSlot', 'patient'],
    steps: [
      {
        request: 'POST /Appointment/$book',
        body: proposal({ ...timeOf('privateSlot'), extension: [payerKind('statutory')] }),
        expect: [status(422), codedOutcome],
      },
      {
        request: 'POST /Appointment/$book',
        body: proposal({ ...timeOf('privateSlot'), extension: [payerKind('private')] }),
        expect: [success, that("extension.where(url = '{uri.LocalPayerKind}').value.code = 'private'")],
      },
    ],
  },
  refused({
    name: 'book-without-slot-and-schedule',
    rule: 'An Appointment that names neither a Slot nor a Schedule is refused with 400 and an OperationOutcome.',
    section: 'ISiK Terminplanung, $book',
    status: 400,
    stages: isikStages,
    body: proposal({ slot: undefined }),
  }),
  refused({
    name: 'book-not-proposed',
    rule: 'Only a proposed Appointment can be booked.',
    section: 'Specification 3',
    body: proposal({ status: 'booked' }),
  }),
  refused({
    name: 'book-end-before-start',
    rule: 'An Appointment that ends before it starts is refused.',
    section: 'ISiK Terminplanung, invariant ISiK-app-1',
    body: proposal({ start: '{slot.end}', end: '{slot.start}' }),
  }),
  refused({
    name: 'book-inactive-patient',
    rule: 'An Appointment of a Patient that is not active is refused.',
    section: 'Specification 2.1 and 7',
    needs: ['slot', 'inactivePatient'],
    body: proposal({ participant: [participant('{inactivePatient}')] }),
  }),
  refused({
    name: 'book-unknown-patient',
    rule: 'An Appointment of a Patient that does not exist is refused.',
    section: 'Specification 2.1 and 7',
    body: proposal({ participant: [participant('Patient/6f1c2f0e-0000-4000-8000-000000000000')] }),
  }),
  refused({
    name: 'book-provisional-patient-deactivated',
    rule: 'An Appointment of a provisional Patient that has become inactive is refused.',
    section: 'Specification 2.1 and 7',
    needs: ['slot', 'deactivatedPatient'],
    body: proposal({ participant: [participant('{deactivatedPatient}')] }),
  }),
  {
    name: 'book-taken-slot',
    rule: 'A Slot that is taken cannot be booked again.',
    section: 'Specification 4.3 and 4.4',
    needs: ['slot', 'patient'],
    steps: [bookSlot, { request: 'POST /Appointment/$book', body: proposal(), expect: [refusal, codedOutcome] }],
  },
  refused({
    name: 'book-answers-without-text',
    rule: 'Answers without a text that can be displayed are refused.',
    section: 'Specification 2.3',
    body: parameters(proposal(), answers({})),
  }),
  refused({
    name: 'book-answers-without-items',
    rule: 'Answers that do not hold the questions themselves are refused.',
    section: 'Specification 2.3',
    body: parameters(proposal(), answers({ text: { status: 'generated', div }, item: undefined })),
  }),
  refused({
    name: 'book-coding-without-system',
    rule: 'A coded service type without a system is refused.',
    section: 'Specification 2.1',
    body: proposal({ serviceType: [{ coding: [{ code: '{serviceType.code}' }] }] }),
  }),
  refused({
    name: 'book-priority-without-concept',
    rule: 'A priority extension without a valueCodeableConcept is refused.',
    section: 'Specification 2.1',
    body: proposal({
      _priority: { extension: [{ url: '{uri.LocalTerminPriorityExtension}', valueString: 'urgent' }] },
    }),
  }),
  refused({
    name: 'book-without-service-type',
    rule: 'An Appointment without a service type is refused.',
    section: 'ISiK Terminplanung, ISiKTermin.serviceType',
    stages: isikStages,
    body: proposal({ serviceType: undefined }),
  }),
  refused({
    name: 'book-specialty-of-another-system',
    rule: 'A specialty that is not coded by IHE Germany is refused.',
    section: 'ISiK Terminplanung, ISiKTermin.specialty, slice Fachrichtung',
    stages: ['isik4', 'isik5', 'isik'],
    body: proposal({ specialty: [{ coding: [{ system: 'https://example.org/specialties', code: 'neurology' }] }] }),
  }),
  refused({
    name: 'book-priority-of-another-system',
    rule: 'A priority that is not coded in SNOMED CT is refused.',
    section: 'ISiK Terminplanung, ISiKTerminPriorityExtension',
    stages: isikStages,
    body: proposal({
      _priority: {
        extension: [
          {
            url: '{uri.LocalTerminPriorityExtension}',
            valueCodeableConcept: { coding: [{ system: 'https://example.org/priorities', code: 'high' }] },
          },
        ],
      },
    }),
  }),
  refused({
    name: 'book-implicit-rules',
    rule: 'An Appointment with implicitRules is refused.',
    section: 'ISiK Terminplanung, ISiKTermin.implicitRules',
    stages: isikStages,
    body: proposal({ implicitRules: 'https://example.org/rules' }),
  }),
  refused({
    name: 'book-unknown-modifier-extension',
    rule: 'An Appointment with a modifierExtension that the service does not know is refused.',
    section: 'FHIR R4, extensibility, modifier extensions',
    body: proposal({ modifierExtension: [{ url: 'https://example.org/not', valueBoolean: true }] }),
  }),
];
