import type { CodeableConcept, HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import { parseInstant } from '../../core/fhir/instant.ts';
import { isId, serviceIdsOfSchedule } from '../../core/fhir/reference.ts';
import { isObject } from '../../core/fhir/resource.ts';
import { appointmentMinutes } from '../../core/fhir/scheduling/scheduling-parameters.ts';

/** A time that was offered to an assistant. Instants are milliseconds since 1970 UTC. */
export interface FoundTime {
  readonly slots: readonly string[];
  readonly start: number;
  readonly end: number;
  /** Id of the service. */
  readonly service: string;
}

const isTime = (value: unknown): value is FoundTime => isObject(value) && Array.isArray(value.slots);

/** What an assistant holds: ids of the appointment and of its service. */
interface Hold {
  readonly appointment: string;
  readonly service: string;
}

/** Seals texts, so that they can be opened for the same owner only. */
export interface Seal {
  readonly seal: (text: string, owner: string) => string;
  /** `undefined` if the text is foreign, changed, or another owner's. */
  readonly open: (sealed: string, owner: string) => string | undefined;
}

/** How long an offered time can be held, in milliseconds. */
const STANDS = 1_800_000;

/** The longest text that is looked at, in characters. */
export const MAX_TOKEN_LENGTH = 2_000;

export type Tokens = ReturnType<typeof createTokens>;

/**
 * Seals what one client was offered and what it holds: another client can do nothing with it, and nobody can make it.
 *
 * @param now - the clock, in milliseconds
 */
export function createTokens(seal: Seal, now: () => number) {
  const close = (kind: string, client: string, value: unknown): string =>
    seal.seal(JSON.stringify(value), `${kind} ${client}`);
  const open = (kind: string, client: string, text: string): unknown[] => {
    const opened = text.length <= MAX_TOKEN_LENGTH ? seal.open(text, `${kind} ${client}`) : undefined;
    return opened === undefined ? [] : JSON.parse(opened);
  };
  return {
    sealTime: (time: FoundTime, client: string) => close('offer', client, [time, now() + STANDS]),
    /** The time in a token; `undefined` if that is foreign, changed, another client's, or too old. */
    openTime: (token: string, client: string): FoundTime | undefined => {
      const [time, until] = open('offer', client, token);
      return isTime(time) && Number(until) > now() ? time : undefined;
    },
    sealHold: ({ appointment, service }: Hold, client: string) => close('hold', client, [appointment, service]),
    /** What is held; `undefined` if it is not that client's. */
    openHold: (hold: string, client: string): Hold | undefined => {
      const [appointment, service] = open('hold', client, hold);
      return isId(appointment) && isId(service) ? { appointment, service } : undefined;
    },
  };
}

const codesOf = (concepts: readonly CodeableConcept[] = []): string[] =>
  concepts.flatMap(({ coding = [] }) => coding.map(({ system = '', code = '' }) => `${system}|${code}`));

const haveOne = (one: readonly string[], other: readonly string[]): boolean => one.some((code) => other.includes(code));

/** Whether a Schedule is one in which times of a service can be booked. */
export const servesService = (schedule: Schedule, { id, type }: HealthcareService): boolean =>
  schedule.active !== false &&
  (serviceIdsOfSchedule(schedule).some((one) => one === id) || haveOne(codesOf(type), codesOf(schedule.serviceType)));

/** As what an appointment of a service is booked. */
export const typeOf = ({ type, name }: HealthcareService): CodeableConcept => {
  const [coding] = (type ?? []).flatMap((concept) => concept.coding ?? []);
  return { ...(coding && { coding: [coding] }), ...(name && { text: name }) };
};

/** With whom an appointment in a Schedule is. */
export const actorIn = ({ actor }: Schedule): string | undefined =>
  actor.find(({ reference = '', display }) => /^Practitioner/.test(reference) && display)?.display;

/** The most appointments that one long Slot is shown as. */
const MAX_PARTS = 20;

/** The appointments of a service that a free Slot has room for. */
export function timesIn(
  { id, start, end, serviceType }: Slot,
  schedule: Schedule,
  service: HealthcareService & { readonly id: string },
): FoundTime[] {
  const [from, to] = [parseInstant(start), parseInstant(end)];
  const named = codesOf(serviceType);
  const isOther = named.length > 0 && !haveOne(named, codesOf(service.type));
  if (!id || from === undefined || to === undefined || from >= to || isOther) {
    return [];
  }
  const minutes = appointmentMinutes(schedule, service);
  const length = Math.min(to - from, minutes === undefined ? to - from : minutes * 60_000);
  const count = Math.min(MAX_PARTS, Math.floor((to - from) / length));
  return Array.from({ length: count }, (_, index) => ({
    slots: [id],
    start: from + index * length,
    end: from + (index + 1) * length,
    service: service.id,
  }));
}
