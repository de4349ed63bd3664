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
 * The response to a booking, a hold or an entry of the waitlist, made from the result of the Bot. Several appointments
 * become a Bundle, with the `Location` of the first. If they existed before the request, the status is 200 instead of 201.
 *
 * @param body - the Appointment, Parameters that contain it, or an OperationOutcome of the service
 * @returns `undefined` if it is none of these: the Bot has failed
 * @see specification 4.4
 */
export function bookingResponse(body: unknown, config: BookingConfig): FhirResponse | undefined {
  if (isDryRunResponse(body)) {
    const { id: _, ...resource } = wouldBeCarriedOut;
    return { status: 200, resource };
  }
  const result = parseBookingResponse(body);
  if (!result) {
    return ownRefusal(body, config);
  }
  const { appointments, isExisting } = result;
  const [first, ...furtherAppointments] = appointments;
  const statuses = appointments.map(({ status }) => statusByAppointmentStatus[status] ?? 200);
  const statusOfNew = statuses.find((status) => status !== 201) ?? 201;
  const status = isExisting && statusOfNew === 201 ? 200 : statusOfNew;
  const location = `${config.baseUrl}/Appointment/${first?.id}`;
  return first && furtherAppointments.length === 0
    ? { status, headers: { location, ...versionHeaders(first) }, resource: first }
    : { status, headers: { location }, resource: bundleOf(appointments, config.baseUrl) };
}
