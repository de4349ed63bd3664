import type { Appointment, Extension, Parameters } from '@medplum/fhirtypes';
import { formatInstant, parseInstant } from '../../core/fhir/instant.ts';
import { RECURRENCE_ID, REPLACES } from '../../core/fhir/tags.ts';
import { extensionIn, listOf, partsOf } from './elements.ts';
import type { ExtensionUrls } from './refusal.ts';

/** The identifier that the appointments of a visit or series share; `undefined` for a single appointment. */
export const groupOf = ({ identifier }: Appointment, system: string | undefined): string | undefined =>
  system === undefined ? undefined : listOf(identifier).find((one) => one.system === system)?.value;

/** Whether an appointment belongs to a series. */
export const isOccurrence = ({ extension }: Appointment): boolean =>
  listOf(extension).some(({ url }) => url === RECURRENCE_ID);

/** The step of a visit for which an appointment is; `undefined` if there is none. */
export function stepIn(
  { extension }: Appointment,
  url: string | undefined,
): { readonly name: string; readonly service: string } | undefined {
  const mark = partsOf(extension, url);
  const service = mark.find((one) => one.url === 'service')?.valueReference?.reference?.split('/')[1];
  const name = mark.find((one) => one.url === 'step')?.valueString;
  return service !== undefined && name !== undefined ? { name, service } : undefined;
}

/** The id of the appointment that stays until the person of a waitlist entry takes an earlier time. */
export const currentAppointmentOf = ({ extension }: Appointment): string | undefined =>
  extensionIn(extension, REPLACES)?.valueReference?.reference?.split('/')[1];

const offerParts = ({ extension }: Appointment, { offer }: Pick<ExtensionUrls, 'offer'>) => partsOf(extension, offer);

/** The ids of the waitlist entry and the appointment for which a personal offer is made. */
export const offeredFor = (appointment: Appointment, urls: Pick<ExtensionUrls, 'offer'>): string[] =>
  offerParts(appointment, urls)
    .filter(({ url }) => url === 'for')
    .flatMap(({ valueReference }) => valueReference?.reference?.split('/')[1] ?? []);

/** The instant in an extension, such as the end of a hold or a deadline, in milliseconds since 1970 UTC. */
export const momentIn = ({ extension }: Appointment, url: string): number | undefined => {
  const found = extensionIn(extension, url);
  return found && (parseInstant(found.valueInstant) ?? 0);
};

/** The reason of a present or past personal offer; `undefined` if the appointment was never one. */
export const offerReason = (appointment: Appointment, urls: Pick<ExtensionUrls, 'offer'>): string | undefined =>
  offerParts(appointment, urls).find(({ url }) => url === 'reason')?.valueCode;

/** The end of a personal offer, in milliseconds since 1970 UTC; `undefined` if it is not open now. */
export function offeredUntil(
  appointment: Appointment,
  urls: Pick<ExtensionUrls, 'offer' | 'heldUntil'>,
  now: number,
): number | undefined {
  const until = momentIn(appointment, urls.heldUntil);
  const isOffer = appointment.status === 'proposed' && extensionIn(appointment.extension, urls.offer) !== undefined;
  return isOffer && until !== undefined && until > now ? until : undefined;
}

interface WishedVisit {
  readonly service: string;
  /** Milliseconds since 1970 UTC. */
  readonly period: { readonly start: number; readonly end: number };
  readonly count: number;
  readonly without: readonly string[];
  /** Names of the steps to find without the others. */
  readonly only?: readonly string[] | undefined;
  /** The payer kind, if it makes a difference. */
  readonly payer?: Extension | undefined;
}

/** The body of `$find`. */
export const findRequest = ({ service, period, count, without, only = [], payer }: WishedVisit): Parameters => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'service', valueReference: { reference: `HealthcareService/${service}` } },
    { name: 'period', valuePeriod: { start: formatInstant(period.start), end: formatInstant(period.end) } },
    { name: 'count', valuePositiveInt: count },
    ...without.map((name) => ({ name: 'without', valueString: name })),
    ...only.map((name) => ({ name: 'step', valueString: name })),
    ...(payer?.valueCoding ? [{ name: 'payer-kind', valueCoding: payer.valueCoding }] : []),
  ],
});
