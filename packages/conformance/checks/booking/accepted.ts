import { asking, type Check, fromStage5, isikStages } from '../../check.ts';
import { findsOnly, header, leadsTo, names, resource, status, success, that } from '../../expectation.ts';
import { parameters, participant, patient, proposal } from '../../preparation/bodies.ts';
import { answers, bookSlot, div, hasId, inManual, inOther, isBooked, isBookedOrPending } from './common.ts';

/** The Appointment has its profile, and the tag of external appointments. */
const isTermin = [
  that(names('meta.profile', '{uri.LocalTermin}')),
  that("meta.tag.where(system = '{config.metaTagSystem}' and code = 'external').exists()"),
];

/** Bookings that `$book` accepts (specification 4.4). */
export const acceptedChecks: readonly Check[] = [
  {
    name: 'book-free-slot',
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
          that('start.toDateTime() ~ @{slot.start} and end.toDateTime() ~ @{slot.end}'),
          that(`slot.where(${leadsTo('{slot}')}).exists()`),
          that(`participant.where(actor.${leadsTo('{patient}')}).exists()`),
          ...isTermin,
        ],
      },
      { request: 'GET /{appointment}', expect: [status(200), resource('Appointment'), isBooked, ...isTermin] },
      { request: 'GET /{slot}', expect: [status(200), that("status != 'free'")] },
    ],
  },
  {
    name: 'book-read-and-search',
    rule: 'The current status of a booking is found by read and by search.',
    section: 'Specification 4.7',
    needs: ['slot', 'otherSlot', 'patient'],
    steps: [
      { request: 'POST /Appointment/$book', body: proposal(inOther), expect: [success] },
      bookSlot,
      {
        request: 'GET /{appointment}',
        keep: 'read',
        expect: [status(200), resource('Appointment'), that("id = '{appointment.id}'")],
      },
      {
        request: 'GET /Appointment?_id={appointment.id}',
        expect: findsOnly('Appointment', "id = '{appointment.id}' and status = '{read.status}'"),
      },
    ],
  },
  asking({
    name: 'book-pending',
    rule: 'What cannot be confirmed at once is answered with 202 and the status pending.',
    section: 'Specification 4.4 and 3',
    needs: ['manualSlot', 'patient'],
    request: 'POST /Appointment/$book',
    body: proposal(inManual),
    expect: [status(202), resource('Appointment'), hasId, that("status = 'pending'")],
  }),
  asking({
    name: 'book-part-of-slot',
    rule: 'An Appointment of 50 minutes is booked inside a Slot of eleven hours.',
    section: 'ISiK Terminplanung, $book',
    stages: isikStages,
    needs: ['longSlot', 'patient'],
    request: 'POST /Appointment/$book',
    body: proposal({
      start: '{longSlot.start.date}T11:05:00Z',
      end: '{longSlot.start.date}T11:55:00Z',
      slot: [{ reference: '{longSlot}' }],
    }),
    expect: [success, resource('Appointment'), hasId, isBookedOrPending],
    covers: [{ feature: 'Appointment-Book', scenario: 'Book an appointment using a free slot' }],
  }),
  asking({
    name: 'book-by-schedule',
    rule: 'With a Schedule instead of a Slot the service chooses the Slot, and says which.',
    section: 'ISiK Terminplanung, $book, schedule',
    stages: isikStages,
    needs: ['longSlot', 'schedule', 'patient'],
    request: 'POST /Appointment/$book',
    body: parameters(
      proposal({ start: '{longSlot.start.date}T11:05:00Z', end: '{longSlot.start.date}T11:55:00Z', slot: undefined }),
      { name: 'schedule', valueReference: { reference: '{schedule}' } },
    ),
    expect: [success, resource('Appointment'), hasId, isBookedOrPending, that('slot.exists()')],
    covers: [{ feature: 'Appointment-Book-By-Schedule', scenario: 'Book an appointment by schedule reference' }],
  }),
  asking({
    name: 'book-as-parameters',
    rule: 'The Appointment may be wrapped in Parameters.',
    section: 'Specification 4.4',
    needs: ['slot', 'patient'],
    request: 'POST /Appointment/$book',
    body: parameters(proposal()),
    expect: [success, resource('Appointment'), hasId, isBookedOrPending],
  }),
  asking({
    name: 'book-xml',
    rule: 'A booking may be sent as XML, and is answered as XML.',
    section: 'ISiK Basismodul, REST',
    stages: isikStages,
    needs: ['slot', 'patient'],
    request: 'POST /Appointment/$book',
    format: 'xml',
    body: proposal(),
    expect: [success, header('content-type', /xml/), resource('Appointment'), hasId, isBookedOrPending],
  }),
  {
    name: 'book-with-patient',
    rule: 'A Patient that is passed in the operation is created, and takes part in the Appointment.',
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
          that("participant.actor.where(reference.matches('(^|/)Patient/')).exists()"),
        ],
      },
      {
        request: 'GET /Patient?identifier=urn:appointment-booking:conformance|{run}-in-book',
        expect: [status(200), that("entry.resource.where(name.family = 'Test').exists()")],
      },
    ],
  },
  asking({
    name: 'book-with-answers',
    level: 'MAY',
    rule: 'Answers that the patient has given are accepted with the booking.',
    section: 'Specification 4.4 and 2.3',
    needs: ['slot', 'patient'],
    request: 'POST /Appointment/$book',
    body: parameters(proposal(), answers({ text: { status: 'generated', div } })),
    expect: [success, resource('Appointment'), isBookedOrPending],
  }),
  asking({
    name: 'book-service-type-in-words',
    rule: 'A service type as text alone is enough.',
    section: 'ISiK Terminplanung, ISiKTermin.serviceType',
    stages: isikStages,
    needs: ['slot', 'patient'],
    request: 'POST /Appointment/$book',
    body: proposal({ serviceType: [{ text: 'Consultation' }] }),
    expect: [success, resource('Appointment'), isBookedOrPending],
  }),
  asking({
    name: 'book-without-specialty',
    rule: 'An Appointment without a specialty is booked.',
    section: 'ISiK Terminplanung, ISiKTermin.specialty',
    stages: isikStages,
    needs: ['slot', 'patient'],
    request: 'POST /Appointment/$book',
    body: proposal({ specialty: undefined }),
    expect: [success, resource('Appointment'), isBookedOrPending],
  }),
  {
    name: 'book-profile-claimed',
    rule: 'A booked Appointment carries what was sent: comment, instructions, specialty and priority.',
    section: 'Specification 2.1; ISiK Terminplanung, ISiKTermin',
    stages: fromStage5,
    needs: ['slot', 'patient'],
    steps: [
      bookSlot,
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
