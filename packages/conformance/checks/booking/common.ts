import { success, that } from '../../expectation.ts';
import { proposal } from '../../preparation/bodies.ts';

/** The Appointment is confirmed. */
export const isBooked = that("status = 'booked'");

/** The Appointment is accepted, confirmed or not. */
export const isBookedOrPending = that("status = 'booked' or status = 'pending'");

/** The resource has an id. */
export const hasId = that('id.exists()');

/** The Slot is booked; the Appointment is kept. */
export const bookSlot = {
  request: 'POST /Appointment/$book',
  body: proposal(),
  keep: 'appointment',
  expect: [success],
} as const;

/** A Slot and its time, for a proposal. */
export const timeOf = (slot: string) => ({
  start: `{${slot}.start}`,
  end: `{${slot}.end}`,
  slot: [{ reference: `{${slot}}` }],
});

export const inOther = timeOf('otherSlot');

/** The time of a Slot whose Appointments staff confirm, for a proposal. */
export const inManual = timeOf('manualSlot');

/** Answers of a patient, as a parameter of the operation. */
export const answers = (more: object): object => ({
  name: 'patientSubmittedInformation',
  resource: {
    resourceType: 'QuestionnaireResponse',
    questionnaire: 'https://example.org/fhir/Questionnaire/conformance-test',
    status: 'completed',
    item: [{ linkId: '1', text: 'Do you take medicines?', answer: [{ valueBoolean: false }] }],
    ...more,
  },
});

/** A text that displays the answers. */
export const div = '<div xmlns="http://www.w3.org/1999/xhtml">Do you take medicines? No</div>';
