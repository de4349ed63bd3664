import { randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bundle, Resource, Slot } from '@medplum/fhirtypes';
import { isResource } from '../../core/fhir/resource.ts';
import type { JournalEntry } from '../../packages/sandbox/storage/journal.ts';
import type { Installation } from './installation.ts';

/** Sends a resource. */
export async function post(url: string, token: string, body: unknown): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/fhir+json' },
    body: JSON.stringify(body),
  });
  const answer: unknown = await response.json();
  return { status: response.status, body: answer };
}

/**
 * The resource in the answer to `post`.
 *
 * @param what - what was to be created, for the message
 * @throws Error with the answer if it was refused
 */
export function created<T extends Resource>(answer: { status: number; body: unknown }, what: string): T {
  if (answer.status >= 300) {
    throw new Error(`${what} could not be created (${answer.status}): ${JSON.stringify(answer.body).slice(0, 300)}`);
  }
  return answer.body as T;
}

/** How many slots go into one batch. */
const BATCH = 200;

/**
 * Creates slots as clinic staff, and returns them as stored, in the same order.
 *
 * @throws Error if one was refused
 */
export async function createSlots({ medplum, tokens }: Installation, wanted: readonly Slot[]): Promise<Slot[]> {
  const stored: Slot[] = [];
  while (stored.length < wanted.length) {
    const part = wanted.slice(stored.length, stored.length + BATCH);
    const entry = part.map((resource) => ({ request: { method: 'POST' as const, url: 'Slot' }, resource }));
    const batch: Bundle = { resourceType: 'Bundle', type: 'batch', entry };
    const answer = created<Bundle>(await post(medplum, tokens.staff, batch), 'Slots');
    const slots = (answer.entry ?? []).flatMap(({ resource }) => (isResource(resource, 'Slot') ? [resource] : []));
    if (slots.length !== part.length) {
      throw new Error('Not all slots could be created.');
    }
    stored.push(...slots);
  }
  return stored;
}

/**
 * Writes slots into the data of an embedded Medplum that is stopped, as it would have stored them: nothing follows them.
 *
 * @param folder - in which it keeps its data; there must be a slot, which all are like
 */
export function storeSlots(folder: string, wanted: readonly Slot[]): void {
  const path = join(folder, 'journal.jsonl');
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  const writes = lines.flatMap((line) => (JSON.parse(line) as JournalEntry).writes ?? []);
  const like = writes.findLast(({ type, resource }) => type === 'Slot' && resource !== undefined);
  if (!like?.resource) {
    throw new Error(`${path} has no slot.`);
  }
  const { meta } = like.resource;
  const entries = wanted.map((slot) => {
    const id = randomUUID();
    return { ...like, id, resource: { ...slot, id, meta } };
  });
  for (let at = 0; at < entries.length; at += 1_000) {
    appendFileSync(path, `${JSON.stringify({ writes: entries.slice(at, at + 1_000) })}\n`);
  }
}
