import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { AccessPolicy, Appointment } from '@medplum/fhirtypes';
import { handler } from '../../../bots/notifications/subscription-operations.ts';
import { portal } from '../../core/notifications/support.ts';
import { addEvents, anAppointment, eventAbout, type Subscribed, subscribe } from '../lib/notifications/outboxes.ts';
import { withMedplum } from '../medplum.ts';
import { administrator, type Caller, eventOf, seeingThoseOf, statesIn, type Told } from './callers.ts';

const medplum = withMedplum();

const reader = (): Promise<Caller> => medplum().addClient('Reader');

const call = (caller: Caller, input: unknown) => handler(medplum().medplum, eventOf(caller, input));

afterEach(() => medplum().clear(['Task']));

describe('$status', () => {
  it('of one that was deleted is gone, and everything else', async () => {
    const { subscription } = await subscribe(medplum());
    await medplum().fhir('DELETE', `${subscription.resourceType}/${subscription.id}`);
    for (const operation of ['status', 'events', 'binding', 'deliver']) {
      expect(await call(administrator, { operation, id: subscription.id })).toMatchObject({ id: 'gone' });
    }
  });
});

const seeing = (owner: string, more?: AccessPolicy['resource']) => seeingThoseOf(medplum(), owner, more);

describe('$events', () => {
  const events = (caller: Caller, { id }: Subscribed, input: object = {}) =>
    call(caller, { operation: 'events', id, ...input });

  const numbersIn = (answer: Told) => {
    const [first] = answer.resourceType === 'Bundle' ? (answer.entry ?? []) : [];
    const state = first?.resource;
    const parameters = state?.resourceType === 'Parameters' ? (state.parameter ?? []) : [];
    return parameters.flatMap(({ name, part }) =>
      name === 'notification-event'
        ? Number(part?.find((parameter) => parameter.name === 'event-number')?.valueString)
        : [],
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
    await addEvents(medplum(), stored, ...kept.map((number) => eventAbout(appointment, number)));
    return stored;
  }

  it('are told with those that are no longer kept', async () => {
    const stored = await told(await anAppointment(medplum()), 5, [2, 5]);
    const response = await events(administrator, stored);
    expect(numbersIn(response)).toEqual([2, 5]);
    expect(statesIn(response)[0]?.error).toMatch(/^The events 1, 3–4 are no longer kept/);
  });

  it('are told in full as far as there is room, and where the rest is', async () => {
    const appointment = await anAppointment(medplum(), { comment: 'x'.repeat(300_000) });
    const stored = await told(appointment, 8, [1, 2, 3, 4, 5, 6, 7, 8]);
    const pages: number[][] = [];
    let input: object = { content: 'full-resource' };
    for (;;) {
      const response = await events(administrator, stored, input);
      expect(JSON.stringify(response).length).toBeLessThan(1_100_000);
      expect(appointmentsIn(response)).toHaveLength(numbersIn(response).length);
      pages.push(numbersIn(response));
      const [next] = response.resourceType === 'Bundle' ? (response.link ?? []) : [];
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

  it('tell only of appointments that the caller may read now', async () => {
    const appointment = await anAppointment(medplum());
    const stored = await told(appointment, 2, [1, 2]);
    const [none, all] = [
      await seeing(portal, [{ resourceType: 'Appointment', criteria: 'Appointment?status=noshow' }]),
      await reader(),
    ];
    const blind = await events(none, stored);
    expect([numbersIn(blind), appointmentsIn(blind)]).toEqual([[1, 2], []]);
    expect(appointmentsIn(await events(all, stored))).toHaveLength(2);
  });
});
