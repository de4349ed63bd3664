import type { BotEvent, MedplumClient } from '@medplum/core';
import { type Role, roleOf } from '../../core/booking/policy/caller-role.ts';
import { hidesFields, permittedAppointments, readableQuery } from '../../core/notifications/events/read-access.ts';
import { get } from './medplum.ts';
import { ReadError, readInBatch } from './read.ts';

/**
 * Who called a Bot, with the credentials that came with the call: the Bot reads no more than its caller may.
 *
 * @throws Error when Medplum does not identify the caller: the result would have no owner
 */
export function callerOf({ requester, headers }: BotEvent<unknown>) {
  const [, id] = requester?.reference?.split('/') ?? [];
  if (!id) {
    throw new Error('Medplum does not identify the caller to this Bot: the service needs Medplum 5.1 or later.');
  }
  return { id, reference: requester, authorization: headers?.authorization?.toString() };
}

/** What a caller may do with appointments. */
interface AppointmentRights {
  readonly role: Role;
  /** Those that it may change whole in Medplum, as `permittedAppointments` gives them. */
  readonly changeable: readonly string[];
  /** Whether it sees every appointment, and all of it. */
  readonly seesAll: boolean;
}

/** Whether Medplum lets a caller change every appointment. */
export const changesAll = ({ role, changeable }: AppointmentRights): boolean =>
  role === 'repository' && changeable.includes('Appointment');

/** @throws ReadError when Medplum does not identify the caller */
export async function readRights(
  medplum: MedplumClient,
  authorization: string | undefined,
): Promise<AppointmentRights> {
  const me = await get(medplum, 'auth/me', { authorization });
  const role = me?.status === 200 ? roleOf(me.body) : undefined;
  if (!role) {
    throw new ReadError('Medplum does not identify the caller.');
  }
  const seesAll = permittedAppointments(me?.body).includes('Appointment') && !hidesFields(me?.body);
  return { role, changeable: permittedAppointments(me?.body, 'update'), seesAll };
}

/**
 * The role in which a caller acts on appointments, given by their ids: staff whom Medplum lets change only some are
 * requestors of the others. Ids that do not exist do not count.
 *
 * @throws ReadError when Medplum does not identify the caller
 */
export async function readRole(
  medplum: MedplumClient,
  authorization: string | undefined,
  ids: readonly string[] = [],
): Promise<Role> {
  const rights = await readRights(medplum, authorization);
  if (rights.role === 'requestor' || ids.length === 0 || changesAll(rights)) {
    return rights.role;
  }
  const searches = ['Appointment', ...rights.changeable].map((one) => readableQuery(one, ids));
  const [existing = [], ...found] = await readInBatch(medplum, searches);
  const changeable = new Set(found.flat().map(({ id }) => id));
  return existing.every(({ id }) => changeable.has(id)) ? 'repository' : 'requestor';
}
