import type { CodeableConcept, HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import { parseInstant } from '../../core/fhir/instant.ts';
import { isId, serviceIdsOfSchedule } from '../../core/fhir/reference.ts';
import { isObject } from '../../core/fhir/resource.ts';
import { appointmentMinutes } from '../../core/fhir/scheduling/scheduling-parameters.ts';

/** A found time. Instants are milliseconds since 1970 UTC. */
export interface FoundTime {
  readonly slots: readonly string[];
  readonly start: number;
  readonly end: number;
  /** Id of the service. */
  readonly service: string;
}

const isTime = (value: unknown): value is FoundTime => isObject(value) && Array.isArray(value.slots);

interface Hold {
  readonly appointment: string;
  readonly service: string;
}

/** Seals texts for one owner. */
export interface Seal {
  readonly seal: (text: string, owner: string) => string;
  /** Returns `undefined` if the text was not sealed here, was changed, or belongs to another owner. */
  readonly open: (sealed: string, owner: string) => string | undefined;
}

/** Validity of a time token, in milliseconds. */
const STANDS = 1_800_000;

/** Maximum length of a token, in characters. */
export const MAX_TOKEN_LENGTH = 2_000;

export type Tokens = ReturnType<typeof createTokens>;

/** Creates the tokens of found times and holds. A token is valid only for the client that received it. */
export function createTokens(seal: Seal, now: () => number) {
  const close = (kind: string, client: string, value: unknown): string =>
    seal.seal(JSON.stringify(value), `${kind} ${client}`);
  const open = (kind: string, client: string, text: string): unknown[] => {
    const opened = text.length <= MAX_TOKEN_LENGTH ? seal.open(text, `${kind} ${client}`) : undefined;
    return opened === undefined ? [] : JSON.parse(opened);
  };
  return {
    sealTime: (time: FoundTime, client: string) => close('offer', client, [time, now() + STANDS]),
    /** The time of a token; `undefined` if the token is invalid, expired, or another client's. */
    openTime: (token: string, client: string): FoundTime | undefined => {
      const [time, until] = open('offer', client, token);
      return isTime(time) && Number(until) > now() ? time : undefined;
    },
    sealHold: ({ appointment, service }: Hold, client: string) => close('hold', client, [appointment, service]),
    openHold: (hold: string, client: string): Hold | undefined => {
      const [appointment, service] = open('hold', client, hold);
      return isId(appointment) && isId(service) ? { appointment, service } : undefined;
    },
  };
}

const codesOf = (concepts: readonly CodeableConcept[] = []): string[] =>
  concepts.flatMap(({ coding = [] }) => coding.map(({ system = '', code = '' }) => `${system}|${code}`));

const haveOne = (one: readonly string[], other: readonly string[]): boolean => one.some((code) => other.includes(code));

/** Whether times of a service can be booked in a Schedule. */
export const servesService = (schedule: Schedule, { id, type }: HealthcareService): boolean =>
  schedule.active !== false &&
  (serviceIdsOfSchedule(schedule).some((one) => one === id) || haveOne(codesOf(type), codesOf(schedule.serviceType)));

/** The `Appointment.serviceType` of a service. */
export const typeOf = ({ type, name }: HealthcareService): CodeableConcept => {
  const [coding] = (type ?? []).flatMap((concept) => concept.coding ?? []);
  return { ...(coding && { coding: [coding] }), ...(name && { text: name }) };
};

/** The display name of a Schedule's practitioner. */
export const actorIn = ({ actor }: Schedule): string | undefined =>
  actor.find(({ reference = '', display }) => /^Practitioner/.test(reference) && display)?.display;

/** Maximum of times of one Slot. */
const MAX_PARTS = 20;

/** Divides a free Slot into times of a service. */
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
