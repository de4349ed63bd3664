import type { MedplumClient } from '@medplum/core';
import type { BundleEntry } from '@medplum/fhirtypes';
import { couldRead } from '../../../core/booking/policy/caller-rights.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import type { EventContent } from '../../../core/notifications/events/bundle.ts';
import { type Event, eventOf, eventsQuery } from '../../../core/notifications/events/event.ts';
import { chunks } from '../../../core/rows/search.ts';
import { config } from '../config.ts';
import { type RequestOptions, sendBundle } from '../medplum.ts';
import { ofType, readInTransaction } from '../read.ts';

const CHUNK = 100;

export type EventNumber = readonly [subscription: string, number: number];

/**
 * Reads events by Subscriptions and numbers.
 * @returns the events that still exist, by their Subscriptions, in the order of their numbers
 */
export async function readEvents(
  medplum: MedplumClient,
  wanted: readonly EventNumber[],
): Promise<ReadonlyMap<string, readonly Event[]>> {
  const found = await readInTransaction(
    medplum,
    chunks(wanted, CHUNK).map((chunk) => eventsQuery(chunk, config)),
  );
  const stored = new Map(
    found
      .flatMap((resources) => ofType('Communication', resources))
      .map((communication) => [communication.id, communication]),
  );
  const numbers = new Map<string, Set<number>>();
  for (const [id, number] of wanted) {
    numbers.set(id, (numbers.get(id) ?? new Set()).add(number));
  }
  const eventsOf = (id: string, asked: ReadonlySet<number>): Event[] =>
    [...stored.values()]
      .flatMap((communication) => eventOf(communication, id, config) ?? [])
      .filter(({ number }) => asked.has(number))
      .sort((a, b) => a.number - b.number);
  return new Map([...numbers].map(([id, asked]) => [id, eventsOf(id, asked)]));
}

const isGood = ({ response }: BundleEntry): boolean => response?.status.startsWith('2') ?? false;

/** Whether a version was read, or is known to be removed; an unknown version is not sent. */
const isKnown = (entry: BundleEntry): boolean =>
  isGood(entry) || entry.response?.status === '404' || entry.response?.status === '410';

/** The response entries of URLs, read in one batch; `undefined` if any is missing. Without URLs, no request is sent. */
async function get(
  medplum: MedplumClient,
  urls: readonly string[],
  options?: RequestOptions,
): Promise<readonly BundleEntry[] | undefined> {
  if (urls.length === 0) {
    return [];
  }
  const entry = urls.map((url): BundleEntry => ({ request: { method: 'GET', url } }));
  const answer = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry }, options);
  const answers = answer.kind === 'done' ? answer.bundle.entry : undefined;
  return answers?.length === urls.length ? answers : undefined;
}

function idsIn({ resource }: BundleEntry): (string | undefined)[] {
  const entries = isResource(resource, 'Bundle') ? resource.entry : undefined;
  return entries?.map((entry) => entry.resource?.id) ?? [];
}

/**
 * Reads the contents of events: the version of each appointment, if it still exists and the subscriber may read it.
 * @param searches - searches that find the appointments that may be read
 * @param readable - criteria that decide which deleted appointments could be read
 * @param authorization - whose rights the searches use; by default the Bot's own
 */
export async function readContents(
  medplum: MedplumClient,
  events: readonly Event[],
  searches: readonly string[],
  readable: readonly string[],
  authorization?: string,
): Promise<EventContent[]> {
  if (events.length === 0) {
    return [];
  }
  const versions = events.map(({ appointment, version }) => `Appointment/${appointment}/_history/${version}`);
  const [stored, found] = await Promise.all([get(medplum, versions), get(medplum, searches, { authorization })]);
  if (!stored?.every(isKnown) || !found?.every(isGood)) {
    throw new Error('The appointments of the events could not be read.');
  }
  const mayBeRead = new Set(found.flatMap(idsIn));
  return events.map((event, index): EventContent => {
    const appointment: unknown = stored[index]?.resource;
    if (!isResource(appointment, 'Appointment')) {
      return { event };
    }
    const isNotified =
      event.kind === 'delete' ? couldRead(readable, appointment, true) : mayBeRead.has(event.appointment);
    return isNotified ? { event, appointment } : { event };
  });
}
