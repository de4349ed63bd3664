import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment, Communication, Subscription } from '@medplum/fhirtypes';
import type { SubscriptionOutbox } from '../../../bots/lib/notifications/outbox-store.ts';
import { handler } from '../../../bots/notifications/subscription-operations.ts';
import { eventResource } from '../../../core/notifications/events/event.ts';
import { config } from '../config.ts';
import { anAppointment, batch, forgetOutboxes, subscribe } from '../lib/notifications/events/fixtures.ts';
import { withMedplum } from '../medplum.ts';
import { administrator, type Caller, eventOf, type Told } from './callers.ts';

const medplum = withMedplum();

const call = (caller: Caller, input: unknown) => handler(medplum().medplum, eventOf(caller, input));

describe('subscription events', () => {
  afterEach(() => forgetOutboxes(medplum()));

  describe('$events', () => {
    const events = (caller: Caller, { subscription }: SubscriptionOutbox, input: object = {}) =>
      call(caller, { operation: 'events', id: subscription.id, ...input });

    const numbersIn = (answer: Told) => {
      const [first] = answer.resourceType === 'Bundle' ? (answer.entry ?? []) : [];
      const state = first?.resource;
      const parameters = state?.resourceType === 'Parameters' ? (state.parameter ?? []) : [];
      return parameters.flatMap(({ name, part }) =>
        name === 'notification-event' ? Number(part?.find((one) => one.name === 'event-number')?.valueString) : [],
      );
    };

    /** The versions of appointments in an answer: their addresses, and their content. */
    const appointmentsIn = (answer: Told) =>
      (answer.resourceType === 'Bundle' ? (answer.entry ?? []) : [])
        .slice(1)
        .map(({ fullUrl, resource }) => [fullUrl?.split('/').at(-1), resource?.resourceType]);

    /** A Subscription with events, all about one version of an appointment, of which some are kept. */
    async function told(appointment: Appointment, count: number, kept: readonly number[]) {
      const stored = await subscribe(medplum(), { outbox: { events: count } });
      const { id = '', meta } = appointment;
      const resources: Communication[] = kept.map((number) =>
        eventResource(
          {
            timestamp: meta?.lastUpdated ?? '',
            appointment: id,
            version: meta?.versionId ?? '',
            kind: 'update',
          },
          new Map([[stored.subscription.id, number]]),
          config,
        ),
      );
      await batch(
        medplum(),
        resources.map((resource) => ({ request: { method: 'POST', url: 'Communication' }, resource })),
      );
      return stored;
    }

    it('are a thousand at most', async () => {
      const kept = [5, 6, 1003, 1004, 1005];
      const stored = await told(await anAppointment(medplum()), 2000, kept);
      expect(numbersIn(await events(administrator, stored, { since: 5 }))).toEqual([5, 6, 1003, 1004]);
    });

    it('are told in full as far as there is room, and where the rest is', async () => {
      const appointment = await anAppointment(medplum(), { comment: 'x'.repeat(300_000) });
      const stored = await told(appointment, 8, [1, 2, 3, 4, 5, 6, 7, 8]);
      const pages: number[][] = [];
      let input: object = { content: 'full-resource' };
      for (;;) {
        const answer = await events(administrator, stored, input);
        expect(JSON.stringify(answer).length).toBeLessThan(1_100_000);
        expect(appointmentsIn(answer)).toHaveLength(numbersIn(answer).length);
        pages.push(numbersIn(answer));
        const [next] = answer.resourceType === 'Bundle' ? (answer.link ?? []) : [];
        if (!next) {
          break;
        }
        const { searchParams, pathname } = new URL(next.url);
        expect([next.relation, pathname]).toEqual(['next', `/fhir/R4/Subscription/${stored.subscription.id}/$events`]);
        const [since, until] = ['eventsSinceNumber', 'eventsUntilNumber'].map((name) => Number(searchParams.get(name)));
        input = { since, until, content: searchParams.get('content') };
      }
      expect(pages).toEqual([
        [1, 2, 3],
        [4, 5, 6],
        [7, 8],
      ]);
      expect(numbersIn(await events(administrator, stored, { content: 'id-only' }))).toHaveLength(8);
    });

    it('tell nothing of appointments if nobody can read any more what the Subscription asks for', async () => {
      const stored = await told(await anAppointment(medplum()), 1, [1]);
      const { subscription } = stored;
      await medplum().change<Subscription>(subscription, { channel: { type: 'rest-hook' } });
      const answer = await events(administrator, stored);
      expect([numbersIn(answer), appointmentsIn(answer)]).toEqual([[1], []]);
    });
  });
});
