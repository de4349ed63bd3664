import type { Appointment, Extension, Parameters } from '@medplum/fhirtypes';
import { formatInstant, parseInstant } from '../../core/fhir/instant.ts';
import { RECURRENCE_ID } from '../../core/fhir/reserved.ts';
import { extensionIn, listOf, partsOf } from './elements.ts';
import type { ExtensionUrls } from './refusal.ts';

/** What the appointments of a visit or of a series have in common; `undefined` for one alone. */
export const groupOf = ({ identifier }: Appointment, system: string | undefined): string | undefined =>
  system === undefined ? undefined : listOf(identifier).find((one) => one.system === system)?.value;

/** Whether an appointment is one of a series, whose appointments are apart from each other. */
export const isOccurrence = ({ extension }: Appointment): boolean =>
  listOf(extension).some(({ url }) => url === RECURRENCE_ID);

/** Which step of a visit an appointment is; `undefined` if it is none. */
export function stepIn(
  { extension }: Appointment,
  url: string | undefined,
): { readonly name: string; readonly service: string } | undefined {
  const mark = partsOf(extension, url);
  const service = mark.find((one) => one.url === 'service')?.valueReference?.reference?.split('/')[1];
  const name = mark.find((one) => one.url === 'step')?.valueString;
  return service !== undefined && name !== undefined ? { name, service } : undefined;
}

const offerParts = ({ extension }: Appointment, { offer }: Pick<ExtensionUrls, 'offer'>) => partsOf(extension, offer);

/** The ids of the entry and of the appointment for which another one is offered to a person. */
export const offeredFor = (appointment: Appointment, urls: Pick<ExtensionUrls, 'offer'>): string[] =>
  offerParts(appointment, urls)
    .filter(({ url }) => url === 'for')
    .flatMap(({ valueReference }) => valueReference?.reference?.split('/')[1] ?? []);

/** The moment in an extension of an appointment, in milliseconds since 1970 UTC: the end of a hold, a deadline. */
export const momentIn = ({ extension }: Appointment, url: string): number | undefined => {
  const found = extensionIn(extension, url);
  return found && (parseInstant(found.valueInstant) ?? 0);
};

/** Why an appointment is, or was, offered to one person; `undefined` if it was not. */
export const offerReason = (appointment: Appointment, urls: Pick<ExtensionUrls, 'offer'>): string | undefined =>
  offerParts(appointment, urls).find(({ url }) => url === 'reason')?.valueCode;

/** Until when an appointment is offered to one person; `undefined` if it is not offered now. */
export function offeredUntil(
  appointment: Appointment,
  urls: Pick<ExtensionUrls, 'offer' | 'heldUntil'>,
  now: number,
): number | undefined {
  const until = momentIn(appointment, urls.heldUntil);
  const isOffer = appointment.status === 'proposed' && extensionIn(appointment.extension, urls.offer) !== undefined;
  return isOffer && until !== undefined && until > now ? until : undefined;
}

/** What is asked of `$find`. */
interface WishedVisit {
  readonly service: string;
  /** In milliseconds since 1970 UTC. */
  readonly period: { readonly start: number; readonly end: number };
  readonly count: number;
  /** The names of optional steps that are left out. */
  readonly without: readonly string[];
  /** The names of the steps that are wanted alone. */
  readonly only?: readonly string[] | undefined;
  /** Who pays, if it makes a difference. */
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
