import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, OperationOutcome, Parameters, Patient } from '@medplum/fhirtypes';
import { isForPerson } from '../../core/booking/patients/identity.ts';
import { limitsReached, requestorLimitIssues, requestorLimitReads } from '../../core/booking/policy/quota.ts';
import { formatBookingResponse } from '../../core/booking/request/answer.ts';
import { type Issue, serverRejectionIssues, toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { isStillWaiting } from '../../core/fhir/scheduling/waitlist-order.ts';
import { resourceSet, resourcesOfType } from '../../core/rows/resource-set.ts';
import { MAX_ENTRIES, positionElements, positionOf } from '../../core/waitlist/entry.ts';
import {
  entriesOf,
  existingEntry,
  joinReads,
  parseJoinRequest,
  planJoin,
  tooManyEntries,
  withPosition,
} from '../../core/waitlist/join.ts';
import { unavailable, unavailableFor } from '../lib/booking/decide.ts';
import { callerOf, readRole } from '../lib/caller.ts';
import { config } from '../lib/config.ts';
import { newId, retryOvertaken, sendBundle } from '../lib/medplum.ts';
import { ofType, readAll, readInTransaction, readResponses, stateIn } from '../lib/read.ts';

/** The limits that an entry counts towards. */
const limits = ['rate', 'waiting'] as const;

type Joined = { readonly entry: Appointment; readonly isExisting: boolean } | { readonly issues: readonly Issue[] };

const contested: Issue = {
  code: 'booking-conflict',
  diagnostics: 'Others joined at the same moment. Nothing was stored; try again.',
};

/** Stores a waitlist entry, or finds the existing one. `contested` is the only issue that calls for another attempt. */
async function storeEntry(medplum: MedplumClient, event: BotEvent<unknown>): Promise<Joined> {
  const caller = callerOf(event);
  const now = Date.now();
  const parsed = parseJoinRequest(event.input, now, config);
  const { request } = parsed;
  if (!request) {
    return parsed;
  }
  const wanted = joinReads(request, caller.id, config);
  const counts = requestorLimitReads(limits, caller.id, now, config);
  const responses = await readResponses(medplum, [...wanted, ...counts], caller);
  const state = stateIn(responses.slice(0, wanted.length));
  const reached = limitsReached(limits, responses.slice(wanted.length));
  if (!reached) {
    return { issues: [unavailable] };
  }
  // Only staff may replace entries of other requestors.
  const [replaced] = request.replaced;
  const isStaff = replaced && (await readRole(medplum, caller.authorization, [replaced.value])) === 'staff';
  const joining = { request, state, requestor: caller.id, now, newId, config, isStaff: isStaff === true };
  const existing = existingEntry(joining);
  if (existing) {
    return { entry: existing, isExisting: true };
  }
  const plan = planJoin(parsed, joining);
  if (plan.kind === 'refuse') {
    return plan;
  }
  const limitIssues = requestorLimitIssues(reached, [], request.appointment.path, config);
  if (limitIssues.length > 0) {
    return { issues: limitIssues };
  }
  const searches = plan.patients.flatMap((patient) => entriesOf(patient, caller.id, config));
  const found = resourceSet((await readInTransaction(medplum, searches)).flat());
  const waiting = resourcesOfType(found, 'Appointment').filter((appointment) => isStillWaiting(appointment, now));
  const hasMaxEntries = (person: Patient): boolean =>
    waiting.filter((appointment) => isForPerson(appointment, person, found, config)).length >= MAX_ENTRIES;
  if (plan.patients.some(hasMaxEntries)) {
    return { issues: [tooManyEntries(request)] };
  }
  const written = await sendBundle(medplum, plan.transaction);
  const [response] = written.kind === 'done' ? (written.bundle.entry ?? []) : [];
  if (isResource(response?.resource, 'Appointment')) {
    return { entry: response.resource, isExisting: !response.response?.status.startsWith('201') };
  }
  if (written.kind === 'overtaken') {
    return { issues: [contested] };
  }
  return {
    issues:
      written.kind === 'invalid'
        ? serverRejectionIssues(written.outcome, 'profile-violation', 'Appointment')
        : ['issue' in written ? written.issue : unavailable],
  };
}

/** The position of an entry, counted with the Bot's own rights: the caller learns nothing else of other entries. */
async function positionIn(medplum: MedplumClient, entry: Appointment): Promise<number> {
  const others = await readAll(medplum, [`Appointment?status=waitlist&_fields=${positionElements}`]);
  return positionOf(entry, ofType('Appointment', others), Date.now());
}

/**
 * Carries out `$waitlist`: puts a person on the waitlist, or returns the position of an entry of the caller.
 * @param event - input: the body of `$waitlist`; headers: those of the request, for the caller's credentials
 * @returns the entry with its position (in Parameters if the gateway asks for them, `formatBookingResponse`), or an
 *   OperationOutcome whose id stands for the HTTP status
 */
export async function handler(
  medplum: MedplumClient,
  event: BotEvent<unknown>,
): Promise<Appointment | Bundle | Parameters | OperationOutcome> {
  try {
    const joined = await retryOvertaken(
      () => storeEntry(medplum, event),
      (result) => 'issues' in result && result.issues.includes(contested),
    );
    if ('issues' in joined) {
      return toOperationOutcome(joined.issues, config);
    }
    const { entry, isExisting } = joined;
    const appointment = withPosition(entry, await positionIn(medplum, entry), config);
    return formatBookingResponse({ appointments: [appointment], isExisting }, event.headers);
  } catch (error) {
    return toOperationOutcome([unavailableFor(error)], config);
  }
}
