import { type Check, isikStages } from '../../check.ts';
import { codedOutcome, leadsTo, refusal, resource, status, success, that } from '../../expectation.ts';
import { parameters, proposal } from '../../preparation/bodies.ts';
import { bookSlot, inOther } from './common.ts';

/** Appointments that are re-submitted or replace others (specification 3). */
export const resubmissionChecks: readonly Check[] = [
  {
    name: 'rebook-in-another-slot',
    rule: 'A booked Appointment that is sent again with its id moves to another Slot and keeps the id.',
    section: 'Specification 3, re-submission',
    needs: ['slot', 'otherSlot', 'patient'],
    steps: [
      bookSlot,
      {
        request: 'POST /Appointment/$book',
        body: proposal({ ...inOther, id: '{appointment.id}' }),
        expect: [
          success,
          resource('Appointment'),
          that("id = '{appointment.id}'"),
          that('start.toDateTime() ~ @{otherSlot.start}'),
          that(`slot.all(${leadsTo('{otherSlot}')})`),
        ],
      },
      { request: 'GET /{slot}', expect: [status(200), that("status = 'free'")] },
    ],
  },
  {
    name: 'rebook-not-available',
    rule: 'If an Appointment is not available in the changed form it stays as it is.',
    section: 'Specification 3, re-submission',
    needs: ['slot', 'otherSlot', 'patient'],
    steps: [
      { request: 'POST /Appointment/$book', body: proposal(inOther), expect: [success] },
      bookSlot,
      {
        request: 'POST /Appointment/$book',
        body: proposal({ ...inOther, id: '{appointment.id}' }),
        expect: [refusal, codedOutcome],
      },
      {
        request: 'GET /{appointment}',
        expect: [status(200), that(`status = '{appointment.status}' and start.toDateTime() ~ @{slot.start}`)],
      },
    ],
  },
  {
    name: 'book-replacing',
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
];
