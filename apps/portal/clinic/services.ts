import type {
  CodeableConcept,
  Coding,
  ContactPoint,
  Extension,
  HealthcareService,
  Location,
  Organization,
  Reference,
  Schedule,
} from '@medplum/fhirtypes';
import { milliseconds } from '../../../core/fhir/instant.ts';
import { servesAll, serviceIdOf } from '../../../core/fhir/reference.ts';
import { appointmentMinutes } from '../../../core/fhir/scheduling/scheduling-parameters.ts';
import { normalized } from '../../../core/fhir/unicode.ts';
import { extensionIn, listOf, partsOf, textIn } from '../../../packages/web/elements.ts';
import type { ExtensionUrls } from '../../../packages/web/refusal.ts';
import { type BookingService, isRefusal, type Refusal, resourcesIn, searchAll } from '../fhir/client.ts';
import { addressText, type Clinic, clinicOf, mapOf } from './clinic.ts';

/** A Schedule of a bookable service. */
export interface BookableSchedule {
  readonly reference: string;
  /** Reference of the Practitioner or PractitionerRole; empty if the Schedule names none. */
  readonly actor: string;
  /** Display name of the actor in the visitor's language; empty if the Schedule has none. */
  readonly name: string;
  /** The name as the clinic writes it. */
  readonly text: string;
  /** Whether the clinic's staff confirm each booking. */
  readonly isRequest: boolean;
  /** Minimum notice for a cancellation or move, in milliseconds before the start; `undefined`: none. */
  readonly cancelUntil: number | undefined;
  /** Whether freed time is offered to the waitlist. */
  readonly hasWaitlist: boolean;
  /** Duration of an appointment, in minutes; `undefined`: the whole Slot. */
  readonly minutes: number | undefined;
  readonly place: string | undefined;
  readonly map: string | undefined;
  /** Instructions for patients, for example what to bring. */
  readonly bring: string | undefined;
  /** Extensions with the payer kinds that the service accepts; empty: all. */
  readonly payers: readonly Extension[];
  readonly phone: string | undefined;
}

/** The requirements of a service with several appointments. */
export interface VisitNeeds {
  readonly service: string;
  readonly optional: readonly string[];
  /** Number of appointments and milliseconds from the first to the last; absent: steps of one visit. */
  readonly series: { readonly count: number; readonly length: number } | undefined;
  /** Whether freed time that completes a visit is offered to the waitlist. */
  readonly hasWaitlist: boolean;
}

export interface BookableService {
  /** Key in URLs: `system|code`, `HealthcareService/{id}`, or empty for Schedules without a service. */
  readonly key: string;
  readonly coding: Coding | undefined;
  /** In the visitor's language. */
  readonly name: string;
  /** The name as the clinic writes it. */
  readonly text: string;
  readonly description: string | undefined;
  readonly schedules: readonly BookableSchedule[];
  /** Absent for a service with one appointment. */
  readonly visit?: VisitNeeds | undefined;
  /** The visitor's payer kind, if selected; Schedules and Slots for other kinds are hidden. */
  readonly payer?: Extension | undefined;
}

/** Whether freed time of a service is offered to its waitlist. */
export const usesWaitlist = ({ visit, schedules }: BookableService): boolean =>
  visit?.hasWaitlist || schedules.some((one) => one.hasWaitlist);

const codeOf = ({ valueCoding }: Extension): string => valueCoding?.code ?? '';

/** The payer kinds that at least one service names, by code. */
export function payersOf(services: readonly BookableService[]): ReadonlyMap<string, Extension> {
  const extensions = services.flatMap(({ schedules }) => schedules.flatMap(({ payers }) => payers));
  return new Map(
    extensions.filter((extension) => codeOf(extension) !== '').map((extension) => [codeOf(extension), extension]),
  );
}

/** Returns the payer kind extensions of a service or a Slot. */
export const payersIn = (extension: readonly Extension[] | undefined, url: string | undefined): Extension[] =>
  listOf(extension).filter((one) => one.url === url && one.valueCoding !== undefined);

/** Whether a payer kind is accepted. An empty list accepts all. */
export const isServed = (payers: readonly Extension[], payer: Extension | undefined): boolean =>
  payer === undefined || payers.length === 0 || payers.some((extension) => codeOf(extension) === codeOf(payer));

/** Returns the services that a payer kind can book; an unknown code selects all. */
export function servicesFor(
  services: readonly BookableService[],
  code: string | undefined,
): readonly BookableService[] {
  const payer = payersOf(services).get(code ?? '');
  return services.flatMap((service) => {
    const schedules = service.schedules.filter(({ payers }) => isServed(payers, payer));
    // The Schedules of a visit's steps are only known from the proposals of `$find`.
    const isOffered = schedules.length > 0 || (service.visit && service.schedules.length === 0);
    return isOffered ? [{ ...service, schedules, payer }] : [];
  });
}

const MAX_TEXT = 4_000;

const MAX = '500';

const keyOf = ({ system = '', code }: Coding): string => `${system}|${code}`;

const codingsOf = (concepts: readonly CodeableConcept[] | undefined): Coding[] =>
  listOf(concepts).flatMap(({ coding }) => listOf(coding).filter(({ code }) => typeof code === 'string'));

const idIn = (actor: Reference | undefined): string => actor?.reference?.split('/')[1] ?? '';

const phoneIn = (telecom: readonly ContactPoint[] | undefined): string | undefined =>
  listOf(telecom).find(({ system, value }) => system === 'phone' && value)?.value;

/** Name and address of a Location. */
export const locationText = (location: Location, language: string): string | undefined =>
  [textIn(language, location, 'name'), addressText(location.address)].filter((part) => part).join(', ') || undefined;

const cancelUntilOf = (resource: Schedule | HealthcareService, url: string | undefined): number | undefined =>
  milliseconds(extensionIn(partsOf(resource.extension, url), 'cancelUntil')?.valueDuration);

const waitlistUseOf = (resource: Schedule | HealthcareService, url: string | undefined): boolean | undefined =>
  extensionIn(partsOf(resource.extension, url), 'refill')?.valueBoolean;

/** The value of the Schedule's policy, else the strictest of its services. */
const strictest = (own: number | undefined, all: readonly (number | undefined)[]): number | undefined =>
  own ?? all.reduce((most, one) => (one !== undefined && one > (most ?? 0) ? one : most), undefined);

type Urls = Pick<ExtensionUrls, 'confirmation' | 'policy' | 'clinic' | 'payerKind' | 'visit'>;

function visitIn(service: HealthcareService, urls: Urls): VisitNeeds | undefined {
  const { id = '', extension } = service;
  const parts = partsOf(extension, urls.visit);
  const steps = parts.filter((part) => part.url === 'step').map((part) => listOf(part.extension));
  const series = partsOf(parts, 'series');
  const count = series.find((part) => part.url === 'count')?.valuePositiveInt;
  const every = milliseconds(series.find((part) => part.url === 'every')?.valueDuration);
  const optional = steps
    .filter((step) => step.some((part) => part.url === 'optional' && part.valueBoolean))
    .flatMap((step) => step.find((part) => part.url === 'name')?.valueString ?? []);
  return steps.length > 0 || (count !== undefined && every !== undefined)
    ? {
        service: id,
        optional,
        series: count && every ? { count, length: (count - 1) * every } : undefined,
        hasWaitlist: waitlistUseOf(service, urls.policy) === true,
      }
    : undefined;
}

interface Found {
  readonly schedules: readonly Schedule[];
  readonly services: ReadonlyMap<string, HealthcareService>;
  readonly organizations: ReadonlyMap<string, Organization>;
  readonly locations: ReadonlyMap<string, Location>;
  readonly language: string;
}

const isAll = (coding: Coding): boolean => servesAll({ serviceType: [{ coding: [coding] }] });

/** The HealthcareServices of a Schedule: named in `serviceType`, or its actors, or all active ones. */
function servicesOf({ serviceType, actor }: Schedule, { services }: Found): HealthcareService[] {
  if (codingsOf(serviceType).some(isAll)) {
    return [...services.values()].filter(({ active }) => active !== false);
  }
  const named = listOf(serviceType).map(serviceIdOf);
  const actors = listOf(actor)
    .filter(({ reference }) => reference?.startsWith('HealthcareService/'))
    .map(idIn);
  const ids = new Set([...named, ...actors].filter((id) => id !== undefined));
  return [...ids].map((id) => services.get(id)).filter((service) => service !== undefined);
}

function bookableSchedule(
  schedule: Schedule,
  service: HealthcareService | undefined,
  services: readonly HealthcareService[],
  { organizations, locations, language }: Found,
  urls: Urls,
): BookableSchedule {
  const location = locations.get(idIn(listOf(service?.location)[0]));
  const organization = organizations.get(idIn(service?.providedBy));
  const confirmation = [schedule, service]
    .map((resource) => extensionIn(resource?.extension, urls.confirmation)?.valueCode)
    .find((code) => code !== undefined);
  const actors = listOf(schedule.actor);
  const named = actors.find(({ display }) => display);
  return {
    reference: `Schedule/${schedule.id}`,
    actor: actors.find(({ reference }) => /^Practitioner(Role)?\//.test(reference ?? ''))?.reference ?? '',
    name: textIn(language, named, 'display') ?? '',
    text: named?.display ?? '',
    isRequest: confirmation === 'manual',
    cancelUntil: strictest(
      cancelUntilOf(schedule, urls.policy),
      services.map((one) => cancelUntilOf(one, urls.policy)),
    ),
    hasWaitlist:
      waitlistUseOf(schedule, urls.policy) ?? services.some((one) => waitlistUseOf(one, urls.policy) === true),
    minutes: appointmentMinutes(schedule, service),
    place: location && locationText(location, language),
    map: location && mapOf(location),
    bring: textIn(language, service, 'extraDetails')?.slice(0, MAX_TEXT),
    payers: payersIn(service?.extension, urls.payerKind),
    phone: phoneIn(organization?.telecom) ?? phoneIn(service?.telecom) ?? phoneIn(location?.telecom),
  };
}

function offersOf(schedule: Schedule, clinic: Found, urls: Urls): BookableService[] {
  const services = servicesOf(schedule, clinic);
  const named = codingsOf(schedule.serviceType).filter((coding) => !isAll(coding));
  const codings = [...named, ...services.flatMap(({ type }) => codingsOf(type))];
  const known = new Map(codings.map((coding) => [keyOf(coding), coding]));
  const offers = [...(known.size > 0 ? known : new Map([['', undefined]]))];
  return offers.map(([key, coding]): BookableService => {
    const service = services.find(({ type }) => codingsOf(type).some((one) => keyOf(one) === key)) ?? services[0];
    const isOnly = service && codingsOf(service.type).length <= 1;
    const visit = service && visitIn(service, urls);
    const nameIn = (language?: string): string =>
      (isOnly && textIn(language, service, 'name')) ||
      textIn(language, coding, 'display') ||
      textIn(
        language,
        codings.find(({ display }) => display),
        'display',
      ) ||
      (coding?.code ?? '');
    return {
      key,
      coding,
      name: nameIn(clinic.language),
      text: nameIn(),
      description: textIn(clinic.language, service, 'comment'),
      ...(visit && { visit }),
      schedules: [bookableSchedule(schedule, service, services, clinic, urls)],
    };
  });
}

/** Services with several appointments that no Schedule names. */
function visitsOf({ services, language }: Found, urls: Urls, offers: readonly BookableService[]): BookableService[] {
  return [...services.values()].flatMap((service): BookableService[] => {
    const isKnown = service.active === false || offers.some(({ visit }) => visit && visit.service === service.id);
    const visit = isKnown ? undefined : visitIn(service, urls);
    const [coding] = codingsOf(service.type);
    const isOwn = coding && offers.every(({ key }) => key !== keyOf(coding));
    const key = isOwn ? keyOf(coding) : `HealthcareService/${service.id}`;
    const text = service.name ?? coding?.display ?? '';
    const name = textIn(language, service, 'name') ?? text;
    // A waitlist entry names the service by its code. Without a code of its own, there is no waitlist.
    const needs = visit && { ...visit, hasWaitlist: visit.hasWaitlist && isOwn === true };
    const description = textIn(language, service, 'comment');
    return needs ? [{ key, coding, name, text, description, schedules: [], visit: needs }] : [];
  });
}

function combine(offers: readonly BookableService[]): BookableService[] {
  const found = new Map<string, BookableService>();
  for (const offer of offers) {
    const known = found.get(offer.key);
    found.set(offer.key, known ? { ...known, schedules: [...known.schedules, ...offer.schedules] } : offer);
  }
  return [...found.values()].toSorted((a, b) => a.name.localeCompare(b.name) || a.key.localeCompare(b.key));
}

/** The bookable services by name, and the clinic that provides them. */
export interface Catalogue {
  readonly services: readonly BookableService[];
  readonly clinic: Clinic | undefined;
}

/** Reads the Schedules and HealthcareServices: their number, and their catalogue in a language. */
export async function readServices(
  service: BookingService,
  urls: Urls,
): Promise<{ readonly size: number; readonly catalogue: (language: string) => Catalogue } | Refusal> {
  const [schedules, services] = await Promise.all([
    searchAll(service, 'Schedule', { _count: MAX, _sort: '_id' }),
    searchAll(service, 'HealthcareService', {
      _sort: '_id',
      _count: MAX,
      _include: ['HealthcareService:organization', 'HealthcareService:location'],
    }),
  ]);
  if (isRefusal(schedules) || isRefusal(services)) {
    return isRefusal(schedules) ? schedules : (services as Refusal);
  }
  const clinic: Omit<Found, 'language'> = {
    schedules: resourcesIn(schedules, 'Schedule'),
    services: new Map(resourcesIn(services, 'HealthcareService').map((one) => [one.id ?? '', one])),
    organizations: new Map(
      resourcesIn(services, 'Organization').map((organization) => [organization.id ?? '', organization]),
    ),
    locations: new Map(resourcesIn(services, 'Location').map((one) => [one.id ?? '', one])),
  };
  const catalogues = new Map<string, Catalogue>();
  const catalogueIn = (language: string): Catalogue => {
    const found = { ...clinic, language };
    const known = catalogues.get(language);
    const offers = known ? [] : clinic.schedules.flatMap((schedule) => offersOf(schedule, found, urls));
    const catalogue = known ?? {
      services: combine([...offers, ...visitsOf(found, urls, offers)]),
      clinic: clinicOf([...clinic.organizations.values()], urls.clinic),
    };
    catalogues.set(language, catalogue);
    return catalogue;
  };
  return { size: clinic.schedules.length, catalogue: catalogueIn };
}

const folded = (text: string): string => normalized(text, 'NFD').replace(/\p{M}/gu, '').toLocaleLowerCase();

/** Whether a text contains all words of a search, ignoring case and diacritics. */
export const hasWords = (text: string, words: string): boolean =>
  folded(words)
    .split(/\s+/)
    .every((word) => folded(text).includes(word));
