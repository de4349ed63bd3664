import type { CodeableConcept, HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../core/config/config.ts';
import { parseInstant } from '../../core/fhir/instant.ts';
import { isId, offeredServiceIds } from '../../core/fhir/reference.ts';
import { granularityOf } from '../../core/slots/terms.ts';
import type { CredentialKeys } from '../sealing/credential-keys.ts';

/** A time that was offered to an assistant. Instants are milliseconds since 1970 UTC. */
export interface OfferedTime {
  readonly slots: readonly string[];
  readonly start: number;
  readonly end: number;
  /** Id of the service. */
  readonly service: string;
}

/** What an assistant holds: ids of the appointment and of its service. */
interface Hold {
  readonly appointment: string;
  readonly service: string;
}

/** How long an offer can be held, in milliseconds. */
const STANDS = 1_800_000;

/** The longest text that is looked at, in characters. */
export const LONGEST_TOKEN = 2_000;

/** Seals what one client was offered and what it holds: another client can do nothing with it, and nobody can make it. */
export interface Offers {
  readonly seal: (time: OfferedTime, client: string) => string;
  /** The time in an offer; `undefined` if that is foreign, changed, another client's, or too old. */
  readonly open: (offer: string, client: string) => OfferedTime | undefined;
  readonly sealHold: (hold: Hold, client: string) => string;
  /** What is held; `undefined` if it is not that client's. */
  readonly openHold: (hold: string, client: string) => Hold | undefined;
}

/**
 * @param keys - the first seals, all of them open
 * @param now - the clock, in milliseconds
 */
export function createOffers(keys: CredentialKeys, now: () => number): Offers {
  const [newest] = keys;
  const seal = (kind: string, client: string, value: unknown): string =>
    `${newest.id}.${newest.offers.seal(JSON.stringify(value), `${kind} ${client}`)}`;
  const open = (kind: string, client: string, text: string): unknown => {
    const [id, content = ''] = text.length <= LONGEST_TOKEN ? text.split('.') : [];
    const opened = keys.find((key) => key.id === id)?.offers.open(content, `${kind} ${client}`);
    return opened === undefined ? undefined : JSON.parse(opened);
  };
  return {
    seal: ({ slots, start, end, service }, client) =>
      seal('offer', client, [slots, start, end, service, now() + STANDS]),
    open: (offer, client) => {
      const found = open('offer', client, offer);
      const [slots, start, end, service, until] = Array.isArray(found) ? found : [];
      return until > now() ? { slots, start, end, service } : undefined;
    },
    sealHold: ({ appointment, service }, client) => seal('hold', client, [appointment, service]),
    openHold: (hold, client) => {
      const found = open('hold', client, hold);
      const [appointment, service]: unknown[] = Array.isArray(found) ? found : [];
      return isId(appointment) && isId(service) ? { appointment, service } : undefined;
    },
  };
}

type Stored<T> = T & { readonly id: string };

const codesOf = (concepts: readonly CodeableConcept[] = []): string[] =>
  concepts.flatMap(({ coding = [] }) => coding.map(({ system = '', code = '' }) => `${system}|${code}`));

const haveOne = (one: readonly string[], other: readonly string[]): boolean => one.some((code) => other.includes(code));

/** Whether a Schedule is one in which times of a service can be booked. */
export const offersService = (schedule: Schedule, { id, type }: HealthcareService): boolean =>
  schedule.active !== false &&
  (offeredServiceIds(schedule).some((one) => one === id) || haveOne(codesOf(type), codesOf(schedule.serviceType)));

/** As what an appointment of a service is booked. */
export const typeOf = ({ type, name }: HealthcareService): CodeableConcept => {
  const [coding] = (type ?? []).flatMap((concept) => concept.coding ?? []);
  return { ...(coding && { coding: [coding] }), ...(name && { text: name }) };
};

/** With whom an appointment in a Schedule is. */
export const actorIn = ({ actor }: Schedule): string | undefined =>
  actor.find(({ reference = '', display }) => /^Practitioner/.test(reference) && display)?.display;

/** The most appointments that one long Slot is shown as. */
const MOST_PARTS = 20;

/** The appointments of a service that a free Slot has room for. */
export function timesIn(
  { id, start, end, serviceType }: Slot,
  schedule: Schedule,
  service: Stored<HealthcareService>,
  config: PublicConfig,
): OfferedTime[] {
  const [from, to] = [parseInstant(start), parseInstant(end)];
  const named = codesOf(serviceType);
  const isOther = named.length > 0 && !haveOne(named, codesOf(service.type));
  if (!id || from === undefined || to === undefined || from >= to || isOther) {
    return [];
  }
  const length = Math.min(to - from, granularityOf(schedule, [service], config).longest ?? to - from);
  const count = Math.min(MOST_PARTS, Math.floor((to - from) / length));
  return Array.from({ length: count }, (_, index) => ({
    slots: [id],
    start: from + index * length,
    end: from + (index + 1) * length,
    service: service.id,
  }));
}
