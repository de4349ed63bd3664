import type { Appointment, AppointmentParticipant, Bundle, BundleEntry, Reference } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../config/config.ts';
import { formatInstant, parseInstant } from '../fhir/instant.ts';
import type { Issue } from '../fhir/outcome.ts';
import { metaOfSubmitted } from '../fhir/tags.ts';
import { answersIssues } from './answers.ts';
import { type Calendar, calendarEntries, calendarOf, take } from './calendar.ts';
import { type People, resolvePeople } from './people.ts';
import { choosePlaces, schedulesOf } from './places.ts';
import { profileIssues } from './profile.ts';
import type { BookRequest, ParsedRequest } from './request.ts';
import { confirmationOf, serviceTypeIssues } from './services.ts';
import { all, type BookingState } from './state.ts';

/** What a booking depends on besides what was asked for and what is stored. */
export interface BookingContext {
  /** The moment of the decision, in milliseconds since 1970 UTC. */
  readonly now: number;
  /** Id of the requestor's profile in Medplum; everything the booking creates is tagged with it. */
  readonly requestor: string;
  readonly config: BookingConfig;
  /** Gives a fresh `urn:uuid:` for each resource that the transaction creates. */
  readonly newId: () => string;
}

/** What is to be done: a transaction whose first entry is the appointment, or a refusal. */
export type BookingPlan =
  | { readonly kind: 'write'; readonly transaction: Bundle }
  | { readonly kind: 'refuse'; readonly issues: readonly Issue[] };

function timeIssues({ appointment, interval }: BookRequest, now: number): Issue[] {
  const { value, path } = appointment;
  const isReversed = !interval && parseInstant(value.start) !== undefined && parseInstant(value.end) !== undefined;
  if (isReversed) {
    const diagnostics = `The end ${value.end} must be later than the start ${value.start}.`;
    return [{ code: 'period-invalid', diagnostics, expression: `${path}.end` }];
  }
  if (interval && interval.start <= now) {
    const diagnostics = `The start ${value.start} must be in the future; it is ${formatInstant(now)} now.`;
    return [{ code: 'start-in-past', diagnostics, expression: `${path}.start` }];
  }
  return [];
}

function statusIssues({ appointment: { value, path } }: BookRequest): Issue[] {
  if (value.status === undefined || value.status === 'proposed') {
    return [];
  }
  const diagnostics = `An appointment is booked with the status proposed, not ${value.status}.`;
  return [{ code: 'status-not-proposed', diagnostics, expression: `${path}.status` }];
}

/** The answers handed over, as they are stored: they are about the patient of the booking. */
function answersEntries(request: BookRequest, people: People, context: BookingContext): BundleEntry[] {
  const { requestor, config, newId } = context;
  const profile = artefactUri(config, 'LocalQuestionnaireResponse');
  return request.answers.map(({ value }) => {
    const { id: _, meta, ...response } = value;
    return {
      fullUrl: newId(),
      request: { method: 'POST', url: 'QuestionnaireResponse' },
      resource: {
        ...response,
        meta: metaOfSubmitted(meta, requestor, config, [profile]),
        ...(people.patient && { subject: people.patient }),
      },
    };
  });
}

/** What the appointment gets from the booking instead of from the request. */
interface Outcome {
  readonly status: Appointment['status'];
  readonly start: string;
  readonly end: string;
  readonly slotIds: readonly string[];
  readonly participants: readonly AppointmentParticipant[];
  readonly answers: readonly Reference[];
}

function bookedAppointment(sent: Appointment, outcome: Outcome, { requestor, config }: BookingContext): Appointment {
  const { id: _, meta, ...rest } = sent;
  const information = [...(sent.supportingInformation ?? []), ...outcome.answers];
  return {
    ...rest,
    meta: metaOfSubmitted(meta, requestor, config, [artefactUri(config, 'LocalTermin')]),
    status: outcome.status,
    start: outcome.start,
    end: outcome.end,
    slot: outcome.slotIds.map((id) => ({ reference: `Slot/${id}` })),
    participant: [...outcome.participants],
    ...(information.length > 0 && { supportingInformation: information }),
  };
}

/**
 * Decides about a booking: everything that speaks against it, or the one transaction that carries it out. Every slot
 * taken is written with the version that was read, so that of two bookings of the same time one fails as a whole.
 *
 * @param parsed - the request as read by `parseBookRequest`
 * @param state - what the caller may see of all that the request names (`bookingReads`)
 * @returns a transaction whose first entry is the Appointment, or all issues found
 * @see specification 3 and 4.4
 */
export function planBooking(parsed: ParsedRequest, state: BookingState, context: BookingContext): BookingPlan {
  const { request } = parsed;
  if (!request) {
    return { kind: 'refuse', issues: parsed.issues };
  }
  const { config, newId, now } = context;
  const { interval, appointment } = request;
  const originSystem = artefactUri(config, 'LocalSlotOrigin');
  const calendar = calendarOf(all(state, 'Slot'), originSystem);
  const places = choosePlaces(request, state, calendar);
  const people = resolvePeople(request, state, context);
  const issues = [
    ...parsed.issues,
    ...statusIssues(request),
    ...timeIssues(request, now),
    ...profileIssues(appointment, config),
    ...places.issues,
    ...serviceTypeIssues(request, places.slots, state),
    ...people.issues,
    ...request.answers.flatMap(answersIssues),
  ];
  if (issues.length > 0 || !interval) {
    return { kind: 'refuse', issues };
  }
  const isConfirmed = confirmationOf(schedulesOf(places.slots, state), state, config) === 'automatic';
  const slotStatus = isConfirmed ? 'busy' : 'busy-tentative';
  const taken = places.slots.reduce<Calendar>(
    (current, { id }) => take(current, id, interval, slotStatus, newId),
    calendar,
  );
  const answers = answersEntries(request, people, context);
  const booked = bookedAppointment(
    appointment.value,
    {
      status: isConfirmed ? 'booked' : 'pending',
      start: formatInstant(interval.start),
      end: formatInstant(interval.end),
      slotIds: places.slots.map(({ id }) => id),
      participants: people.participants,
      answers: answers.map(({ fullUrl }) => ({ ...(fullUrl && { reference: fullUrl }) })),
    },
    context,
  );
  return {
    kind: 'write',
    transaction: {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        { request: { method: 'POST', url: 'Appointment' }, resource: booked },
        ...calendarEntries(taken, originSystem),
        ...people.entries,
        ...answers,
      ],
    },
  };
}
