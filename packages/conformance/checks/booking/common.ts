import { success, that } from '../../expectation.ts';
import { proposal } from '../../preparation/bodies.ts';

export const isBooked = that("status = 'booked'");

/** The Appointment is accepted: confirmed or waiting for confirmation. */
export const isBookedOrPending = that("status = 'booked' or status = 'pending'");

export const hasId = that('id.exists()');

/** Books the Slot; later steps refer to `{appointment}`. */
export const bookSlot = {
  request: 'POST /Appointment/$book',
  body: proposal(),
  keep: 'appointment',
  expect: [success],
} as const;

/** The elements of a proposal for a Slot. */
export const timeOf = (slot: string) => ({
  start: `{${slot}.start}`,
  end: `{${slot}.end}`,
  slot: [{ reference: `{${slot}}` }],
});

export const inOther = timeOf('otherSlot');

/** The elements of a proposal for a Slot whose appointments staff confirm. */
export const inManual = timeOf('manualSlot');

/** The answers of a patient, as a parameter of `$book`. */
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

export const div = '<div xmlns="http://www.w3.org/1999/xhtml">Do you take medicines? No</div>';
