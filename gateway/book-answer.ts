import type { Appointment, OperationOutcome } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../config/config.ts';
import { type BookingErrorCode, bookingErrors } from '../fhir/errors.ts';
import { type Interaction, type Issue, statusOf } from '../fhir/outcome.ts';
import { type Answer, isAnyResource, versionHeaders } from './answer.ts';
import { isOutcome } from './upstream-problems.ts';

/** The HTTP status of a booking by the status of the appointment that came of it (specification 4.4). */
const statusByAppointmentStatus: Readonly<Partial<Record<NonNullable<Appointment['status']>, number>>> = {
  booked: 201,
  pending: 202,
};

function isAppointment(value: unknown): value is Appointment {
  return isAnyResource(value) && value.resourceType === 'Appointment' && typeof value.id === 'string';
}

/** The Bot marks an appointment that was booked before by a tag that is not stored; it tells the status and goes. */
function withoutAnswerTag(resource: Appointment, config: BookingConfig) {
  const system = artefactUri(config, 'LocalBookingAnswer');
  const tag = resource.meta?.tag?.filter((coding) => coding.system !== system);
  const isExisting = tag !== undefined && tag.length !== resource.meta?.tag?.length;
  return { isExisting, resource: isExisting ? { ...resource, meta: { ...resource.meta, tag } } : resource };
}

/** The code of the service in an issue, if it has one. */
function codeOf(issue: OperationOutcome['issue'][number], system: string): BookingErrorCode | undefined {
  const coding = issue?.details?.coding?.find((candidate) => candidate.system === system);
  const code = coding?.code ?? '';
  return Object.hasOwn(bookingErrors, code)
    ? (Object.keys(bookingErrors) as BookingErrorCode[]).find((one) => one === code)
    : undefined;
}

/** The issues of an outcome that the service itself has written; nothing if any of them is not. */
function ownIssues(outcome: OperationOutcome, config: BookingConfig): readonly Issue[] {
  const system = artefactUri(config, 'LocalBookingError');
  const issues = outcome.issue.flatMap((issue): Issue[] => {
    const code = codeOf(issue, system);
    return code ? [{ code, diagnostics: issue.diagnostics ?? '' }] : [];
  });
  return issues.length === outcome.issue.length ? issues : [];
}

/**
 * The answer to `$book`: status and headers as a function of what the Bot answered.
 *
 * @param body - the Bot's answer: the Appointment, or an OperationOutcome of the service
 * @param config - the installation
 * @returns `undefined` if it is neither: the Bot has failed
 * @see specification 4.4
 */
export function bookingAnswer(body: unknown, config: BookingConfig): Answer | undefined {
  if (isAppointment(body)) {
    const { isExisting, resource } = withoutAnswerTag(body, config);
    const usual = (body.status && statusByAppointmentStatus[body.status]) ?? 200;
    const status = isExisting && usual === 201 ? 200 : usual;
    const location = { location: `${config.baseUrl}/Appointment/${body.id}` };
    return { status, headers: { ...location, ...versionHeaders(body) }, resource };
  }
  return ownRefusal(body, config);
}

/**
 * The answer to a request that a Bot has refused: the status is that of the gravest issue.
 *
 * @param body - the Bot's answer
 * @param interaction - what was asked for, where the status depends on it
 * @returns `undefined` if it is not an OperationOutcome of the service
 */
export function ownRefusal(
  body: unknown,
  config: BookingConfig,
  interaction: Interaction = 'book',
): Answer | undefined {
  if (!isOutcome(body)) {
    return undefined;
  }
  const { resourceType, id, issue } = body;
  const issues = ownIssues(body, config);
  return issues.length > 0
    ? { status: statusOf(issues, interaction), resource: { resourceType, id, issue } }
    : undefined;
}
