/**
 * Holds under an injected clock, against a model of what callers expect; and the limits that are counted, with clients
 * that read and write in any order.
 */

import { describe, expect, it } from '@jest/globals';
import type { Appointment, Bundle, Resource, Schedule, Task } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { DEFAULT_HOLD, hasEnded, isHolding } from '../../../../core/booking/appointment/expiry.ts';
import type { Knowledge } from '../../../../core/booking/book/knowledge.ts';
import { planBooking } from '../../../../core/booking/book/plan.ts';
import { parseBookRequest } from '../../../../core/booking/book/request/request.ts';
import { type Quota, quotaKey, quotaRow, type Usage } from '../../../../core/booking/policy/quota.ts';
import { type ResourceSet, resourcesOfType } from '../../../../core/booking/resource-set.ts';
import { fragmentsIn } from '../../../../core/booking/slots/reads.ts';
import { slotEntries } from '../../../../core/booking/slots/synchronize.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { updateEntry } from '../../../../core/fhir/resource.ts';
import { belongsTo, requestorTag } from '../../../../core/fhir/tags.ts';
import { slotIdsOf } from '../../../../core/slots/slot.ts';
import { commit } from '../model.ts';
import { appointment, config, now, patient, schedule, slot } from '../support.ts';

const settings = { ...config, holds: { maxPerRequestor: 2 } };

type Operation = 'book' | 'hold';

let ids = 0;
const newId = (): string => `urn:uuid:new-${++ids}`;

function readFragments(store: ResourceSet, rewritten: readonly string[], at: number) {
  return {
    ...fragmentsIn(store, rewritten, (one) => hasEnded(one, at, settings)),
    origins: resourcesOfType(store, 'Slot').flatMap(({ id }) => id ?? []),
  };
}

/** The row of a quota, and what its search finds, as one transaction reads them. */
function usageOf(store: ResourceSet, quota: Quota, requestor: string): readonly [string, Usage] {
  const id = `row-${quota.row.replaceAll('/', '-')}`;
  const row = resourcesOfType(store, 'Task').find((task) => task.id === id);
  const statuses = quota.query.find(([name]) => name === 'status')?.[1].split(',') ?? [];
  const found = [...store].filter(
    ([, one]) =>
      one.resourceType !== 'Appointment' || (belongsTo(one, requestor, settings) && statuses.includes(one.status)),
  );
  return [quotaKey(quota), { row: row ?? { ...quotaRow(quota, settings), id }, found: new Map(found) }];
}

/** What a caller decides after reading the store as it is at a moment: a transaction, or `undefined` for a refusal. */
function decide(store: ResourceSet, body: Appointment, requestor: string, operation: Operation, at: number) {
  const parsed = parseBookRequest(body, settings, operation);
  const visible = [...store].filter(
    ([, one]) => one.resourceType !== 'Appointment' || belongsTo(one, requestor, settings),
  );
  const named = visible.filter(([key, one]) => one.resourceType !== 'Appointment' || key === `Appointment/${body.id}`);
  const context = { now: at, requestor, config: settings, newId, purpose: operation };
  let known: Knowledge = { role: 'requestor' };
  for (let round = 0; round < 6; round++) {
    const plan = planBooking(parsed, new Map(named), context, known);
    if (plan.kind !== 'read') {
      return plan.kind === 'write' ? plan.transaction : undefined;
    }
    const { fragments, around, usage, histories, services, patients } = plan.wanted;
    known = {
      ...known,
      ...(fragments && { fragments: readFragments(store, fragments.rewritten, at) }),
      ...(around && { around: { slots: resourcesOfType(store, 'Slot') } }),
      ...(usage && { usage: new Map(usage.map((quota) => usageOf(store, quota, requestor))) }),
      ...(histories && { histories: { versions: new Map(histories.map((id) => [id, []])), slots: [] } }),
      ...(services && { services: new Map() }),
      ...(patients && { patients: new Map() }),
    };
  }
  throw new Error('The rules ask for more and more.');
}

function cancel(store: ResourceSet, stored: Appointment, at: number): Bundle {
  const changed: Appointment = { ...stored, status: 'cancelled' };
  const related = { ...readFragments(store, [stored.id ?? ''], at), schedules: [], lost: [] };
  const entry = [updateEntry(stored, changed), ...slotEntries(changed, related, settings, newId, at)];
  return { resourceType: 'Bundle', type: 'transaction', entry };
}

/** The row of a quota as it is stored before anybody has used it up. */
const storedRow = (row: string): Task => ({
  ...quotaRow({ row }, settings),
  id: `row-${row.replaceAll('/', '-')}`,
  meta: { versionId: 'first' },
});

const portals = ['portal-a', 'portal-b'] as const;
type Portal = (typeof portals)[number];

const newStore = (...resources: Resource[]): ResourceSet =>
  new Map(resources.map((one) => [`${one.resourceType}/${one.id}`, one]));

const wish = (slotId: string, start: string, end: string, id?: string): Appointment =>
  appointment({ ...(id && { id }), slot: [{ reference: `Slot/${slotId}` }], start, end });

const madeBy = (transaction: Bundle, before: ResourceSet, after: ResourceSet): string => {
  const [first] = transaction.entry ?? [];
  const named = first?.request?.method === 'PUT' ? first.request.url.split('/')[1] : undefined;
  return named ?? resourcesOfType(after, 'Appointment').find((one) => !before.has(`Appointment/${one.id}`))?.id ?? '';
};

/** What a caller expects of one slot: who has it, by which appointment, and until when it is only held. */
interface Expected {
  readonly by: Portal;
  readonly id: string;
  /** Absent once it is booked. */
  readonly until?: number;
  readonly isProlonged?: boolean;
}

const isThere = (expected: Expected | undefined, at: number): boolean =>
  expected !== undefined && (expected.until === undefined || at < expected.until);

const command = fc.record({
  what: fc.constantFrom('hold', 'again', 'book', 'bookNew', 'cancel', 'wait', 'wait'),
  who: fc.constantFrom(...portals),
  minutes: fc.integer({ min: 1, max: 12 }),
});

describe('a hold, with the clock in hand', () => {
  it('is held, prolonged once, booked, given back or over exactly as its caller expects', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 25, size: 'max' }), (commands) => {
        const nine = slot('nine', '09:00', '09:30');
        const rows = portals.map((who) => storedRow(`${who}/holds`));
        let store = newStore(schedule, patient, nine, ...rows);
        let at = now;
        let expected: Expected | undefined;
        const last = new Map<Portal, { readonly id: string; readonly isGivenBack: boolean }>();
        const send = (who: Portal, operation: Operation, id?: string): string | undefined => {
          const transaction = decide(store, wish('nine', nine.start, nine.end, id), who, operation, at);
          const after = transaction && commit(store, transaction);
          if (!transaction || !after) {
            return undefined;
          }
          const made = madeBy(transaction, store, after);
          store = after;
          return made;
        };
        for (const { what, who, minutes } of commands) {
          const mine = last.get(who);
          const isMine = expected !== undefined && mine?.id === expected.id;
          const isFree = !isThere(expected, at);
          if (what === 'wait') {
            at += minutes * 60_000;
          }
          if (what === 'hold' || what === 'bookNew') {
            const made = send(who, what === 'hold' ? 'hold' : 'book');
            expect(made !== undefined).toBe(isFree);
            if (made) {
              expected = { by: who, id: made, ...(what === 'hold' && { until: at + DEFAULT_HOLD }) };
              last.set(who, { id: made, isGivenBack: false });
            }
          }
          if (what === 'again' && mine && !(isMine && expected?.until === undefined)) {
            const isProlonging = isMine && !isFree;
            const isPermitted = isProlonging ? expected?.isProlonged !== true : isFree && !mine.isGivenBack;
            const made = send(who, 'hold', mine.id);
            expect(made).toBe(isPermitted ? mine.id : undefined);
            if (made) {
              expected = { by: who, id: made, until: at + DEFAULT_HOLD, isProlonged: isProlonging };
            }
          }
          if (what === 'book' && mine && !(isMine && expected?.until === undefined)) {
            const made = send(who, 'book', mine.id);
            expect(made).toBe((isMine || isFree) && !mine.isGivenBack ? mine.id : undefined);
            if (made) {
              expected = { by: who, id: made };
            }
          }
          if (what === 'cancel' && isMine && expected) {
            const stored = store.get(`Appointment/${expected.id}`) as Appointment;
            if (stored.status !== 'cancelled') {
              store = commit(store, cancel(store, stored, at)) ?? store;
              last.set(who, { id: expected.id, isGivenBack: true });
              expected = undefined;
            }
          }
          const holders = resourcesOfType(store, 'Appointment').filter(
            (one) => isHolding(one, at, settings) || one.status === 'booked',
          );
          expect(holders.map(({ id }) => id)).toEqual(isThere(expected, at) ? [expected?.id] : []);
          expect(holders.flatMap(slotIdsOf)).toEqual(isThere(expected, at) ? ['nine'] : []);
        }
      }),
      { numRuns: 200 },
    );
  });
});

/** A client that has read and decided, and whose transaction is still to be carried out. */
interface Pending {
  readonly transaction: Bundle;
}

const step = fc.record({
  what: fc.constantFrom('hold', 'book', 'carry out', 'carry out', 'crash', 'cancel', 'wait'),
  which: fc.integer({ min: 0, max: 7 }),
});

const limited = (limit: number): Schedule => ({
  ...schedule,
  extension: [
    {
      url: artefactUri(settings, 'LocalBookingPolicy'),
      extension: [{ url: 'maxPerPortalAndDay', valuePositiveInt: limit }],
    },
  ],
});

describe('what is counted, whoever reads and writes in between', () => {
  it('never passes its limit, and is given back: holds, and bookings of a day', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), fc.integer({ min: 1, max: 3 }), (steps, limit) => {
        const who = 'portal-a';
        const slots = Array.from({ length: 8 }, (_, index) => slot(`s${index}`, `1${index}:00`, `1${index}:30`));
        const rows = [`${who}/holds`, `${who}/2027-01-04`].map(storedRow);
        let store = newStore(
          limited(limit),
          { ...patient, meta: { tag: [requestorTag(who, settings)] } },
          ...slots,
          ...rows,
        );
        let at = now;
        const pending: Pending[] = [];
        const held = () => resourcesOfType(store, 'Appointment').filter((one) => isHolding(one, at, settings));
        const booked = () => resourcesOfType(store, 'Appointment').filter(({ status }) => status === 'booked');
        for (const { what, which } of steps) {
          const wanted = slots[which];
          if ((what === 'hold' || what === 'book') && wanted) {
            const transaction = decide(store, wish(wanted.id ?? '', wanted.start, wanted.end), who, what, at);
            if (transaction) {
              pending.push({ transaction });
            }
          }
          const [next] =
            what === 'carry out' || what === 'crash' ? pending.splice(which % (pending.length || 1), 1) : [];
          if (next && what === 'carry out') {
            store = commit(store, next.transaction) ?? store;
          }
          const [one] = what === 'cancel' ? [...held(), ...booked()].slice(which) : [];
          if (one) {
            store = commit(store, cancel(store, one, at)) ?? store;
          }
          at += what === 'wait' ? 4 * 60_000 : 0;
          expect(held().length).toBeLessThanOrEqual(settings.holds.maxPerRequestor);
          expect(booked().length).toBeLessThanOrEqual(limit);
        }
        // Nothing is lost: what is not used up can be booked, and no more.
        for (let count = booked().length; count <= limit; count++) {
          const taken = new Set([...held(), ...booked()].flatMap(slotIdsOf));
          const free = slots.find(({ id }) => !taken.has(id ?? ''));
          const transaction = free && decide(store, wish(free.id ?? '', free.start, free.end), who, 'book', at);
          expect(transaction !== undefined).toBe(count < limit);
          store = (transaction && commit(store, transaction)) ?? store;
        }
      }),
      { numRuns: 60 },
    );
  });
});
