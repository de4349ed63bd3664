import type { BotEvent, MedplumClient } from '@medplum/core';
import {
  hidesFields,
  permittedAppointments,
  type Role,
  readableQuery,
  roleOf,
} from '../../core/booking/policy/caller-rights.ts';
import { get } from './medplum.ts';
import { ReadError, readInBatch } from './read.ts';

/**
 * Returns the caller of a Bot with its credentials, so that the Bot reads no more than the caller may.
 * @throws Error when Medplum does not identify the caller: the result would have no owner
 */
export function callerOf({ requester, headers }: BotEvent<unknown>) {
  const [, id] = requester?.reference?.split('/') ?? [];
  if (!id) {
    throw new Error('Medplum does not identify the caller to this Bot: the service needs Medplum 5.1 or later.');
  }
  return { id, reference: requester, authorization: headers?.authorization?.toString() };
}

interface AppointmentRights {
  readonly role: Role;
  /** The appointments that the caller may update in Medplum, as `permittedAppointments` returns them. */
  readonly changeable: readonly string[];
  readonly seesAll: boolean;
}

/** Whether the caller is staff who may change all appointments in Medplum. */
export const changesAll = ({ role, changeable }: AppointmentRights): boolean =>
  role === 'staff' && changeable.includes('Appointment');

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
 * Returns the role in which a caller acts on the appointments with the given ids. Staff who may change only some
 * appointments in Medplum are requestors of the others. Unknown ids are ignored.
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
  return existing.every(({ id }) => changeable.has(id)) ? 'staff' : 'requestor';
}
