import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';
import { type FhirResponse, isAnyResource, versionHeaders } from '../http/response.ts';
import { ownRefusal } from './error-response.ts';

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

/**
 * The answer to `$book`: status and headers as a function of what the Bot answered.
 *
 * @param body - the Bot's answer: the Appointment, or an OperationOutcome of the service
 * @param config - the installation
 * @returns `undefined` if it is neither: the Bot has failed
 * @see specification 4.4
 */
export function bookingResponse(body: unknown, config: BookingConfig): FhirResponse | undefined {
  if (isAppointment(body)) {
    const { isExisting, resource } = withoutAnswerTag(body, config);
    const usual = (body.status && statusByAppointmentStatus[body.status]) ?? 200;
    const status = isExisting && usual === 201 ? 200 : usual;
    const location = { location: `${config.baseUrl}/Appointment/${body.id}` };
    return { status, headers: { ...location, ...versionHeaders(body) }, resource };
  }
  return ownRefusal(body, config);
}
