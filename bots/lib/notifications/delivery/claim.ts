import { randomUUID } from 'node:crypto';
import { clearTimeout, setTimeout } from 'node:timers';
import { setTimeout as wait } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import type { Subscription } from '@medplum/fhirtypes';
import {
  abandoned,
  claimed,
  ended,
  followed,
  isDue,
  isFree,
  released,
  withStatus,
} from '../../../../core/notifications/delivery/delivery-state.ts';
import type { Outbox, Outboxes } from '../../../../core/notifications/delivery/outbox.ts';
import {
  type OutboxUpdate,
  readSubscribers,
  type SubscriberState,
  type SubscriptionOutbox,
  writeOutboxes,
} from '../outbox-store.ts';

/** How often a write is tried when new events are recorded at the same time. */
const ATTEMPTS = 50;

/** After how many milliseconds at the latest progress is written. */
const SAVED_EVERY = 1_000;

/** Decides an update from the current outbox and its Subscription. */
export type Decide = (stored: SubscriptionOutbox) => Omit<OutboxUpdate, 'stored'>;

export interface Claim {
  readonly medplum: MedplumClient;
  readonly subscriptions: () => readonly SubscriptionOutbox[];
  readonly current: (id: string) => SubscriptionOutbox | undefined;
  /** Records progress in memory; it is written within a second. */
  readonly note: (id: string, decide: Decide) => void;
  /** Reads what others have written meanwhile: new events, new Subscriptions. */
  readonly refresh: () => Promise<void>;
  /** Whether another delivery has taken the outboxes over, or they were given back or could not be written. */
  readonly isLost: () => boolean;
  /** Writes the recorded progress, and releases the outboxes. */
  readonly release: () => Promise<void>;
}

export const changeOutbox =
  (change: (outbox: Outbox) => Outbox): Decide =>
  ({ outbox }) => ({ outbox: change(outbox) });

/** An update that gives the Subscription another status too; one that was switched off meanwhile stays so. */
export const changeStatus =
  (change: (outbox: Outbox) => Outbox, status: Subscription['status'], error?: string): Decide =>
  ({ subscription, outbox }) => ({
    outbox: change(outbox),
    ...(subscription.status !== 'off' && { subscription: withStatus(subscription, status, error) }),
  });

export const giveUp = (error: string): Decide => changeStatus((outbox) => abandoned(outbox, error), 'error', error);

/** Whether a Subscription has something to send now, or its outbox must follow a change of it. */
export const isWaiting = ({ subscription, outbox }: SubscriptionOutbox): boolean =>
  outbox.status === 'ready' || isDue(outbox, Date.now()) || followed(subscription, outbox, Date.now()) !== undefined;

/** The outboxes of Subscriptions that were deleted are over. */
function withoutDeleted(outboxes: Outboxes, subscriptions: readonly SubscriptionOutbox[]): Outboxes {
  const existing = new Set(subscriptions.map(({ subscription }) => subscription.id));
  const of = [...outboxes.of].map(([id, one]): [string, Outbox] => [id, existing.has(id) ? one : ended(one)]);
  return { ...outboxes, of: new Map(of) };
}

interface Noted {
  readonly id: string;
  readonly decide: Decide;
}

const idOf = ({ subscription }: SubscriptionOutbox): string => subscription.id;

/** Combines the decisions of each Subscription into one update; deleted Subscriptions have none. */
function updatesOf(subscriptions: readonly SubscriptionOutbox[], noted: readonly Noted[]): Map<string, OutboxUpdate> {
  const updates = new Map<string, OutboxUpdate>();
  const known = new Map(subscriptions.map((outbox) => [idOf(outbox), outbox]));
  for (const { id, decide } of noted) {
    const stored = known.get(id);
    if (stored) {
      const before = updates.get(id);
      updates.set(id, { ...before, stored, ...decide(before ? applied(before) : stored) });
    }
  }
  return updates;
}

const applied = ({ stored, outbox, subscription = stored.subscription }: OutboxUpdate): SubscriptionOutbox => ({
  ...stored,
  outbox,
  subscription: { ...subscription, id: stored.subscription.id },
});

const merged = (before: SubscriberState, { row, subscriptions }: SubscriberState): SubscriberState => {
  const written = new Map(subscriptions.map((outbox) => [idOf(outbox), outbox]));
  return { row, subscriptions: before.subscriptions.map((outbox) => written.get(idOf(outbox)) ?? { ...outbox, row }) };
};

/** A claim in memory: `shown` is the stored state with the progress that is not written yet. */
function createClaim(medplum: MedplumClient, lease: string, first: SubscriberState): Claim {
  let state = first;
  let shown = new Map(first.subscriptions.map((outbox) => [idOf(outbox), outbox]));
  let isLost = false;
  let saving = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const noted: Noted[] = [];
  const show = (): void => {
    const updates = updatesOf(state.subscriptions, noted);
    shown = new Map(
      state.subscriptions.map((outbox) => {
        const update = updates.get(idOf(outbox));
        return [idOf(outbox), update ? applied(update) : outbox];
      }),
    );
  };
  const read = async (): Promise<void> => {
    const [now] = await readSubscribers(medplum, [state.row.outboxes.subscriber]);
    state = now ?? state;
    isLost ||= now?.row.outboxes.lease?.id !== lease;
    show();
  };
  const write = async (change: (outboxes: Outboxes) => Outboxes): Promise<void> => {
    const count = noted.length;
    for (let attempt = 1; attempt <= ATTEMPTS && !isLost; attempt++) {
      const updates = updatesOf(state.subscriptions, noted.slice(0, count));
      const written = await writeOutboxes(medplum, state.row, [...updates.values()], {
        change: (outboxes) => change(withoutDeleted(outboxes, state.subscriptions)),
      });
      if (written !== 'overtaken') {
        state = merged(state, written);
        noted.splice(0, count);
        show();
        return;
      }
      await wait(Math.random() * 10);
      await read();
    }
    isLost = true;
  };
  /** Runs reads and writes one after the other; a failure ends the claim. */
  const inTurn = (act: () => Promise<void>): Promise<void> => {
    const done = saving.then(act);
    saving = done.catch(() => {
      isLost = true;
    });
    return done;
  };
  const save = (change: (outboxes: Outboxes) => Outboxes): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    return inTurn(() => write(change));
  };
  return {
    medplum,
    subscriptions: () => [...shown.values()],
    current: (id) => shown.get(id),
    note: (id, decide) => {
      noted.push({ id, decide });
      const stored = shown.get(id);
      if (stored) {
        shown.set(id, applied({ stored, ...decide(stored) }));
      }
      timer ??= setTimeout(
        () => void save((outboxes) => claimed(outboxes, lease, Date.now())).catch(() => undefined),
        SAVED_EVERY,
      );
    },
    refresh: () => inTurn(read),
    isLost: () => isLost,
    release: async () => {
      await save(released);
      isLost = true;
    },
  };
}

/**
 * Claims the outboxes of a subscriber for a delivery.
 * @param subscriber - id of the profile
 * @returns the claim; `undefined` if another delivery has them, or there is nothing to deliver
 */
export async function claimOutboxes(medplum: MedplumClient, subscriber: string): Promise<Claim | undefined> {
  const lease = randomUUID();
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const [state] = await readSubscribers(medplum, [subscriber]);
    if (!state || !isFree(state.row.outboxes, Date.now()) || !state.subscriptions.some(isWaiting)) {
      return undefined;
    }
    const written = await writeOutboxes(medplum, state.row, [], {
      change: (outboxes) => claimed(outboxes, lease, Date.now()),
    });
    if (written !== 'overtaken') {
      return createClaim(medplum, lease, merged(state, written));
    }
    await wait(Math.random() * 10);
  }
  return undefined;
}
