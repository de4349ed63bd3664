import type { OperationOutcomeIssue } from '@medplum/fhirtypes';

/** A kind of error: its HTTP status, its FHIR issue type and its meaning. */
export interface BookingError {
  readonly status: 400 | 409 | 412 | 422 | 429 | 503 | 504;
  /** The status in the result of a patch, if it differs. */
  readonly statusInPatch?: 400;
  readonly type: OperationOutcomeIssue['code'];
  readonly display: string;
}

/** All business errors. The CodeSystem LocalBookingError and the table in docs/errors.md are generated from it. */
export const bookingErrors = {
  'malformed-request': { status: 400, type: 'structure', display: 'The request is malformed' },
  'element-missing': { status: 400, type: 'required', display: 'A required element is missing' },
  'parameter-unknown': { status: 400, type: 'not-supported', display: 'The operation has no parameter of this name' },
  'slot-or-schedule-missing': {
    status: 400,
    type: 'required',
    display: 'The request names neither slots nor a schedule',
  },
  'patient-missing': { status: 400, type: 'required', display: 'The request has no patient' },
  'patch-invalid': { status: 400, type: 'structure', display: 'The patch cannot be applied' },
  'immutable-element': { status: 400, type: 'business-rule', display: 'An update must not change this element' },
  'profile-violation': {
    status: 422,
    statusInPatch: 400,
    type: 'invariant',
    display: 'The resource does not conform to its profile',
  },
  'status-not-proposed': { status: 422, type: 'business-rule', display: 'Only a proposed appointment can be booked' },
  'period-invalid': { status: 422, type: 'business-rule', display: 'The period from start to end cannot be booked' },
  'start-in-past': { status: 422, type: 'business-rule', display: 'The appointment would start in the past' },
  'slot-not-found': { status: 422, type: 'not-found', display: 'The slot does not exist' },
  'slot-mismatch': { status: 422, type: 'business-rule', display: 'The slots do not fit the time of the appointment' },
  'schedule-not-found': { status: 422, type: 'not-found', display: 'The schedule does not exist' },
  'schedule-inactive': { status: 422, type: 'business-rule', display: 'The schedule is not open for booking' },
  'service-type-not-offered': {
    status: 422,
    type: 'business-rule',
    display: 'The service type or payer kind is not offered in this slot',
  },
  'patient-not-found': { status: 422, type: 'not-found', display: 'The patient does not exist' },
  'patient-inactive': { status: 422, type: 'business-rule', display: 'The patient is inactive or was merged' },
  'patient-mismatch': { status: 422, type: 'business-rule', display: 'The request names two different patients' },
  'patient-ambiguous': { status: 422, type: 'multiple-matches', display: 'Several patients have this identifier' },
  'answers-text-missing': { status: 422, type: 'required', display: 'The answers have no readable text' },
  'answers-items-missing': { status: 422, type: 'required', display: 'The answers do not include their questions' },
  'replaced-appointment-not-found': {
    status: 422,
    type: 'not-found',
    display: 'The appointment to replace does not exist',
  },
  'person-unreachable': { status: 422, type: 'business-rule', display: 'The person cannot be asked' },
  'transition-not-allowed': { status: 422, type: 'business-rule', display: 'This change of status is not allowed' },
  'topic-unknown': { status: 422, type: 'not-supported', display: 'The subscription topic does not exist' },
  'filter-unsupported': { status: 422, type: 'not-supported', display: 'The filter is not supported' },
  'channel-unsupported': { status: 422, type: 'not-supported', display: 'The notification channel is not supported' },
  'subscriptions-exceeded': { status: 422, type: 'too-costly', display: 'There are too many Subscriptions' },
  'endpoint-not-allowed': { status: 422, type: 'security', display: 'Notifications cannot be sent to this address' },
  'too-soon': { status: 422, type: 'business-rule', display: 'The time is too soon to be booked' },
  'too-far-ahead': { status: 422, type: 'business-rule', display: 'The time is not open for booking yet' },
  'cancellation-closed': { status: 422, type: 'business-rule', display: 'It is too late to cancel' },
  'patient-has-appointments': {
    status: 422,
    type: 'business-rule',
    display: 'The patient has an appointment that the caller cannot cancel',
  },
  'patient-limit-reached': { status: 422, type: 'business-rule', display: 'The patient has too many appointments' },
  'portal-quota-reached': {
    status: 422,
    type: 'business-rule',
    display: 'The portal has used up its quota for the day',
  },
  'too-many-holds': {
    status: 422,
    type: 'too-costly',
    display: 'The caller has too many holds, or extends one too often',
  },
  'portal-limit-reached': {
    status: 422,
    type: 'too-costly',
    display: 'The portal has too many open appointments',
  },
  'opening-hours-invalid': {
    status: 422,
    type: 'business-rule',
    display: 'The opening hours cannot be used',
  },
  'policy-invalid': { status: 422, type: 'invariant', display: 'The booking policy cannot be used' },
  'visit-invalid': { status: 422, type: 'invariant', display: 'The steps or the series of the service cannot be used' },
  'service-not-found': { status: 422, type: 'not-found', display: 'The service does not exist' },
  'too-costly': { status: 422, type: 'too-costly', display: 'The search would take too long' },
  'visit-mismatch': { status: 422, type: 'business-rule', display: 'The appointments do not make up the visit' },
  'slot-not-free': { status: 409, type: 'conflict', display: 'The slot is no longer free' },
  'appointment-closed': { status: 409, type: 'conflict', display: 'The appointment can no longer be changed' },
  'hold-expired': { status: 409, type: 'conflict', display: 'The hold has expired and the time is taken' },
  'confirmation-expired': {
    status: 409,
    type: 'conflict',
    display: 'The clinic did not confirm the request in time',
  },
  'booking-conflict': {
    status: 409,
    type: 'conflict',
    display: 'Another request interfered at the same moment: try again',
  },
  'too-many-bookings': {
    status: 429,
    type: 'throttled',
    display: 'The portal makes too many bookings in too short a time',
  },
  'version-conflict': { status: 412, type: 'conflict', display: 'The resource has changed in the meantime' },
  'schedule-overbooked': { status: 400, type: 'conflict', display: 'The time is already taken' },
  'upstream-unavailable': { status: 503, type: 'transient', display: 'The FHIR server cannot be reached' },
  'upstream-timeout': { status: 504, type: 'timeout', display: 'The FHIR server did not answer in time' },
} as const satisfies Record<string, BookingError>;

export type BookingErrorCode = keyof typeof bookingErrors;
