import type { Appointment } from '@medplum/fhirtypes';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { type BookableService, servicesFor } from '../clinic/services.ts';
import { isRefusal, type Refusal } from '../fhir/client.ts';
import type { PageHandler, Reply, Visit } from '../http/visit.ts';
import { failurePage } from '../pages/failure.ts';
import { openPending, type Pending } from '../visit/pending.ts';

/** A booking in progress: the sealed parameter of the URL, and its service. */
export interface UnderWay {
  readonly pending: Pending;
  readonly service: BookableService;
}

/** Finds a service by its key, restricted to a payer kind. */
export async function serviceOf(
  { portal }: Visit,
  key: string,
  payer: string | undefined,
): Promise<BookableService | Refusal | undefined> {
  const services = await portal.services(key);
  return isRefusal(services) ? services : servicesFor(services, payer).find((service) => service.key === key);
}

/**
 * Handles requests for the booking in the parameter `b`, which is only valid in the browser that chose the time. If it
 * is booked already, redirects to the appointment.
 */
export const forUnderWay =
  (handler: (visit: Visit, booking: UnderWay) => Promise<Reply>): PageHandler =>
  async (visit) => {
    const { portal, session, query } = visit;
    const pending = await openPending(portal.seal, query.get('b'));
    if (pending && pending.browser !== session.browser) {
      return failurePage(visit, 'otherBrowser');
    }
    const booked = pending && session.booked[pending.key];
    if (booked) {
      return { kind: 'redirect', to: `${portal.options.path}/appointments/${booked}` };
    }
    const service = pending && (await serviceOf(visit, pending.service, pending.payer));
    if (!pending || !service) {
      return failurePage(visit, 'notFound');
    }
    return isRefusal(service) ? failurePage(visit, 'unavailable') : handler(visit, { pending, service });
  };

/** The portal's identifier of a booking, which makes its requests idempotent. */
export const identifierOf = ({ options }: Visit['portal'], value: string) => ({
  system: `${options.origin}${options.path}/bookings`,
  value,
});

/** System of the identifier that marks a Patient as created by one certain request. */
export const marksOf = ({ options }: Visit['portal']): string => `${options.origin}${options.path}/made`;

/** End of a hold, in milliseconds since 1970 UTC; `undefined` if the appointment is not a hold. */
export function heldUntil({ options }: Visit['portal'], hold: Appointment): number | undefined {
  const { extension, status } = hold;
  const found = (Array.isArray(extension) ? extension : []).find(({ url }) => url === options.extensions.heldUntil);
  return status === 'proposed' ? parseInstant(found?.valueInstant) : undefined;
}

/** End of a booking's hold, in milliseconds since 1970 UTC; `undefined` if it has ended. */
export async function currentHold({ portal }: Visit, { hold }: Pending): Promise<number | undefined> {
  const [first = ''] = hold.split(',');
  const found = first === '' ? undefined : await portal.service.read('Appointment', first);
  const until = found && !isRefusal(found) ? heldUntil(portal, found) : undefined;
  return until !== undefined && until > portal.now() ? until : undefined;
}
