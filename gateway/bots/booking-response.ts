import type { Appointment } from '@medplum/fhirtypes';
import {
  bundleOf,
  isDryRunResponse,
  parseBookingResponse,
  wouldBeCarriedOut,
} from '../../core/booking/request/answer.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { type FhirResponse, versionHeaders } from '../http/response.ts';
import { ownRefusal } from './error-response.ts';

/** The HTTP status of a booking, a hold or an entry of the waitlist by the status of the resulting appointment (specification 4.4). */
const statusByAppointmentStatus: Readonly<Partial<Record<Appointment['status'], number>>> = {
  booked: 201,
  proposed: 201,
  waitlist: 201,
  pending: 202,
};

/**
 * The answer to `$book`: status and headers as a function of what the Bot answered. Several appointments are a Bundle, whose
 * `Location` is the first.
 *
 * @param body - the Bot's answer: the Appointment, Parameters that hold it, or an OperationOutcome of the service
 * @param config - the installation
 * @returns `undefined` if it is none of these: the Bot has failed
 * @see specification 4.4
 */
export function bookingResponse(body: unknown, config: BookingConfig): FhirResponse | undefined {
  if (isDryRunResponse(body)) {
    const { id: _, ...resource } = wouldBeCarriedOut;
    return { status: 200, resource };
  }
  const answer = parseBookingResponse(body);
  if (!answer) {
    return ownRefusal(body, config);
  }
  const { appointments, isExisting } = answer;
  const [first, ...others] = appointments;
  const statuses = appointments.map(({ status }) => statusByAppointmentStatus[status] ?? 200);
  const usual = statuses.find((status) => status !== 201) ?? 201;
  const status = isExisting && usual === 201 ? 200 : usual;
  const location = `${config.baseUrl}/Appointment/${first?.id}`;
  return first && others.length === 0
    ? { status, headers: { location, ...versionHeaders(first) }, resource: first }
    : { status, headers: { location }, resource: bundleOf(appointments, config.baseUrl) };
}
