import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { deliverPending } from '../../../../../bots/lib/notifications/delivery/delivery.ts';
import { type Listener, listen } from '../../../../contract/notifications/listener.ts';
import type { BotServer } from '../../../medplum.ts';
import {
  addEvents,
  anAppointment,
  channelTo,
  eventAbout,
  type Given,
  type State,
  type Subscribed,
  stateOf,
  statusIn,
  subscribe,
} from '../outboxes.ts';

/** What deliveries of a test file have in common: an endpoint, and Subscriptions to it. */
export interface Deliveries {
  /** Answers 200 unless the test says otherwise. */
  readonly endpoint: () => Listener;
  /** Stores a Subscription to the endpoint whose delivery is requested. */
  request(given?: Given): Promise<Subscribed>;
  /** The same with so many events that wait, each about an appointment of its own. */
  withEvents(count: number, given?: Given): Promise<Subscribed>;
  deliver(subscribed: Subscribed): Promise<void>;
  state(subscribed: Subscribed): Promise<State>;
  /** What the notifications say of their Subscriptions. */
  told(): Record<string, unknown>[];
  /** The numbers of the events that were sent. */
  numbers(): unknown[];
}

/** Starts an endpoint before the tests of a file, and stops it after them. */
export function withDeliveries(medplum: () => BotServer): Deliveries {
  let endpoint: Listener;
  beforeAll(async () => {
    endpoint = await listen();
  });
  beforeEach(() => {
    endpoint.reply = 200;
    endpoint.received.length = 0;
  });
  afterAll(() => endpoint.close());

  let owners = 0;
  const request: Deliveries['request'] = ({ outbox = {}, changes = {}, ...given } = {}) => {
    owners += 1;
    return subscribe(medplum(), {
      owner: `owner-${owners}`,
      ...given,
      outbox: { status: 'ready', ...outbox },
      changes: { channel: channelTo(endpoint.url), ...changes },
    });
  };
  const notified = () => endpoint.received.map(({ bundle }) => statusIn(bundle));

  return {
    endpoint: () => endpoint,
    request,
    async withEvents(count, given = {}) {
      const first = (given.outbox?.delivered ?? 0) + 1;
      const subscribed = await request({ ...given, outbox: { events: first + count - 1, ...given.outbox } });
      for (let number = first; number < first + count; number++) {
        await addEvents(medplum(), subscribed, eventAbout(await anAppointment(medplum()), number));
      }
      return subscribed;
    },
    deliver: ({ task }) => deliverPending(medplum().medplum, task.groupIdentifier?.value ?? ''),
    state: (subscribed) => stateOf(medplum(), subscribed),
    told: notified,
    numbers: () =>
      notified().map(
        (status) => (status['notification-event'] as Record<string, unknown> | undefined)?.['event-number'],
      ),
  };
}
