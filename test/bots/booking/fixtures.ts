import { randomUUID } from 'node:crypto';
import type { BotEvent } from '@medplum/core';
import type {
  Appointment,
  Extension,
  HealthcareService,
  OperationOutcome,
  Parameters,
  Patient,
  Resource,
  Schedule,
  Slot,
} from '@medplum/fhirtypes';
import { type Artefact, artefactUri } from '../../../core/fhir/artefacts.ts';
import { SERVICE_TYPE_REFERENCE } from '../../../core/fhir/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { config } from '../config.ts';
import type { Asked, BotServer, Interference } from '../medplum.ts';

const DAY = 86_400_000;

/** The Monday after next week, at midnight UTC: far enough from now for every policy of the tests. */
const monday = (Math.floor((Date.now() / DAY + 3) / 7) + 2) * 7 * DAY - 3 * DAY;

/** A time on the day of the tests, `hh:mm` UTC, or so many days later. */
export const at = (time: string, days = 0): string =>
  new Date(monday + days * DAY + Date.parse(`1970-01-01T${time}:00Z`)).toISOString();

/** A moment so many minutes from now; a negative number is in the past. */
export const inMinutes = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString();

/** Calls something with whatever chance gives. */
export async function byChance<T>(chance: number, act: () => Promise<T>): Promise<T> {
  const { random } = Math;
  Math.random = () => chance;
  try {
    return await act();
  } finally {
    Math.random = random;
  }
}

/** An extension of the service. */
export const extension = (artefact: Artefact, value: Omit<Extension, 'url'>): Extension => ({
  url: artefactUri(config, artefact),
  ...value,
});

/** A booking policy: lengths in hours, numbers of appointments as they are. */
export function policy(parts: Readonly<Record<string, number>>): Extension {
  return extension('LocalBookingPolicy', {
    extension: Object.entries(parts).map(([url, value]) =>
      url.startsWith('max') ? { url, valuePositiveInt: value } : { url, valueDuration: { value, code: 'h' } },
    ),
  });
}

/** A service type that nothing else has. */
export const aType = () => ({ coding: [{ system: 'urn:services', code: randomUUID() }] });

/** A service type that names its HealthcareService. */
export const typeOf = ({ id }: HealthcareService) => ({
  extension: [{ url: SERVICE_TYPE_REFERENCE, valueReference: { reference: `HealthcareService/${id}` } }],
});

/** A portal: the id of its client, its credentials, and its calls of Bots. */
export interface Portal {
  readonly id: string;
  readonly authorization: string;
}

/** What a Bot is called with. */
export function eventOf<T>(input: T, portal?: Portal, headers: Record<string, string> = {}): BotEvent<T> {
  const own = portal && { authorization: portal.authorization };
  return {
    bot: { reference: 'Bot/test' },
    contentType: 'application/fhir+json',
    secrets: {},
    input,
    ...(portal && { requester: { reference: `ClientApplication/${portal.id}` } }),
    headers: { ...own, ...headers },
  };
}

/** Adds a portal that may read everything. */
export const aPortal = (medplum: BotServer): Promise<Portal> => medplum.addClient(`portal ${randomUUID()}`);

/** Somebody of the clinic, who may change appointments. */
export const staff: Portal = { id: 'staff', authorization: 'Bearer admin' };

/** Who acts for a portal, as the Bots know it. */
export const requestorOf = ({ id, authorization }: Portal) => ({
  id,
  authorization,
  reference: { reference: `ClientApplication/${id}` },
});

export const tagsOf = ({ id }: Pick<Portal, 'id'>) => ({ tag: [requestorTag(id, config)] });

/** A Schedule of its own, of a service that no other has. */
export const aSchedule = (medplum: BotServer, more: Partial<Schedule> = {}) =>
  medplum.create<Schedule>({
    resourceType: 'Schedule',
    serviceType: [aType()],
    actor: [{ display: `Calendar ${randomUUID()}` }],
    ...more,
  });

export const aService = (medplum: BotServer, more: Partial<HealthcareService> = {}) =>
  medplum.create<HealthcareService>({ resourceType: 'HealthcareService', ...more });

/** A Slot on the day of the tests, by default free. */
export const aSlot = (medplum: BotServer, { id }: Schedule, from: string, to: string, more: Partial<Slot> = {}) =>
  medplum.create<Slot>({
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${id}` },
    status: 'free',
    start: at(from),
    end: at(to),
    ...more,
  });

/** By which a Slot that is taken is told from what was never on offer. */
export const originOf = ({ id }: Slot) => ({ system: artefactUri(config, 'LocalSlotOrigin'), value: id });

export const aPatient = (medplum: BotServer, portal: Pick<Portal, 'id'>, more: Partial<Patient> = {}) =>
  medplum.create<Patient>({ resourceType: 'Patient', meta: tagsOf(portal), ...more });

/** An appointment as a portal proposes it, in the time of its first slot to its last. */
export function proposed(patient: Patient, slots: readonly Slot[], more: Partial<Appointment> = {}): Appointment {
  return {
    resourceType: 'Appointment',
    status: 'proposed',
    start: slots[0]?.start ?? at('09:00'),
    end: slots.at(-1)?.end ?? at('09:30'),
    slot: slots.map(({ id }) => ({ reference: `Slot/${id}` })),
    participant: [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' }],
    ...more,
  };
}

/** What of an appointment, and of what it is made of, is not as usual. */
export type BookedParts = Partial<Appointment> & {
  readonly schedule?: Schedule;
  readonly patient?: Patient;
  readonly from?: string;
  readonly to?: string;
};

/** A Slot and the appointment that has it, as the service has left them. */
export async function booked(medplum: BotServer, portal: Pick<Portal, 'id'>, more: BookedParts = {}) {
  const { schedule: given, patient: who, from = '09:00', to = '09:30', ...changes } = more;
  const schedule = given ?? (await aSchedule(medplum));
  const patient = who ?? (await aPatient(medplum, portal));
  const free = await aSlot(medplum, schedule, from, to);
  const status = changes.status === 'pending' || changes.status === 'proposed' ? 'busy-tentative' : 'busy';
  const slot = await medplum.change<Slot>(free, { status, identifier: [originOf(free)] });
  const profile = [artefactUri(config, 'LocalTermin')];
  const tag = [{ system: config.metaTagSystem, code: 'external' }, ...tagsOf(portal).tag];
  const appointment = await medplum.create<Appointment>(
    proposed(patient, [slot], { status: 'booked', meta: { profile, tag }, ...changes }),
  );
  return { schedule, patient, slot, appointment };
}

/** Parameters of an operation, as the gateway sends them. */
export const parameters = (...parameter: NonNullable<Parameters['parameter']>): Parameters => ({
  resourceType: 'Parameters',
  parameter,
});

/** The problems in an answer: `code expression`. */
export function problems(answer: unknown): string[] {
  return isResource(answer, 'OperationOutcome')
    ? (answer as OperationOutcome).issue.map(({ details, code, expression = [] }) =>
        [details?.coding?.[0]?.code ?? code, ...expression].join(' '),
      )
    : [];
}

/** Whether a request writes something: a read can be a transaction, too. */
export const writes = ({ type, entries }: Asked): boolean =>
  type === 'transaction' && entries.some((entry) => !entry.startsWith('GET '));

/** Lets the n-th requests of a kind (from 0) be answered otherwise; by default the first. */
export function only(isMeant: (asked: Asked) => boolean, answer: Interference, ...which: number[]): Interference {
  let count = 0;
  const wanted = which.length > 0 ? which : [0];
  return (asked) => (isMeant(asked) && wanted.includes(count++) ? answer(asked) : undefined);
}

/** Lets others do something just before the first request of a kind. */
export const meanwhile = (medplum: BotServer, isMeant: (asked: Asked) => boolean, act: () => Promise<unknown>): void =>
  medplum.interfere(
    only(isMeant, async () => {
      await act();
      return undefined;
    }),
  );

/** Whether a request asks for something. */
export const asks =
  (pattern: RegExp) =>
  ({ entries }: Asked): boolean =>
    entries.some((entry) => pattern.test(entry));

/** What a server answers that cannot take a request now, or does not like it. */
export const unavailable = () => ({ status: 503, body: {} });
export const refused = () => ({ status: 403, body: {} });
export const overtaken = () => ({ status: 412, body: {} });
export const invalid = () => ({
  status: 400,
  body: {
    resourceType: 'OperationOutcome',
    issue: [{ severity: 'error', code: 'invalid', details: { text: 'The server does not like it.' } }],
  },
});

/** An operation of a JSON Patch. */
export interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

export const cancelling: Operation = { op: 'replace', path: '/status', value: 'cancelled' };
export const comment: Operation = { op: 'add', path: '/comment', value: 'On foot' };

/** What the Bot `patch` is called with. */
export const patchOf = (id: string | undefined, operations: readonly Operation[], ifMatch?: string): Parameters =>
  parameters({ name: 'id', valueId: id }, ...(ifMatch ? [{ name: 'ifMatch', valueString: ifMatch }] : []), {
    name: 'patch',
    valueString: JSON.stringify(operations),
  });

/** A portal, its patient, and a free slot of a Schedule that nothing else has. */
export async function bookable(medplum: BotServer, more: Partial<Schedule> = {}) {
  const portal = await aPortal(medplum);
  const schedule = await aSchedule(medplum, more);
  const patient = await aPatient(medplum, portal);
  return { portal, patient, schedule, slot: await aSlot(medplum, schedule, '09:00', '09:30') };
}

/** A portal and what `booked` stores for it. */
export async function bookedByPortal(medplum: BotServer, more: BookedParts = {}) {
  const portal = await aPortal(medplum);
  return { portal, ...(await booked(medplum, portal, more)) };
}

/** The id of an answer, and the problems in it. */
export const answerOf = (answer: Resource): (string | undefined)[] => [answer.id, ...problems(answer)];
