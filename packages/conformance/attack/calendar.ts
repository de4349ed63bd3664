import type { Appointment, Slot } from '@medplum/fhirtypes';
import { type Client, entriesOf } from '../client.ts';
import { isObject, isResource } from '../resource.ts';
import { type Data, fillRequest } from '../template.ts';
import type { Adapter } from './adapters.ts';
import type { Period, Terms } from './history.ts';
import type { World } from './network.ts';
import type { Due } from './notified.ts';

/** A Schedule that is attacked. */
export interface Ground {
  readonly title: string;
  readonly terms: Terms;
  /** Values of placeholders: `schedule`, `from`, `to` and others that adapters use. */
  readonly data: Data;
  readonly times: readonly Period[];
  /** Required numbers of notifications, by appointment. */
  readonly due: Map<string, Due>;
}

/** A bookable item: a free Slot or a proposed Appointment. */
export interface BookableItem extends Period {
  readonly resource: Slot | Appointment;
  /** Time of the search; the item was bookable after it. */
  readonly found: number;
}

export const instant = (time: number): string => new Date(time).toISOString();

/** The Appointment of a response, which may be wrapped in a Bundle. */
export function appointmentIn(answered: unknown): (Appointment & { readonly id: string }) | undefined {
  if (isResource(answered, 'Bundle')) {
    return answered.entry?.map(({ resource }) => appointmentIn(resource)).find((one) => one !== undefined);
  }
  return isResource(answered, 'Appointment') && answered.id !== undefined
    ? { ...answered, id: answered.id }
    : undefined;
}

const MAX = 4_000;

/** @throws Error if the response is not a Bundle, or there are too many pages */
async function resourcesOf(client: Client, request: string, data: Data): Promise<readonly unknown[]> {
  const { path } = fillRequest(`GET ${request}`, data);
  const found = await entriesOf(client, path, MAX);
  if ('status' in found || found.isCut) {
    throw new Error(
      `GET ${path}: ${'status' in found ? `${found.status} ${found.text.slice(0, 200)}` : 'too many pages'}`,
    );
  }
  return found.entries.map(({ resource }) => resource);
}

interface Finder {
  readonly client: Client;
  readonly adapter: Adapter;
}

/** Searches the bookable items of a Schedule. */
export async function bookableItemsIn(
  { client, adapter }: Finder,
  { data }: Pick<Ground, 'data'>,
  { now }: Pick<World, 'now'>,
): Promise<readonly BookableItem[]> {
  const asked = now();
  const resources = await resourcesOf(client, adapter.find, data);
  return resources.flatMap((resource) =>
    (isResource(resource, 'Slot') && resource.status === 'free') ||
    (isResource(resource, 'Appointment') && resource.status === 'proposed')
      ? [{ resource, found: asked, ...timeOf(resource) }]
      : [],
  );
}

export async function appointmentsOf(
  client: Client,
  patient: string,
): Promise<readonly (Appointment & { id: string })[]> {
  const resources = await resourcesOf(client, '/Appointment?patient={patient}&_count=200', { patient });
  return resources.flatMap((resource) => appointmentIn(resource) ?? []);
}

/** Searches the blocks of a Schedule; `comment` is the mark of the request. */
export async function blocksIn(client: Client, { data }: Ground): Promise<readonly { id: string; comment: string }[]> {
  const resources = await resourcesOf(client, '/Slot?schedule={schedule}&status=busy-unavailable&_count=200', data);
  return resources.flatMap((one) =>
    isObject(one) && typeof one.id === 'string' && typeof one.comment === 'string'
      ? [{ id: one.id, comment: one.comment }]
      : [],
  );
}

export const timeOf = ({ start, end }: Pick<Appointment, 'start' | 'end'>): Period => ({
  start: Date.parse(start ?? ''),
  end: Date.parse(end ?? ''),
});

/** `09:00–09:30`, in UTC. */
export const inWords = ({ start, end }: Period): string =>
  `${instant(start).slice(11, 16)}–${instant(end).slice(11, 16)}`;
