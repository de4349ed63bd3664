import { type Check, fromStage5, isikStages, type Level } from '../check.ts';
import { codedOutcome, header, leadsTo, refusal, resource, status, success, that } from '../expectation.ts';
import { parameters, participant, patient, proposal } from '../preparation/bodies.ts';

const isBooked = that("status = 'booked'");
const isBookedOrPending = that("status = 'booked' or status = 'pending'");
const hasId = that('id.exists()');

const inOther = {
  start: '{otherSlot.start}',
  end: '{otherSlot.end}',
  slot: [{ reference: '{otherSlot}' }],
};

const inManual = {
  start: '{manualSlot.start}',
  end: '{manualSlot.end}',
  slot: [{ reference: '{manualSlot}' }],
};

const answers = (more: object): object => ({
  name: 'patientSubmittedInformation',
  resource: {
    resourceType: 'QuestionnaireResponse',
    questionnaire: 'https://example.org/fhir/Questionnaire/conformance-test',
    status: 'completed',
    item: [{ linkId: '1', text: 'Do you take medicines?', answer: [{ valueBoolean: false }] }],
    ...more,
  },
});

const div = '<div xmlns="http://www.w3.org/1999/xhtml">Do you take medicines? No</div>';

/** A booking that is refused because of one thing. */
interface Refused {
  readonly name: string;
  readonly level?: Level;
  readonly rule: string;
  readonly section: string;
  readonly body: object;
  readonly needs?: Check['needs'];
  readonly status?: 400;
  readonly stages?: Check['stages'];
  readonly covers?: Check['covers'];
}

const refused = ({
  name,
  level = 'MUST',
  rule,
  section,
  body,
  needs = ['slot', 'patient'],
  ...more
}: Refused): Check => ({
  name,
  level,
  rule,
  section,
  needs,
  steps: [
    {
      request: 'POST /Appointment/$book',
      body,
      expect: [more.status ? status(more.status) : refusal, codedOutcome],
    },
  ],
  ...(more.stages && { stages: more.stages }),
  ...(more.covers && { covers: more.covers }),
});

/** `$book` (specification 4.4). */
export const bookingChecks: readonly Check[] = [
  {
    name: 'book-free-slot',
    level: 'MUST',
    rule: 'A proposed Appointment for a free Slot is booked: the same Appointment, with the status booked.',
    section: 'Specification 4.4 and 3',
    needs: ['slot', 'patient'],
    steps: [
      {
        request: 'POST /Appointment/$book',
        body: proposal(),
        keep: 'appointment',
        expect: [
          status(200, 201),
          resource('Appointment'),
          hasId,
          isBooked,
          that('start ~ @{slot.start} and end ~ @{slot.end}'),
          that(`slot.where(${leadsTo('{slot}')}).exists()`),
          that(`participant.where(actor.${leadsTo('{patient}')}).exists()`),
          that("meta.profile.where($this = '{uri.LocalTermin}').exists()"),
          that("meta.tag.where(system = '{config.metaTagSystem}' and code = 'external').exists()"),
        ],
      },
      { request: 'GET /{appointment}', expect: [status(200), resource('Appointment'), isBooked] },
      { request: 'GET /{slot}', expect: [status(200), that("status != 'free'")] },
    ],
  },
  {
    name: 'book-read-and-search',
    level: 'MUST',
    rule: 'The current status of a booking is found by read and by search.',
    section: 'Specification 4.7',
    needs: ['slot', 'patient'],
    steps: [
      { request: 'POST /Appointment/$book', body: proposal(), keep: 'appointment', expect: [success] },
      {
        request: 'GET /{appointment}',
        keep: 'read',
        expect: [status(200), resource('Appointment'), that("id = '{appointment.id}'")],
      },
      {
        request: 'GET /Appointment?_id={appointment.id}',
        expect: [status(200), that("entry.resource.where(id = '{appointment.id}').status = '{read.status}'")],
      },
    ],
  },
  {
    name: 'book-pending',
    level: 'MUST',
    rule: 'What cannot be confirmed at once is answered with 202 and the status pending.',
    section: 'Specification 4.4 and 3',
    needs: ['manualSlot', 'patient'],
    steps: [
      {
        request: 'POST /Appointment/$book',
        body: proposal(inManual),
        expect: [status(202), resource('Appointment'), hasId, that("status = 'pending'")],
      },
    ],
  },
  {
    name: 'book-part-of-slot',
    level: 'MUST',
    rule: 'An Appointment of 50 minutes is booked inside a Slot of eleven hours.',
    section: 'ISiK Terminplanung, $book',
    stages: isikStages,
    needs: ['longSlot', 'patient'],
    steps: [
      {
        request: 'POST /Appointment/$book',
        body: proposal({
          start: '{longSlot.start.date}T11:05:00Z',
          end: '{longSlot.start.date}T11:55:00Z',
          slot: [{ reference: '{longSlot}' }],
        }),
        expect: [success, resource('Appointment'), hasId, isBookedOrPending],
      },
    ],
    covers: [{ feature: 'Appointment-Book', scenario: 'Book an appointment using a free slot' }],
  },
  {
    name: 'book-by-schedule',
    level: 'MUST',
    rule: 'With a Schedule instead of a Slot the service chooses the Slot, and says which.',
    section: 'ISiK Terminplanung, $book, schedule',
    stages: isikStages,
    needs: ['longSlot', 'schedule', 'patient'],
    steps: [
      {
        request: 'POST /Appointment/$book',
        body: parameters(
          proposal({
            start: '{longSlot.start.date}T11:05:00Z',
            end: '{longSlot.start.date}T11:55:00Z',
            slot: undefined,
          }),
          { name: 'schedule', valueReference: { reference: '{schedule}' } },
        ),
        expect: [success, resource('Appointment'), hasId, isBookedOrPending, that('slot.exists()')],
      },
    ],
    covers: [{ feature: 'Appointment-Book-By-Schedule', scenario: 'Book an appointment by schedule reference' }],
  },
  {
    name: 'book-as-parameters',
    level: 'MUST',
    rule: 'The Appointment may stand in Parameters.',
    section: 'Specification 4.4',
    needs: ['slot', 'patient'],
    steps: [
      {
        request: 'POST /Appointment/$book',
        body: parameters(proposal()),
        expect: [success, resource('Appointment'), hasId, isBookedOrPending],
      },
    ],
  },
  {
    name: 'book-xml',
    level: 'MUST',
    rule: 'A booking may be sent as XML, and is answered as XML.',
    section: 'ISiK Basismodul, REST',
    stages: isikStages,
    needs: ['slot', 'patient'],
    steps: [
      {
        request: 'POST /Appointment/$book',
        format: 'xml',
        body: proposal(),
        expect: [success, header('content-type', /xml/), resource('Appointment'), hasId, isBookedOrPending],
      },
    ],
  },
  refused({
    name: 'book-incomplete',
    rule: 'An Appointment without start and end is refused with 400 and an OperationOutcome.',
    section: 'ISiK Terminplanung, $book',
    status: 400,
    body: proposal({ start: undefined, end: undefined }),
    covers: [
      {
        feature: 'Appointment-Book',
        scenario: 'Book an appointment when the request is incomplete (no slot or schedule provided)',
      },
    ],
  }),
  refused({
    name: 'book-without-slot-and-schedule',
    rule: 'An Appointment that names neither a Slot nor a Schedule is refused with 400 and an OperationOutcome.',
    section: 'ISiK Terminplanung, $book',
    status: 400,
    stages: isikStages,
    needs: ['slot', 'patient'],
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
  {
    name: 'book-provisional-patient-deactivated',
    level: 'MUST',
    rule: 'An Appointment of a provisional Patient that has become inactive is refused.',
    section: 'Specification 2.1 and 7',
    needs: ['slot'],
    steps: [
      { request: 'POST /Patient', body: patient({ identifier: undefined }), keep: 'provisional', expect: [success] },
      {
        request: 'PUT /{provisional}',
        body: patient({ identifier: undefined, id: '{provisional.id}', active: false }),
        expect: [success],
      },
      {
        request: 'POST /Appointment/$book',
        body: proposal({ participant: [participant('{provisional}')] }),
        expect: [refusal, codedOutcome],
      },
    ],
  },
  {
    name: 'book-taken-slot',
    level: 'MUST',
    rule: 'A Slot that is taken cannot be booked again.',
    section: 'Specification 4.3 and 4.4',
    needs: ['slot', 'patient'],
    steps: [
      { request: 'POST /Appointment/$book', body: proposal(), expect: [success] },
      { request: 'POST /Appointment/$book', body: proposal(), expect: [refusal, codedOutcome] },
    ],
  },
  {
    name: 'book-with-patient',
    level: 'MUST',
    rule: 'A Patient that is handed over in the operation is created, and takes part in the Appointment.',
    section: 'Specification 4.4 and 4.6',
    orElse: 'patient-create',
    needs: ['slot'],
    steps: [
      {
        request: 'POST /Appointment/$book',
        body: parameters(proposal({ participant: [participant('urn:uuid:2a6b6f5c-95f3-4b1f-8a40-6c1f0c2f7d11')] }), {
          name: 'patient',
          resource: patient({
            identifier: [{ system: 'urn:appointment-booking:conformance', value: '{run}-in-book' }],
          }),
        }),
        keep: 'appointment',
        expect: [
          success,
          resource('Appointment'),
          hasId,
          that("participant.actor.reference.matches('(^|/)Patient/').exists()"),
        ],
      },
      {
        request: 'GET /Patient?identifier=urn:appointment-booking:conformance|{run}-in-book',
        expect: [status(200), that("entry.resource.where(name.family = 'Test').exists()")],
      },
    ],
  },
  {
    name: 'book-with-answers',
    level: 'MAY',
    rule: 'Answers that the patient has given are taken with the booking.',
    section: 'Specification 4.4 and 2.3',
    needs: ['slot', 'patient'],
    steps: [
      {
        request: 'POST /Appointment/$book',
        body: parameters(proposal(), answers({ text: { status: 'generated', div } })),
        expect: [success, resource('Appointment'), isBookedOrPending],
      },
    ],
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
  {
    name: 'book-service-type-in-words',
    level: 'MUST',
    rule: 'A service type in words is enough.',
    section: 'ISiK Terminplanung, ISiKTermin.serviceType',
    stages: isikStages,
    needs: ['slot', 'patient'],
    steps: [
      {
        request: 'POST /Appointment/$book',
        body: proposal({ serviceType: [{ text: 'Consultation' }] }),
        expect: [success, resource('Appointment'), isBookedOrPending],
      },
    ],
  },
  {
    name: 'book-without-specialty',
    level: 'MUST',
    rule: 'An Appointment without a specialty is booked.',
    section: 'ISiK Terminplanung, ISiKTermin.specialty',
    stages: isikStages,
    needs: ['slot', 'patient'],
    steps: [
      {
        request: 'POST /Appointment/$book',
        body: proposal({ specialty: undefined }),
        expect: [success, resource('Appointment'), isBookedOrPending],
      },
    ],
  },
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
  {
    name: 'rebook-in-another-slot',
    level: 'MUST',
    rule: 'A booked Appointment that is sent again with its id moves to another Slot and keeps the id.',
    section: 'Specification 3, re-submission',
    needs: ['slot', 'otherSlot', 'patient'],
    steps: [
      { request: 'POST /Appointment/$book', body: proposal(), keep: 'appointment', expect: [success] },
      {
        request: 'POST /Appointment/$book',
        body: proposal({ ...inOther, id: '{appointment.id}' }),
        expect: [
          success,
          resource('Appointment'),
          that("id = '{appointment.id}'"),
          that('start ~ @{otherSlot.start}'),
          that(`slot.all(${leadsTo('{otherSlot}')})`),
        ],
      },
      { request: 'GET /{slot}', expect: [status(200), that("status = 'free'")] },
    ],
  },
  {
    name: 'rebook-not-available',
    level: 'MUST',
    rule: 'If an Appointment is not available in the changed form it stays as it is.',
    section: 'Specification 3, re-submission',
    needs: ['slot', 'otherSlot', 'patient'],
    steps: [
      { request: 'POST /Appointment/$book', body: proposal(inOther), expect: [success] },
      { request: 'POST /Appointment/$book', body: proposal(), keep: 'appointment', expect: [success] },
      {
        request: 'POST /Appointment/$book',
        body: proposal({ ...inOther, id: '{appointment.id}' }),
        expect: [refusal, codedOutcome],
      },
      {
        request: 'GET /{appointment}',
        expect: [status(200), that(`status = '{appointment.status}' and start ~ @{slot.start}`)],
      },
    ],
  },
  {
    name: 'book-replacing',
    level: 'MUST',
    rule: 'With cancelled-appt-id the earlier Appointment is cancelled, and the new one says that it replaces it.',
    section: 'ISiK Terminplanung, $book, cancelled-appt-id',
    stages: isikStages,
    needs: ['slot', 'otherSlot', 'patient'],
    steps: [
      { request: 'POST /Appointment/$book', body: proposal(), keep: 'earlier', expect: [success] },
      {
        request: 'POST /Appointment/$book',
        body: parameters(proposal(inOther), { name: 'cancelled-appt-id', valueUri: '{earlier}' }),
        expect: [
          success,
          resource('Appointment'),
          that(
            `extension.where(url = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Appointment.replaces' and value.${leadsTo('{earlier}')}).exists()`,
          ),
        ],
      },
      { request: 'GET /{earlier}', expect: [status(200), that("status = 'cancelled'")] },
    ],
  },
  {
    name: 'book-profile-claimed',
    level: 'MUST',
    rule: 'A booked Appointment carries what was sent: comment, instructions, specialty and priority.',
    section: 'Specification 2.1; ISiK Terminplanung, ISiKTermin',
    stages: fromStage5,
    needs: ['slot', 'patient'],
    steps: [
      { request: 'POST /Appointment/$book', body: proposal(), keep: 'appointment', expect: [success] },
      {
        request: 'GET /{appointment}',
        expect: [
          status(200),
          that("comment = 'Conformance test' and patientInstruction.exists()"),
          that("specialty.coding.where(system = '{specialty.system}' and code = '{specialty.code}').exists()"),
          that("_priority.extension.where(url = '{uri.LocalTerminPriorityExtension}').value.coding.code = '394848005'"),
        ],
      },
    ],
  },
];

/** `$book` with `Prefer: respond-async` (specification 4.4). */
export const asynchronousChecks: readonly Check[] = [
  {
    name: 'book-async',
    level: 'MUST',
    rule: 'With Prefer: respond-async the answer is 202 with an absolute Content-Location, where the Appointment is found.',
    section: 'Specification 4.4, asynchronous execution',
    needs: ['slot', 'patient'],
    steps: [
      {
        request: 'POST /Appointment/$book',
        headers: { prefer: 'respond-async' },
        body: proposal(),
        keep: 'job',
        expect: [status(202), header('content-location', /^https?:\/\//)],
      },
      {
        request: 'GET {job.header.content-location}',
        within: 60,
        expect: [status(200), resource('Appointment'), isBookedOrPending, that('start ~ @{slot.start}')],
      },
    ],
  },
  {
    name: 'book-async-failure',
    level: 'MUST',
    rule: 'An asynchronous booking that fails is answered with 4xx or 5xx and an OperationOutcome, at once or at its Content-Location.',
    section: 'Specification 4.4 and 7',
    needs: ['slot', 'patient'],
    steps: [
      { request: 'POST /Appointment/$book', body: proposal(), expect: [success] },
      {
        request: 'POST /Appointment/$book',
        headers: { prefer: 'respond-async' },
        body: proposal(),
        keep: 'job',
        expect: [{ says: 'status 202, or 4xx, or 5xx', holds: ({ status: code }) => code === 202 || code >= 400 }],
      },
      {
        request: 'GET {job.header.content-location}',
        within: 60,
        expect: [{ says: 'status 4xx or 5xx', holds: ({ status: code }) => code >= 400 }, codedOutcome],
      },
    ],
  },
];
