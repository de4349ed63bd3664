import { type BotEvent, evalFhirPathTyped, type MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, OperationOutcome } from '@medplum/fhirtypes';
import { validateChange } from '../../core/booking/appointment/change.ts';
import { absentOutcome, historyReads, readDeleted } from '../../core/booking/appointment/deleted.ts';
import { inStoredSpelling, withSubmitted } from '../../core/booking/appointment/elements.ts';
import { isHold } from '../../core/booking/appointment/expiry.ts';
import type { Changer } from '../../core/booking/appointment/status.ts';
import { taskEntries } from '../../core/booking/jobs/confirmation-task.ts';
import type { Evaluate } from '../../core/booking/patch/fhirpath-patch.ts';
import {
  applyPatch,
  type PatchRequest,
  parsePatchRequest,
  patchReads,
  readPatchTarget,
} from '../../core/booking/patch/patch.ts';
import { answersReferredTo, unreadableResponseIssues } from '../../core/booking/request/supporting-information.ts';
import { conditionalReferenceIssues } from '../../core/fhir/bounds.ts';
import {
  besides,
  type Issue,
  serverRejectionIssues,
  toOperationOutcome,
  uniqueIssues,
  withoutDependentIssues,
} from '../../core/fhir/outcome/outcome.ts';
import { isResource, isSameJson, updateEntry } from '../../core/fhir/resource.ts';
import { belongsTo, markChange } from '../../core/fhir/tags.ts';
import { readsById } from '../../core/rows/search.ts';
import { entryChangeIssues } from '../../core/waitlist/entry.ts';
import { type AppointmentSlots, readAppointmentSlots } from '../lib/booking/appointment-slots.ts';
import { cancellationIssues } from '../lib/booking/cancel.ts';
import type { Requestor } from '../lib/booking/decide.ts';
import {
  completeRelated,
  type Related,
  type RelatedAppointment,
  readRelatedAppointment,
} from '../lib/booking/related-reads.ts';
import { callerOf, readRole } from '../lib/caller.ts';
import { config } from '../lib/config.ts';
import { retryOvertaken, sendBundle, sendTransaction } from '../lib/medplum.ts';
import { ReadError, readStateAs } from '../lib/read.ts';
import {
  type DependentAppointment,
  followingEntries,
  readDependentAppointments,
} from '../lib/visits/dependent-appointments.ts';

type Answer = Appointment | OperationOutcome;

/** If the result of a patch is malformed, the patch itself is invalid. */
const asPatchInvalid = (issue: Issue): Issue =>
  issue.code === 'malformed-request' ? { ...issue, code: 'patch-invalid' } : issue;

const refuse = (issues: readonly Issue[]): OperationOutcome =>
  toOperationOutcome(issues.map(asPatchInvalid), config, 'patch');

const unavailable: Issue = {
  code: 'upstream-unavailable',
  diagnostics: 'The FHIR server could not be reached. Nothing was changed; try again in a moment.',
};

const outcomeUnknown: Issue = {
  code: 'upstream-unavailable',
  diagnostics: 'The FHIR server gave an invalid response. The appointment may have been changed: read it.',
};

const outdated: Issue = {
  code: 'version-conflict',
  diagnostics: 'The appointment has a newer version: read it again.',
  expression: 'http.If-Match',
};

const contested: Issue = {
  code: 'booking-conflict',
  diagnostics: 'Other requests changed the same slots at the same moment. Nothing was changed; try again.',
};

const evaluate: Evaluate = (path, value) => {
  const root = { type: 'Appointment', value, path: 'Appointment' };
  return evalFhirPathTyped(path, [root]).map((found) => {
    if (!('path' in found) || typeof found.path !== 'string') {
      throw new Error('The result is not an element of the resource.');
    }
    return found.path;
  });
};

interface Change extends Pick<RelatedAppointment, 'tasks'> {
  readonly stored: Appointment;
  readonly result: Appointment;
}

/** The entries of a transaction: the changed appointments, the patched one first; then their slots and Tasks. */
function entriesFor(
  changes: readonly Change[],
  slots: readonly AppointmentSlots[] | undefined,
  caller: Requestor,
): BundleEntry[] {
  const results = changes.map(({ result }) => result);
  return [
    ...changes.map(({ stored, result }) => {
      const noted = withSubmitted(result, stored, caller.id, config);
      const meta = markChange(noted.meta, caller.id, stored.meta?.versionId, config);
      return updateEntry(stored, { ...result, meta });
    }),
    ...(slots ? followingEntries(results, slots) : []),
    ...changes.flatMap(({ result, tasks }) => taskEntries(result, tasks, Date.now(), config)),
  ];
}

/**
 * The other appointments of a visit that change with one. A requestor cancels the whole visit. Staff confirm or refuse
 * a pending visit as a whole, and otherwise change single appointments.
 */
async function dependentsOf(medplum: MedplumClient, stored: Appointment, result: Appointment, role: Changer) {
  const isEnded = result.status === 'cancelled';
  const isAnswered = stored.status === 'pending' && (isEnded || result.status === 'booked');
  const isWhole = result.status !== stored.status && (isAnswered || (isEnded && role === 'requestor'));
  const found = isWhole ? await readDependentAppointments(medplum, stored) : [];
  return found.filter(({ appointment }) => isEnded || appointment.status === stored.status);
}

/** The change of another appointment of the visit: it gets the status and cancellation reason of the patched one. */
function changeOf(
  { appointment: stored, tasks }: DependentAppointment,
  { status, cancelationReason }: Appointment,
): Change {
  return { stored, result: { ...stored, status, ...(cancelationReason && { cancelationReason }) }, tasks };
}

/** The issues of another appointment of the visit, with expressions of the patched one. */
function dependentAppointmentIssues(
  { patients }: DependentAppointment,
  { stored, result }: Change,
  role: Changer,
): Issue[] {
  return validateChange(stored, result, role, patients, Date.now(), config).map((issue) => ({
    ...issue,
    diagnostics: `Appointment/${stored.id} of the same visit: ${issue.diagnostics}`,
    expression: 'Appointment.status',
  }));
}

/** The last version of an appointment, if it was deleted. */
async function readDeletedVersion(medplum: MedplumClient, id: string): Promise<Appointment | undefined> {
  const answer = await sendBundle(medplum, historyReads('Appointment', id));
  return answer.kind === 'done' ? readDeleted('Appointment', answer.bundle) : undefined;
}

/** Whether an appointment that the caller cannot see belonged to the caller and was deleted. */
async function isOwnDeleted(medplum: MedplumClient, id: string, caller: Requestor): Promise<boolean> {
  const deleted = await readDeletedVersion(medplum, id);
  return deleted !== undefined && belongsTo(deleted, caller.id, config);
}

/** The appointment as the caller sees it; or the refusal if it is missing, unread or newer than expected. */
async function readAsCaller(medplum: MedplumClient, { id, ifMatch }: PatchRequest, caller: Requestor) {
  const answer = await sendBundle(medplum, patchReads(id), { authorization: caller.authorization });
  const target = answer.kind === 'done' ? readPatchTarget(answer.bundle) : { kind: 'failed' as const };
  if (target.kind === 'unknown' || target.kind === 'deleted') {
    const isDeleted = target.kind === 'deleted' || (await isOwnDeleted(medplum, id, caller));
    return absentOutcome(isDeleted ? 'deleted' : 'unknown');
  }
  if (target.kind === 'failed') {
    return refuse([unavailable]);
  }
  if (target.kind === 'doubtful' && (await readDeletedVersion(medplum, id))) {
    return absentOutcome('deleted');
  }
  return ifMatch === undefined || target.appointment.meta?.versionId === ifMatch
    ? target.appointment
    : refuse([outdated]);
}

/** An appointment that is to be changed, with its slots and patients, and the role in which the caller changes it. */
type Target = Related &
  Pick<RelatedAppointment, 'tasks' | 'calendars'> & { readonly appointment: Appointment; readonly role: Changer };

/**
 * Reads an appointment with the caller's rights, and in parallel its slots, patients and Tasks with the Bot's own. A
 * caller who cannot see or change the appointment gets the refusal only.
 */
async function readTarget(
  medplum: MedplumClient,
  request: PatchRequest,
  caller: Requestor,
): Promise<Target | OperationOutcome> {
  const [appointment, related, role] = await Promise.all([
    readAsCaller(medplum, request, caller),
    readRelatedAppointment(medplum, request.id),
    readRole(medplum, caller.authorization, [request.id]),
  ]);
  if (appointment.resourceType === 'OperationOutcome') {
    return appointment;
  }
  return role === 'requestor' && !belongsTo(appointment, caller.id, config)
    ? absentOutcome('unknown', 'appointment that you may change')
    : { ...related, ...(await completeRelated(medplum, appointment, related)), appointment, role };
}

/** The issues for which the caller may not attach new questionnaire answers; empty if permitted. */
async function attachmentIssues(
  medplum: MedplumClient,
  stored: Appointment,
  result: Appointment,
  caller: Requestor,
): Promise<Issue[]> {
  const storedIds = new Set(answersReferredTo(stored, config.baseUrl).map(({ id }) => id));
  const added = answersReferredTo(result, config.baseUrl).filter(({ id }) => !storedIds.has(id));
  if (added.length === 0) {
    return [];
  }
  const entry = readsById(
    'QuestionnaireResponse',
    added.map(({ id }) => id),
  );
  return unreadableResponseIssues(added, await readStateAs(medplum, entry, caller));
}

/**
 * Applies the patch once and writes the result; `overtaken` if a concurrent change came first. A patch without effect
 * writes nothing and returns the stored appointment.
 */
async function attemptPatch(
  medplum: MedplumClient,
  request: PatchRequest,
  caller: Requestor,
): Promise<Answer | 'overtaken'> {
  const target = await readTarget(medplum, request, caller);
  if ('resourceType' in target) {
    return target;
  }
  const { appointment: stored, patients, role } = target;
  const patched = applyPatch(stored, request.patch, evaluate);
  if (!('result' in patched)) {
    return refuse(patched.issues);
  }
  const now = Date.now();
  const changeIssues = [
    ...validateChange(stored, patched.result, role, patients, now, config),
    ...(role === 'requestor' ? entryChangeIssues(stored, patched.result, now) : []),
  ];
  const isValid = patched.issues.length + changeIssues.length === 0;
  const result = isValid ? inStoredSpelling(stored, patched.result, config.baseUrl) : patched.result;
  const changesSlots = isValid && result.status !== stored.status;
  const isEnded = patched.result.status === 'cancelled' && stored.status !== 'cancelled';
  const isLimited = role === 'requestor' && isEnded && !isHold(stored, config);
  const dependents = changesSlots ? await dependentsOf(medplum, stored, result, role) : [];
  const changes = dependents.map((dependentAppointment) => ({
    dependent: dependentAppointment,
    change: changeOf(dependentAppointment, result),
  }));
  const [attachmentProblems, cancellationProblems, slots] = await Promise.all([
    attachmentIssues(medplum, stored, patched.result, caller),
    isLimited
      ? Promise.all(
          [target, ...dependents].map((dependentAppointment) =>
            cancellationIssues(medplum, dependentAppointment.appointment, dependentAppointment),
          ),
        )
      : [],
    changesSlots
      ? Promise.all([
          readAppointmentSlots(medplum, result, target),
          ...changes.map(({ dependent, change }) => readAppointmentSlots(medplum, change.result, dependent)),
        ])
      : undefined,
  ]);
  const allIssues = [
    ...changeIssues,
    ...conditionalReferenceIssues(patched.result, 'Appointment', changeIssues),
    ...attachmentProblems,
    ...uniqueIssues(cancellationProblems.flat()),
    ...changes.flatMap(({ dependent, change }) => dependentAppointmentIssues(dependent, change, role)),
  ];
  const issues = [...patched.issues, ...besides(withoutDependentIssues(allIssues, patched.unreadable), patched.issues)];
  if (issues.length > 0) {
    return refuse(issues);
  }
  if (isSameJson(stored, result)) {
    return stored;
  }
  const allChanges = [{ stored, result, tasks: target.tasks }, ...changes.map(({ change }) => change)];
  const written = await sendTransaction(medplum, entriesFor(allChanges, slots, caller));
  if (written.kind === 'done') {
    const resource = written.bundle.entry?.[0]?.resource;
    return isResource(resource, 'Appointment') ? resource : refuse([unavailable]);
  }
  if (written.kind === 'overtaken') {
    return 'overtaken';
  }
  const failure = written.kind === 'lost' ? outcomeUnknown : unavailable;
  return refuse(
    written.kind === 'invalid' ? serverRejectionIssues(written.outcome, 'patch-invalid', 'result') : [failure],
  );
}

/**
 * Changes or cancels an appointment. A requestor changes its own appointments; callers who may also change appointments
 * in Medplum are staff.
 * @param event - input: as `parsePatchRequest` reads it; headers: those of the request, for the caller's credentials
 * @returns the Appointment as it is afterwards, or an OperationOutcome whose id stands for the HTTP status
 * @see specification 4.5
 */
export async function handler(medplum: MedplumClient, event: BotEvent<unknown>): Promise<Answer> {
  const request = parsePatchRequest(event.input);
  if ('issues' in request) {
    return refuse(request.issues);
  }
  const caller = callerOf(event);
  const answer = await retryOvertaken(
    () => attemptPatch(medplum, request, caller),
    (result) => result === 'overtaken',
  ).catch((error: unknown) => {
    if (error instanceof ReadError) {
      return refuse([unavailable]);
    }
    throw error;
  });
  return answer === 'overtaken' ? refuse([contested]) : answer;
}
