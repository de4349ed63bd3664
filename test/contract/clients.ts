/** Clients that a test makes for itself, by the administrator's API of Medplum. */
import type { ClientApplication, ProjectMembershipAccessParameter } from '@medplum/fhirtypes';
import { isObject } from '../../core/fhir/resource.ts';
import { sealSecret } from '../../gateway/sealing/sealed-secret.ts';
import { medplum, resourceIn } from './http.ts';
import { type Door, keys, logIn, medplumBase, type Role, takeRole, tokenOf } from './installation.ts';

const server = medplumBase.replace(/fhir\/R4$/, '');

async function json(path: string, init: RequestInit): Promise<Record<string, unknown>> {
  const answer: unknown = await (await fetch(`${server}${path}`, init)).json();
  return isObject(answer) ? { ...answer } : {};
}

async function found(type: 'AccessPolicy' | 'ProjectMembership', query: string) {
  const { entry } = resourceIn('Bundle', await medplum('admin', 'GET', `/${type}?${query}`));
  return entry?.[0]?.resource;
}

/** A client of the installation. */
export interface Client {
  readonly id: string;
  /** Its secret as portals get it, and a bearer token. */
  readonly secret: string;
  readonly token: string;
  /** The same as Medplum has them, which portals never get. */
  readonly inMedplum: { readonly secret: string; readonly token: string };
}

/**
 * Makes a client.
 *
 * @param policy - name of its AccessPolicy
 * @param parameter - what the policy is filled in with
 */
export async function aClient(policy: string, parameter?: ProjectMembershipAccessParameter): Promise<Client> {
  const headers = { authorization: `Bearer ${await tokenOf('admin')}`, 'content-type': 'application/json' };
  const { project } = await json('auth/me', { headers });
  const accessPolicy = {
    reference: `AccessPolicy/${(await found('AccessPolicy', `name:exact=${encodeURIComponent(policy)}`))?.id}`,
  };
  const path = `admin/projects/${isObject(project) ? project.id : ''}/client`;
  const body = JSON.stringify({ name: 'Made by a test', accessPolicy });
  const made: Partial<ClientApplication> = await json(path, { method: 'POST', headers, body });
  if (parameter) {
    const membership = await found('ProjectMembership', `profile=ClientApplication/${made.id}`);
    const access = [{ policy: accessPolicy, parameter: [parameter] }];
    const changed = { ...membership, accessPolicy: undefined, access };
    await medplum('admin', 'PUT', `/ProjectMembership/${membership?.id}`, { body: changed });
  }
  const [id, own] = [`${made.id}`, `${made.secret}`];
  const secret = keys ? sealSecret(keys, id, own) : own;
  const inMedplum = { secret: own, token: await logIn('medplum', id, own) };
  return { id, secret, token: await logIn('service', id, secret), inMedplum };
}

/** The tokens of a client, by where they are good. */
export const tokensOf = ({ token, inMedplum }: Client): Readonly<Record<Door, string>> => ({
  service: token,
  medplum: inMedplum.token,
});

/** Removes a client that a test has made. */
export async function removeClient({ id }: Client): Promise<void> {
  const membership = await found('ProjectMembership', `profile=ClientApplication/${id}`);
  await medplum('admin', 'DELETE', `/ProjectMembership/${membership?.id}`);
  await medplum('admin', 'DELETE', `/ClientApplication/${id}`);
}

/** Lets a requestor of its own stand for a role in this file of tests, so that nothing that others do concerns it. */
export async function standIn(role: Role): Promise<Client> {
  const client = await aClient('Appointment booking: requestor');
  takeRole(role, tokensOf(client));
  return client;
}
