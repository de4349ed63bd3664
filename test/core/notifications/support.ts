import type { Appointment, Subscription } from '@medplum/fhirtypes';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { backport } from '../../../core/fhir/backport.ts';
import { markChange, requestorTag } from '../../../core/fhir/tags.ts';
import type { Outbox } from '../../../core/notifications/delivery/outbox.ts';
import type { SubscriptionParameters } from '../../../core/notifications/subscription/subscription-parameters.ts';

export const config = resolveConfig({ baseUrl: 'https://booking.example.org/fhir/R4' });

/** Profile ids. */
export const portal = 'portal';
export const staff = 'staff';

/** An instant so many seconds after the moment at which the tests begin. */
export const begin = Date.parse('2027-01-01T00:00:00Z');
export const at = (seconds: number): string => new Date(begin + seconds * 1000).toISOString();

export const settings: SubscriptionParameters = {
  topic: 'appointment-update',
  conditions: [],
  endpoint: new URL('https://portal.example.org/notifications'),
  mediaType: 'application/fhir+json',
  content: 'id-only',
  heartbeat: undefined,
  timeout: 5000,
  wantsOwnChanges: false,
  end: undefined,
};

export const outbox: Outbox = {
  status: 'accepted',
  events: 0,
  delivered: 0,
  attempts: 0,
  since: begin,
};

/** One version of the portal's appointment, written so many seconds after the beginning by somebody. */
export interface Written {
  readonly by: string;
  readonly seconds: number;
  readonly status?: Appointment['status'];
  readonly more?: Partial<Appointment>;
}

/** The history of an appointment, the newest version first. Portals write through a Bot, which says on whose behalf. */
export function history(...written: readonly Written[]): Appointment[] {
  return written
    .map(({ by, seconds, status = 'booked', more }, index): Appointment => {
      const replaced = index === 0 ? undefined : `v${index}`;
      const tagged = { tag: [requestorTag(portal, config)] };
      const meta = by === portal ? markChange(tagged, by, replaced, config) : tagged;
      const author = { reference: by === portal ? 'Bot/book' : `Practitioner/${by}` };
      return {
        resourceType: 'Appointment',
        id: 'a1',
        status,
        participant: [{ actor: { reference: 'Patient/p1' }, status: 'accepted' }],
        ...more,
        meta: { ...meta, author, versionId: `v${index + 1}`, lastUpdated: at(seconds) },
      };
    })
    .reverse();
}

/** A Subscription as it is sent. */
export function subscription(changes: object = {}): Subscription {
  const body: object = {
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'Test',
    criteria: 'https://example.org/fhir/SubscriptionTopic/appointment-update',
    channel: {
      type: 'rest-hook',
      endpoint: 'https://portal.example.org/notifications',
      payload: 'application/fhir+json',
      _payload: { extension: [{ url: backport.payloadContent, valueCode: 'id-only' }] },
    },
    ...changes,
  };
  return JSON.parse(JSON.stringify(body));
}
