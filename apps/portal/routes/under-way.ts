import type { Appointment } from '@medplum/fhirtypes';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { type BookableService, servicesFor } from '../clinic/services.ts';
import { isRefusal, type Refusal } from '../fhir/client.ts';
import type { PageHandler, Reply, Visit } from '../http/visit.ts';
import { failurePage } from '../pages/failure.ts';
import { openPending, type Pending } from '../visit/pending.ts';

/** A booking that is under way: what was sealed into the address, and the service that it names. */
export interface UnderWay {
  readonly pending: Pending;
  readonly service: BookableService;
}

/** The service of the clinic that an address names, as it is for a payer kind, if there is one. */
export async function serviceOf(
  { portal }: Visit,
  key: string,
  payer: string | undefined,
): Promise<BookableService | Refusal | undefined> {
  const services = await portal.services(key);
  return isRefusal(services) ? services : servicesFor(services, payer).find((service) => service.key === key);
}

/**
 * Answers for the booking in the address (`b`), in the browser that has chosen its time. The form is over once it was
 * booked with: the browser is shown what became of it.
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

/** The portal's own identifier of a booking: a request that is sent again with it books nothing twice. */
export const identifierOf = ({ options }: Visit['portal'], value: string) => ({
  system: `${options.origin}${options.path}/bookings`,
  value,
});

/** The system of the identifier that the record of a patient has only if one request, and no other, has made it. */
export const marksOf = ({ options }: Visit['portal']): string => `${options.origin}${options.path}/made`;

/** Until when a hold keeps its time, in milliseconds since 1970 UTC; `undefined` if the appointment is not a hold. */
export function heldUntil({ options }: Visit['portal'], hold: Appointment): number | undefined {
  const { extension, status } = hold;
  const found = (Array.isArray(extension) ? extension : []).find(({ url }) => url === options.extensions.heldUntil);
  return status === 'proposed' ? parseInstant(found?.valueInstant) : undefined;
}

/** Until when the time of a booking is held; `undefined`: no longer. */
export async function currentHold({ portal }: Visit, { hold }: Pending): Promise<number | undefined> {
  const [first = ''] = hold.split(',');
  const found = first === '' ? undefined : await portal.service.read('Appointment', first);
  const until = found && !isRefusal(found) ? heldUntil(portal, found) : undefined;
  return until !== undefined && until > portal.now() ? until : undefined;
}
