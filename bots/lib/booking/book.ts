import type { MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, Slot } from '@medplum/fhirtypes';
import { type BookRequest, bookingRejectionIssues, type ParsedRequest } from '../../../core/booking/request/request.ts';
import { timeLimits } from '../../../core/config/config.ts';
import { bookingErrors } from '../../../core/fhir/outcome/errors.ts';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import type { ResourceSet } from '../../../core/rows/resource-set.ts';
import { config } from '../config.ts';
import { newId, retryOvertaken, sendBundle } from '../medplum.ts';
import { withAlternatives } from './alternatives.ts';
import { type DecisionOptions, decideBooking, type ReadableRequest, type Requestor } from './decide.ts';

export type BookingResult =
  /** The appointments, in the order in which they were sent. */
  | { readonly kind: 'booked' | 'existing'; readonly appointments: readonly Appointment[] }
  /** The request is valid and would be carried out; nothing was written (`dry-run`). */
  | { readonly kind: 'judged' }
  | { readonly kind: 'refused'; readonly issues: readonly Issue[] };

/** The transaction was committed, but its response lacks the appointment. */
const unseen: Issue = {
  code: 'upstream-unavailable',
  diagnostics:
    'The FHIR server did not return the booked appointment: send the request again with the same Appointment.identifier.',
};

const contested: Issue = {
  code: 'booking-conflict',
  diagnostics: 'Other requests booked the same slots at the same moment. Nothing was booked; try again.',
};

/** Adds entries to the transaction of a booking, whose first `count` entries are its appointments. */
type Extend = (transaction: Bundle, newId: () => string, count: number) => Bundle;

interface BookingOptions extends Pick<DecisionOptions, 'purpose' | 'offer'> {
  readonly extend?: Extend;
}

/** The result of one attempt: the booking is finished, or must be decided again. */
type Attempt = BookingResult | { readonly kind: 'again'; readonly issue: Issue };

type Attempted = Attempt & { readonly state?: ResourceSet; readonly returning?: readonly Slot[] };

/** Whether a request can be repeated after a lost response: without identifiers, it could book twice. */
function isRepeatable(request: BookRequest): boolean {
  return request.appointments.every(
    ({ appointment }) => appointment.value.identifier?.some(({ value }) => value) ?? false,
  );
}

const refused = (...issues: readonly Issue[]): BookingResult => ({ kind: 'refused', issues });

/** Writes a booking once: `again` after a conflict, or after a lost response if repeating is safe. */
async function writeBooking(medplum: MedplumClient, request: BookRequest, transaction: Bundle): Promise<Attempt> {
  const written = await sendBundle(medplum, transaction);
  switch (written.kind) {
    case 'done': {
      const { length } = request.appointments;
      const booked = (written.bundle.entry ?? []).slice(0, length).map(({ resource }) => resource);
      const appointments = booked.flatMap((resource) => (isResource(resource, 'Appointment') ? [resource] : []));
      return appointments.length === length ? { kind: 'booked', appointments } : refused(unseen);
    }
    case 'overtaken':
      return { kind: 'again', issue: contested };
    case 'invalid':
      return refused(...bookingRejectionIssues(written.outcome, request));
    case 'failed':
      return refused(written.issue);
    case 'lost':
      return isRepeatable(request) ? { kind: 'again', issue: written.issue } : refused(written.issue);
  }
}

/** A booking is retried only while the gateway is still waiting. */
const attempts = { within: timeLimits(config).decide };

/** Decides once about a booking and, unless it is a dry run, writes it. */
async function decideAndWrite(
  medplum: MedplumClient,
  parsed: ReadableRequest,
  requestor: Requestor,
  { purpose, offer, extend = (bundle) => bundle }: BookingOptions,
): Promise<Attempted> {
  const { request } = parsed;
  const { isDryRun = false } = request;
  const { plan, state } = await decideBooking(medplum, parsed, requestor, { purpose, isDry: isDryRun, offer });
  switch (plan.kind) {
    case 'existing':
      return isDryRun ? { kind: 'judged' } : plan;
    case 'write':
      return isDryRun
        ? { kind: 'judged' }
        : writeBooking(medplum, request, extend(plan.transaction, newId, request.appointments.length));
    case 'refuse':
      return { ...refused(...plan.issues), state, ...(plan.returning && { returning: plan.returning }) };
  }
}

/** Whether a refusal depends on the current state, not on the request itself. */
export function isTransient(issues: readonly Issue[]): boolean {
  return issues.some(({ code }) => code === 'booking-conflict' || bookingErrors[code].status >= 500);
}

/**
 * Decides about a booking and writes it. A conflict with a concurrent booking leads to a new decision, a limited
 * number of times. So does a lost response if the request has an identifier, by which an existing booking is found.
 * While it is unknown whether a lost attempt booked, the result never says that nothing was booked. A refusal contains
 * alternatives.
 */
export async function bookAppointment(
  medplum: MedplumClient,
  parsed: ParsedRequest,
  requestor: Requestor,
  options: BookingOptions = {},
): Promise<BookingResult> {
  const { request } = parsed;
  if (!request) {
    return refused(...parsed.issues);
  }
  const begin = Date.now();
  let lost: Issue | undefined;
  const decide = async (): Promise<Attempted> => {
    const result = await decideAndWrite(medplum, { ...parsed, request }, requestor, options);
    lost ??= result.kind === 'again' && result.issue !== contested ? result.issue : undefined;
    return result;
  };
  const last = await retryOvertaken(decide, ({ kind }) => kind === 'again', attempts);
  const result = last.kind === 'again' ? refused(last.issue) : last;
  if (lost && result.kind === 'refused' && isTransient(result.issues)) {
    return refused(lost);
  }
  const mayTakeLonger = Date.now() - begin < timeLimits(config).propose;
  return result.kind === 'refused' && last.state && mayTakeLonger && !options.offer
    ? refused(
        ...(await withAlternatives(
          medplum,
          result.issues,
          request,
          { state: last.state, ...(last.returning && { returning: last.returning }) },
          requestor,
          options.purpose,
        )),
      )
    : result;
}
