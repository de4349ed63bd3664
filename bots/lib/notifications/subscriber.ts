import type { BotEvent, MedplumClient } from '@medplum/core';
import type { OperationOutcome, Subscription } from '@medplum/fhirtypes';
import { mayChangeInMedplum, permittedAppointments, roleOf } from '../../../core/booking/policy/caller-rights.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { type Issue, toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { isId } from '../../../core/fhir/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { belongsTo } from '../../../core/fhir/tags.ts';
import { topicOf } from '../../../core/notifications/subscription/topics.ts';
import type { Requestor } from '../booking/decide.ts';
import { callerOf } from '../caller.ts';
import { config } from '../config.ts';
import { get, sendBundle } from '../medplum.ts';

/** The caller of a Bot about Subscriptions, with the credentials of the call. */
export type Subscriber = Requestor & { readonly authorization: string };

export function subscriberOf(event: BotEvent<unknown>): Subscriber {
  const caller = callerOf(event);
  return { ...caller, authorization: caller.authorization ?? '' };
}

const outcome = (id: string, code: OperationOutcome['issue'][number]['code'], diagnostics: string) => ({
  resourceType: 'OperationOutcome' as const,
  id,
  issue: [{ severity: 'error' as const, code, diagnostics }],
});

/** The outcomes of a subscriber's request that are not business errors; Medplum turns their ids into HTTP statuses. */
export const refusals = {
  'not-found': outcome('not-found', 'not-found', 'There is no such Subscription for the caller.'),
  gone: outcome('gone', 'deleted', 'The Subscription was deleted.'),
  forbidden: outcome('forbidden', 'forbidden', 'The caller may not read appointments.'),
  'not-owner': outcome('forbidden', 'forbidden', 'This Subscription has another owner, who alone may do that.'),
  'not-staff': outcome(
    'forbidden',
    'forbidden',
    'Only staff of the clinic may ask for a delivery. As the subscriber, send the Subscription by PUT with the status requested.',
  ),
} as const satisfies Record<string, OperationOutcome>;

export const refuse = (issues: readonly Issue[]): OperationOutcome => toOperationOutcome(issues, config);

export const unavailable: Issue = {
  code: 'upstream-unavailable',
  diagnostics: 'The FHIR server could not be reached. Read the Subscription to see whether it was written.',
};

const isToTopic = ({ criteria }: Subscription): boolean => topicOf(criteria, config) !== undefined;

/**
 * Reads a Subscription with the caller's own rights.
 * @returns the Subscription as the caller sees it, or why there is none
 */
export async function readAsCaller(
  medplum: MedplumClient,
  id: string,
  { authorization }: Subscriber,
): Promise<Subscription | OperationOutcome> {
  if (!isId(id)) {
    return refusals['not-found'];
  }
  const entry = [{ request: { method: 'GET' as const, url: `Subscription/${id}` } }];
  const answer = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry }, { authorization });
  if (answer.kind !== 'done') {
    return refuse([unavailable]);
  }
  const [found] = answer.bundle.entry ?? [];
  if (found?.response?.status === '410') {
    return refusals.gone;
  }
  const resource: unknown = found?.resource;
  return isResource(resource, 'Subscription') && isToTopic(resource) ? resource : refusals['not-found'];
}

/** Reads the topic-based Subscriptions that the caller may see, with the caller's own rights. */
export async function searchAsCaller(
  medplum: MedplumClient,
  { authorization }: Subscriber,
): Promise<Subscription[] | OperationOutcome> {
  const url = `Subscription?_profile=${encodeURIComponent(artefactUri(config, 'LocalSubscriptionTermin'))}&_count=1000`;
  const entry = [{ request: { method: 'GET' as const, url } }];
  const answer = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry }, { authorization });
  const found: unknown = answer.kind === 'done' ? answer.bundle.entry?.[0]?.resource : undefined;
  if (!isResource(found, 'Bundle')) {
    return refuse([unavailable]);
  }
  const resources = (found.entry ?? []).map(({ resource }): unknown => resource);
  return resources.flatMap((one) => (isResource(one, 'Subscription') && isToTopic(one) ? [one] : []));
}

async function describeCaller(medplum: MedplumClient, { authorization }: Subscriber): Promise<unknown> {
  const response = await get(medplum, 'auth/me', { authorization });
  if (!response) {
    throw new Error('Medplum does not describe the caller.');
  }
  return response.status === 200 ? response.body : undefined;
}

/**
 * Whether the caller may change a Subscription that it sees: its owner may, and so may those who can change any
 * Subscription in Medplum. Staff see those of portals, but may not change them.
 */
export async function mayChange(medplum: MedplumClient, seen: Subscription, caller: Subscriber): Promise<boolean> {
  return (
    belongsTo(seen, caller.id, config) || mayChangeInMedplum(await describeCaller(medplum, caller), 'Subscription')
  );
}

export async function isStaff(medplum: MedplumClient, caller: Subscriber): Promise<boolean> {
  return roleOf(await describeCaller(medplum, caller)) === 'staff';
}

/** The appointments that the caller may read now, as criteria; empty if none, or if Medplum does not say. */
export async function readableAppointmentsOf(medplum: MedplumClient, caller: Subscriber): Promise<string[]> {
  return permittedAppointments(await describeCaller(medplum, caller));
}
