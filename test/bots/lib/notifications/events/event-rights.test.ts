import '../../../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { mayBeTold, rightsOf } from '../../../../../bots/lib/notifications/events/event-rights.ts';
import type { EventState } from '../../../../../bots/lib/notifications/events/event-state.ts';
import { requestorTag } from '../../../../../core/fhir/tags.ts';
import { eventResource } from '../../../../../core/notifications/events/event.ts';
import { config } from '../../../config.ts';
import { withMedplum } from '../../../medplum.ts';
import { anAppointment, forgetOutboxes, subscribe } from './fixtures.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

const booked = 'Appointment?status=booked';
const cancelled = 'Appointment?status=cancelled';
let owners = 0;
const listening = (...readable: readonly string[]) => {
  owners += 1;
  return subscribe(medplum(), { owner: `owner-${owners}`, row: { readable } });
};

describe('the rights of subscribers', () => {
  it('are those by which Medplum finds the appointments now: one of the criteria must be met', async () => {
    const [one, both, none] = [await listening(booked), await listening(booked, cancelled), await listening()];
    const [open, over, fulfilled] = [
      await anAppointment(medplum()),
      await anAppointment(medplum(), { status: 'cancelled' }),
      await anAppointment(medplum(), { status: 'fulfilled' }),
    ];
    const ids = [open.id, over.id, fulfilled.id];
    const mayRead = await rightsOf(medplum().medplum)([one, both, none], ids);
    expect([one, both, none].map((stored) => ids.map((id) => mayRead(stored, id)))).toEqual([
      [true, false, false],
      [true, true, false],
      [false, false, false],
    ]);
    expect(mayRead(one, 'unknown')).toBe(false);
  });
});

describe('a change of an appointment that was deleted', () => {
  const { system } = requestorTag('', config);
  const current: Appointment = {
    resourceType: 'Appointment',
    id: 'a1',
    status: 'booked',
    participant: [],
    meta: { tag: [requestorTag('portal', config)] },
  };
  const change = { previous: undefined, current, by: undefined };
  const event = { number: 1, timestamp: '2027-01-01T00:00:00Z', version: 'v1', kind: 'update' as const };
  const state: EventState = { outboxes: [], changes: [], events: [], gone: new Set(['a1']), merged: [] };
  const never = () => {
    throw new Error('Medplum no longer answers for it.');
  };

  it.each([
    ['who may read all', true, 'Appointment'],
    ['who may read those with its tag', true, `Appointment?_tag=${system}|portal`],
    ['who may read those with another tag', false, `Appointment?_tag=${system}|other`],
    ['whose rights cannot be told from it', false, booked],
  ])('is told to a subscriber %s: %p', async (_, expected, readable) => {
    expect(mayBeTold(state, await listening(readable), change, never)).toBe(expected);
  });

  it.each([
    ['of it', 'a1', true],
    ['of others', 'a2', false],
  ])(
    'is told, if rights cannot be told from it, to a subscriber who was told %s before',
    async (_, appointment, told) => {
      const stored = await listening(booked);
      const known = eventResource({ ...event, appointment }, new Map([[stored.subscription.id, 1]]), config);
      expect(mayBeTold({ ...state, events: [known] }, stored, change, never)).toBe(told);
    },
  );

  it('is not told to a subscriber because another one was told of it', async () => {
    const [stored, other] = [await listening(booked), await listening(booked)];
    const known = eventResource({ ...event, appointment: 'a1' }, new Map([[other.subscription.id, 1]]), config);
    expect(mayBeTold({ ...state, events: [known] }, stored, change, never)).toBe(false);
  });

  it.each([true, false])('if it is still there is told by the rights of now: %p', async (may) => {
    const stored = await listening('Appointment');
    const asked: unknown[] = [];
    const mayRead = (...given: readonly unknown[]) => {
      asked.push(given);
      return may;
    };
    expect(mayBeTold({ ...state, gone: new Set(['a2']) }, stored, change, mayRead)).toBe(may);
  });
});
