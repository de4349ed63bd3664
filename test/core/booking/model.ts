/**
 * A model of the service for tests: the rules, a store with versions, and clients that read and write in steps which
 * anything may come between. Stores are never changed, every write gives a new one.
 */
import type { Appointment, Bundle, BundleEntry, Resource, Slot } from '@medplum/fhirtypes';
import type { Knowledge } from '../../../core/booking/book/knowledge.ts';
import { planBooking } from '../../../core/booking/book/plan.ts';
import { parseBookRequest } from '../../../core/booking/book/request/request.ts';
import { findResource, type ResourceSet, resourceSet, resourcesOfType } from '../../../core/booking/resource-set.ts';
import { fragmentsIn } from '../../../core/booking/slots/reads.ts';
import { slotEntries } from '../../../core/booking/slots/synchronize.ts';
import { updateEntry } from '../../../core/fhir/resource.ts';
import { calendarOf, slotIdsOf } from '../../../core/slots/slot.ts';
import { config, now, requestor, unchanged } from './support.ts';

/** What a client wants: to book, move or replace (a body of `$book`), or to cancel an appointment. */
export type Wish = { readonly book: unknown } | { readonly cancel: string };

/** What a client has decided after reading: to write something, or that there is nothing to do. */
export type Decision = { readonly write: Bundle } | { readonly end: 'existing' | 'refused' };

let ids = 0;
const newId = (): string => `urn:uuid:new-${++ids}`;

/** What `fragmentReads` finds: the fragments of some slots, by default of all, and the appointments on them. */
function readFragments(store: ResourceSet, rewritten: readonly string[], origins?: readonly string[]) {
  const slots = [...calendarOf(resourcesOfType(store, 'Slot'), config).values()].filter(({ origin }) =>
    (origins ?? [origin]).includes(origin),
  );
  const on = new Set(slots.map(({ id }) => id));
  const appointments = resourcesOfType(store, 'Appointment').filter((one) => slotIdsOf(one).some((id) => on.has(id)));
  return fragmentsIn(resourceSet([...slots.map(({ resource }) => resource), ...appointments]), rewritten);
}

/** What `bookingReads` finds for a request: what it names, and what that refers to. */
function readFor(store: ResourceSet, { id, identifier, slot = [] }: Appointment, more: readonly string[]): ResourceSet {
  const appointments = resourcesOfType(store, 'Appointment').filter(
    (one) =>
      one.id === id ||
      more.includes(one.id ?? '') ||
      one.identifier?.some(({ value }) => value === identifier?.[0]?.value),
  );
  const named = new Set([
    ...slot.map(({ reference }) => reference),
    ...appointments.flatMap((one) => (one.slot ?? []).map(({ reference }) => reference)),
  ]);
  const kept = [...store].filter(([key, { resourceType }]) =>
    resourceType === 'Slot' ? named.has(key) : resourceType !== 'Appointment',
  );
  return new Map([...kept, ...appointments.map((one) => [`Appointment/${one.id}`, one] as const)]);
}

function decideBooking(store: ResourceSet, body: unknown): Decision {
  const parsed = parseBookRequest(body, config);
  if (!parsed.request) {
    return { end: 'refused' };
  }
  const { appointment, replaced } = parsed.request;
  const state = readFor(
    store,
    appointment.value,
    replaced.map(({ value }) => value),
  );
  const context = { now, requestor, config, newId };
  const first = planBooking(parsed, state, context);
  const wanted = first.kind === 'read' ? first.wanted.fragments : undefined;
  const fragments = wanted && readFragments(store, wanted.rewritten, wanted.origins);
  const around = { slots: resourcesOfType(store, 'Slot') };
  const known: Knowledge = { fragments, around, role: 'requestor', histories: unchanged(state) };
  const plan = first.kind === 'read' ? planBooking(parsed, state, context, known) : first;
  if (plan.kind === 'read') {
    throw new Error(`The model does not read ${Object.keys(plan.wanted).join(', ')}.`);
  }
  return plan.kind === 'write'
    ? { write: plan.transaction }
    : { end: plan.kind === 'existing' ? 'existing' : 'refused' };
}

function decideCancellation(store: ResourceSet, id: string): Decision {
  const stored = findResource(store, 'Appointment', id);
  if (!stored || stored.status === 'cancelled') {
    return { end: 'refused' };
  }
  const changed: Appointment = { ...stored, status: 'cancelled' };
  const schedules = resourcesOfType(store, 'Schedule').map((one) => ({ schedule: one, services: [] }));
  const related = { ...readFragments(store, [id]), schedules, lost: [] };
  const slots = slotEntries(changed, related, config, newId, now);
  return {
    write: { resourceType: 'Bundle', type: 'transaction', entry: [updateEntry(stored, changed), ...slots] },
  };
}

/** Reads what a wish depends on, and asks the rules. */
export function decide(store: ResourceSet, wish: Wish): Decision {
  return 'book' in wish ? decideBooking(store, wish.book) : decideCancellation(store, wish.cancel);
}

function isCurrent(store: ResourceSet, { request }: BundleEntry): boolean {
  const version = request?.ifMatch && /^W\/"(.*)"$/.exec(request.ifMatch)?.[1];
  return !version || store.get(request?.url ?? '')?.meta?.versionId === version;
}

/**
 * Carries out a transaction as a whole.
 *
 * @returns the new store, or `undefined` (412) if one of the versions that the transaction relies on is outdated
 */
export function commit(store: ResourceSet, { entry = [] }: Bundle): ResourceSet | undefined {
  if (!entry.every((one) => isCurrent(store, one))) {
    return undefined;
  }
  const placed = entry.map(({ request, fullUrl, resource }) => {
    const key = request?.method === 'POST' ? `${request.url}/new-${++ids}` : (request?.url ?? '');
    return { key, fullUrl, resource };
  });
  const references = new Map(placed.map(({ fullUrl, key }) => [fullUrl, key]));
  const written = placed.map(({ key, resource }) => {
    const text = JSON.stringify(resource).replace(/"(urn:uuid:[^"]+)"/g, (whole, urn) =>
      references.has(urn) ? `"${references.get(urn)}"` : whole,
    );
    const stored: Resource = JSON.parse(
      text.replace(/Slot\/(urn:uuid:[^"]+)/g, (_, urn) => references.get(urn) ?? urn),
    );
    const id = key.slice(key.indexOf('/') + 1);
    return [key, { ...stored, id, meta: { ...stored.meta, versionId: `v${++ids}` } }] as const;
  });
  return new Map([...store, ...written]);
}

/** Free and taken minutes of all slots that are valid. */
export function minutesOf(store: ResourceSet): number {
  return resourcesOfType(store, 'Slot')
    .filter(({ status }) => status !== 'entered-in-error')
    .reduce((sum, { start, end }: Slot) => sum + (Date.parse(end) - Date.parse(start)) / 60_000, 0);
}
