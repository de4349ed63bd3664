import type { BookingConfig } from '../../../core/config/config.ts';
import { backport } from '../../../core/notifications/subscription/extensions.ts';
import { topicUrl } from '../../../core/notifications/subscription/topics.ts';
import { resourceIn, send, wait } from '../http.ts';
import type { Installation } from '../installation.ts';
import { appointmentFor, makePlaces } from '../targets.ts';
import type { Receivers } from './receivers.ts';

/** What is measured, and who receives. */
export interface Target {
  readonly installation: Installation;
  readonly config: BookingConfig;
  readonly receivers: Receivers;
}

function subscription(endpoint: string, config: BookingConfig): object {
  return {
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'Benchmark',
    criteria: topicUrl('appointment-update', config),
    channel: {
      extension: [{ url: backport.timeout, valueUnsignedInt: 8 }],
      type: 'rest-hook',
      endpoint,
      payload: 'application/fhir+json',
      _payload: { extension: [{ url: backport.payloadContent, valueCode: 'id-only' }] },
    },
  };
}

/** Makes a Subscription of the portal that is measured, and waits for its handshake; returns its path. */
export async function subscribe({ installation: { base, tokens }, config, receivers }: Target): Promise<string> {
  const { count } = receivers.quick();
  const body = subscription(`${receivers.url}/quick`, config);
  const { id } = resourceIn('Subscription', await send('POST', `${base}/Subscription`, tokens.portal, body));
  await wait(() => receivers.quick().count > count, 'for the handshake');
  return `Subscription/${id}`;
}

/**
 * Makes the Subscriptions: one of the measured portal, with the quick receiver, and `count` of another portal.
 *
 * @returns the path of an appointment whose changes concern all Subscriptions of the other portal
 */
export async function subscribeAll({ installation, config, receivers }: Target, count: number): Promise<string> {
  const { base, tokens } = installation;
  const url = `${base}/Subscription`;
  await subscribe({ installation, config, receivers });
  for (let index = 0; index < count; index++) {
    const body = subscription(`${receivers.url}/hang/${index}`, config);
    resourceIn('Subscription', await send('POST', url, tokens.other, body));
  }
  await wait(() => receivers.answered() >= count, 'for all handshakes');
  const as = { ...installation, tokens: { ...tokens, portal: tokens.other } };
  const [place] = await makePlaces(as, config, 1, Date.now());
  if (!place) {
    throw new Error('No slot could be made.');
  }
  const booked = await send('POST', `${base}/Appointment/$book`, tokens.other, appointmentFor(place, config));
  return `Appointment/${resourceIn('Appointment', booked).id}`;
}

/** Changes an appointment as staff; its portal is notified. */
export async function changeByStaff({ medplum, tokens }: Installation, path: string): Promise<void> {
  const stored = resourceIn('Appointment', await send('GET', `${medplum}/${path}`, tokens.staff));
  const comment = `Benchmark ${performance.now()}`;
  resourceIn('Appointment', await send('PUT', `${medplum}/${path}`, tokens.staff, { ...stored, comment }));
}

/** How the receivers of the other portal behave: they have nothing to receive, answer at once, or never answer. */
export type Condition = 'quiet' | 'answering' | 'hanging';

/**
 * Brings the receivers of the other portal into a condition.
 *
 * @param path - of the appointment whose changes concern all of them
 * @returns a function that ends it: lets all answer, and waits until each has received what there was
 */
export async function begin(
  { installation, receivers }: Target,
  path: string,
  count: number,
  condition: Condition,
): Promise<() => Promise<void>> {
  if (condition === 'quiet') {
    return async () => undefined;
  }
  receivers.expect(condition === 'hanging');
  await changeByStaff(installation, path);
  await wait(() => receivers.most() + receivers.answered() > 0, 'for the first receiver');
  return async () => {
    receivers.release();
    await wait(() => receivers.answered() >= count, 'for all notifications');
  };
}
