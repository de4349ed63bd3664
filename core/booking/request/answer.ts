import type { Appointment, Bundle, OperationOutcome, Parameters } from '@medplum/fhirtypes';
import { idIn, isId } from '../../fhir/reference.ts';
import { isObject, isResource } from '../../fhir/resource.ts';
import type { Leads } from './request.ts';

/**
 * Request header by which the gateway asks the Bot `book` to tell new appointments from existing ones. Direct callers
 * of the operation in Medplum do not send it and get the Appointment alone.
 */
export const ANSWER_HEADER = 'x-booking-answer';

/** Value of the header: respond with Parameters. */
export const AS_PARAMETERS = 'parameters';

/**
 * Request header by which the gateway gives the Bot `book` the required version of the moved appointment (`If-Match`).
 */
export const VERSION_HEADER = 'x-booking-if-match';

/** The version that the appointment to be moved must have. Names of `headers` are in lower case. */
export function versionAskedFor(headers: unknown): string | undefined {
  const version = isObject(headers) ? headers[VERSION_HEADER] : undefined;
  return typeof version === 'string' && version !== '' ? version : undefined;
}

/**
 * Request header in which the gateway names the remembered Schedules of a booking's Slots, and their services
 * (references, separated by commas). The Bot reads all of them in one batch, and does not rely on any of them.
 */
export const LEADS_HEADER = 'x-booking-leads';

/** The ids in the header `LEADS_HEADER`. Malformed ones are left out. Names of `headers` are in lower case. */
export function leadsIn(headers: unknown): Leads {
  const value = isObject(headers) ? headers[LEADS_HEADER] : undefined;
  const references = (typeof value === 'string' ? value.split(',') : []).map((reference) => ({ reference }));
  return {
    schedules: references.flatMap((one) => idIn(one, 'Schedule') ?? []).filter(isId),
    services: references.flatMap((one) => idIn(one, 'HealthcareService') ?? []).filter(isId),
  };
}

/**
 * The result of `$book`: the appointments in the order of the request, and whether an earlier, identical request had
 * booked them.
 */
interface BookingAnswer {
  readonly appointments: readonly Appointment[];
  readonly isExisting: boolean;
}

/** Several appointments as one response. Without the public base address the entries have no `fullUrl`. */
export function bundleOf(appointments: readonly Appointment[], baseUrl?: string): Bundle {
  const entry = appointments.map((resource) => ({
    ...(baseUrl && { fullUrl: `${baseUrl}/Appointment/${resource.id}` }),
    resource,
  }));
  return { resourceType: 'Bundle', type: 'collection', entry };
}

const wantsParameters = (headers: unknown): boolean => isObject(headers) && headers[ANSWER_HEADER] === AS_PARAMETERS;

/**
 * The result of the Bot `book` for one appointment or several.
 * @param headers - of the request, by name in lower case
 * @returns the Appointment, or several in a Bundle; if the request asks for it, Parameters with `return` for each, and
 *   `existing`
 */
export function formatBookingResponse(
  { appointments, isExisting }: BookingAnswer,
  headers: unknown,
): Appointment | Bundle | Parameters {
  const [first, ...others] = appointments;
  if (wantsParameters(headers) || !first) {
    return {
      resourceType: 'Parameters',
      parameter: [
        ...appointments.map((resource) => ({ name: 'return', resource })),
        { name: 'existing', valueBoolean: isExisting },
      ],
    };
  }
  return others.length > 0 ? bundleOf(appointments) : first;
}

/** The result of the Bots `book` and `hold` for a `dry-run` without problems. */
export const wouldBeCarriedOut: OperationOutcome = {
  resourceType: 'OperationOutcome',
  id: 'ok',
  issue: [
    {
      severity: 'information',
      code: 'informational',
      diagnostics: 'The request would be carried out at this moment. Nothing was written (dry-run).',
    },
  ],
};

const DRY_RUN = 'dry-run';

/**
 * The result of the Bots for a `dry-run`. The gateway gets it in Parameters, because Medplum's own response to an empty
 * result is a similar OperationOutcome.
 */
export function formatDryRunResponse(headers: unknown): OperationOutcome | Parameters {
  return wantsParameters(headers)
    ? { resourceType: 'Parameters', parameter: [{ name: DRY_RUN, resource: wouldBeCarriedOut }] }
    : wouldBeCarriedOut;
}

/** Whether the result of a Bot says that a request would be carried out. */
export function isDryRunResponse(body: unknown): boolean {
  return isResource(body, 'Parameters') && body.parameter?.some(({ name }) => name === DRY_RUN) === true;
}

/** Reads the result of the Bot `book`; `undefined` unless it consists of stored Appointments. */
export function parseBookingResponse(body: unknown): BookingAnswer | undefined {
  const parameters = isResource(body, 'Parameters') ? (body.parameter ?? []) : [];
  const returned = parameters.filter(({ name }) => name === 'return').map(({ resource }) => resource);
  const found = returned.length > 0 ? returned : [body];
  const appointments = found.flatMap((one) =>
    isResource(one, 'Appointment') && typeof one.id === 'string' ? [one] : [],
  );
  const isExisting = parameters.find(({ name }) => name === 'existing')?.valueBoolean ?? false;
  return appointments.length === found.length ? { appointments, isExisting } : undefined;
}
