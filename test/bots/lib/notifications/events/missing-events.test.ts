import '../../../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment, Communication, Patient } from '@medplum/fhirtypes';
import { knownEvents, missingEvents } from '../../../../../bots/lib/notifications/events/event-state.ts';
import type { SubscriptionOutbox } from '../../../../../bots/lib/notifications/outbox-store.ts';
import { portal } from '../../../../core/notifications/support.ts';
import { withMedplum } from '../../../medplum.ts';
import { anAppointment, eventFor, filteredBy, forgetOutboxes, stateFor, subscribe } from './fixtures.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

const read = (...appointments: readonly Appointment[]) => stateFor(medplum(), ...appointments);

describe('the events that a Subscription lacks', () => {
  it('are those of changes that it does not have yet; the known ones are its own', async () => {
    const [stored, other] = [await subscribe(medplum(), { outbox: { events: 1 } }), await subscribe(medplum())];
    const first = await anAppointment(medplum());
    const second = await medplum().change(first, { comment: 'Later' });
    await medplum().create(eventFor(first, stored));
    const state = await read(first);
    expect(knownEvents(state, stored.subscription.id).map(({ version }) => version)).toEqual([first.meta.versionId]);
    expect(knownEvents(state, other.subscription.id)).toEqual([]);
    const missing = (one: SubscriptionOutbox) =>
      missingEvents(state, one, () => true).map(({ number, version }) => `${number} ${version}`);
    expect(missing(stored)).toEqual([`2 ${second.meta?.versionId}`]);
    expect(missing(other)).toEqual([`1 ${first.meta.versionId}`, `2 ${second.meta?.versionId}`]);
  });

  it('are found though there are Communications that are no events', async () => {
    const stored = await subscribe(medplum());
    const { id } = stored.subscription;
    const first = await anAppointment(medplum());
    const other: Communication = { resourceType: 'Communication', status: 'completed' };
    const own = [{ reference: `Subscription/${id}` }];
    const events = [other, { ...other, partOf: [] }, { ...other, partOf: own }, eventFor(first, stored)];
    const known = knownEvents({ ...(await read(first)), events }, id);
    expect(known.map(({ version }) => version)).toEqual([first.meta.versionId]);
  });

  it('are not those of changes that its subscriber may not be told of', async () => {
    const stored = await subscribe(medplum());
    const first = await anAppointment(medplum());
    const second = await medplum().change(first, { comment: 'Later' });
    const missing = missingEvents(await read(first), stored, ({ previous }) => previous !== undefined);
    expect(missing.map(({ number, version }) => `${number} ${version}`)).toEqual([`1 ${second.meta?.versionId}`]);
  });

  const DAY = 24 * 60 * 60_000;

  it.each<[string, number, object]>([
    ['is active', 1, {}],
    ['is in error', 1, { more: { status: 'error' } }],
    ['has ended', 0, { more: { status: 'off' } }],
    ['cannot be read any more', 0, { more: { criteria: 'https://elsewhere.example/topic' } }],
    ['began to listen later', 0, { outbox: { since: Date.now() + DAY } }],
  ])('if it %s: %d', async (_, count, given) => {
    const stored = await subscribe(medplum(), given);
    const state = await read(await anAppointment(medplum()));
    expect(missingEvents(state, stored, () => true)).toHaveLength(count);
  });

  it('are not those of its own changes', async () => {
    const { clientId } = medplum().sandbox;
    const [own, foreign] = [
      await subscribe(medplum(), { owner: clientId }),
      await subscribe(medplum(), { owner: portal }),
    ];
    const state = await read(await anAppointment(medplum()));
    expect([own, foreign].map((stored) => missingEvents(state, stored, () => true).length)).toEqual([0, 1]);
  });

  it('are those of a patient who was merged into the one whom the appointment names', async () => {
    const survivor = await medplum().create<Patient>({ resourceType: 'Patient' });
    const link = [{ type: 'replaced-by' as const, other: { reference: `Patient/${survivor.id}` } }];
    const merged = await medplum().create<Patient>({ resourceType: 'Patient', link });
    const stored = await subscribe(medplum(), { more: filteredBy(`Appointment?patient=Patient/${merged.id}`) });
    const actor = { reference: `Patient/${survivor.id}` };
    const state = await read(await anAppointment(medplum(), { participant: [{ actor, status: 'accepted' }] }));
    expect(missingEvents(state, stored, () => true)).toHaveLength(1);
    expect(missingEvents({ ...state, merged: [] }, stored, () => true)).toHaveLength(0);
  });
});
