import type { BundleEntry } from '@medplum/fhirtypes';
import type { Terms } from '../attack/history.ts';
import { type Client, entriesOf } from '../client.ts';
import { isObject, isResource } from '../resource.ts';
import { local, type Version } from './audit.ts';

interface Reading {
  readonly client: Client;
  /** FHIR dates; optional. */
  readonly from?: string;
  readonly to?: string;
  readonly schedule?: string;
  /** Resources per type. */
  readonly limit: number;
}

/** The versions that were read; `isCut` if there are more. */
interface Histories {
  readonly versions: readonly Version[];
  readonly isCut: boolean;
}

const CONCURRENCY = 4;

const VERSIONS = 2_000;

function versionOf(type: Version['type'], { resource, request, response }: BundleEntry, id?: string): Version[] {
  if (isResource(resource, type) && resource.id) {
    const written = Date.parse(resource.meta?.lastUpdated ?? '');
    if (Number.isNaN(written) || (resource.resourceType === 'Slot' && !resource.schedule)) {
      throw new Error(`${type}/${resource.id} has no meta.lastUpdated, or no schedule: its history cannot be judged.`);
    }
    return [{ type, id: resource.id, at: written, resource }];
  }
  const at = Date.parse(response?.lastModified ?? '');
  const named = id ?? local(request?.url, type).split('/')[1];
  const isDeleted =
    request?.method === 'DELETE' || (isObject(resource) && resource.resourceType === 'OperationOutcome');
  return named && isDeleted && Number.isFinite(at) ? [{ type, id: named, at }] : [];
}

function query({ from, to, schedule }: Reading, type: Version['type']): string {
  const by = type === 'Slot' ? 'start' : 'date';
  const parts = [
    from && `${by}=ge${from}`,
    to && `${by}=lt${to}`,
    schedule && (type === 'Slot' ? `schedule=${schedule}` : `slot.schedule=${schedule}`),
    '_count=100',
  ];
  return parts.filter(Boolean).join('&');
}

async function historiesOf(reading: Reading, type: Version['type']): Promise<Histories> {
  const { client, limit } = reading;
  const found = await entriesOf(client, `/${type}?${query(reading, type)}`, limit);
  if ('status' in found) {
    throw new Error(`GET /${type}: ${found.status}. An audit needs to search and read ${type}s with their histories.`);
  }
  const ids = found.entries.flatMap(({ resource }) => (isResource(resource, type) && resource.id ? [resource.id] : []));
  const waiting = ids.values();
  const versions: Version[] = [];
  let isCut = found.isCut;
  const work = async (): Promise<void> => {
    for (const id of waiting) {
      const history = await entriesOf(client, `/${type}/${id}/_history?_count=100`, VERSIONS);
      if ('status' in history) {
        throw new Error(`GET /${type}/${id}/_history: ${history.status}.`);
      }
      isCut ||= history.isCut;
      versions.push(...history.entries.flatMap((entry) => versionOf(type, entry, id)));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  // Deleted resources are only found by the type's history, which is optional for servers.
  const whole = await entriesOf(client, `/${type}/_history?_count=100`, limit);
  const known = new Set(ids);
  const deleted = 'status' in whole ? [] : whole.entries.flatMap((entry) => versionOf(type, entry));
  const others = new Map(
    deleted.filter(({ id }) => !known.has(id)).map((version) => [`${version.id} ${version.at}`, version]),
  );
  return { versions: [...versions, ...others.values()], isCut: isCut || (!('status' in whole) && whole.isCut) };
}

/**
 * Reads the histories of Appointments and Slots, up to the limit.
 *
 * @throws Error with the request that the server refuses
 */
export async function readHistories(reading: Reading): Promise<Histories> {
  const [appointments, slots] = [await historiesOf(reading, 'Appointment'), await historiesOf(reading, 'Slot')];
  return { versions: [...appointments.versions, ...slots.versions], isCut: appointments.isCut || slots.isCut };
}

const PARAMETERS = 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters';
const SERVICE = 'https://medplum.com/fhir/service-type-reference';

function parametersIn(resource: unknown): Partial<Terms> | undefined {
  const { extension } = isResource(resource, 'Schedule') || isResource(resource, 'HealthcareService') ? resource : {};
  const own = extension?.find(({ url }) => url === PARAMETERS)?.extension;
  const part = (name: string) => own?.find(({ url }) => url === name);
  return (
    own && {
      capacity: part('slotCapacity')?.valueInteger ?? 1,
      before: part('bufferBefore')?.valueDuration?.value ?? 0,
      after: part('bufferAfter')?.valueDuration?.value ?? 0,
    }
  );
}

/** Reads the terms of Schedules from their scheduling parameters, else from those of their service, else `given`. */
export async function readTerms(
  client: Client,
  schedules: Iterable<string>,
  given: Terms,
): Promise<ReadonlyMap<string, Terms>> {
  const all = new Map<string, Terms>();
  for (const schedule of schedules) {
    const { resource } = await client.send({ method: 'GET', path: `/${schedule}` });
    const services = isResource(resource, 'Schedule')
      ? (resource.serviceType ?? []).flatMap(({ extension = [] }) =>
          extension.flatMap(({ url, valueReference }) => (url === SERVICE && valueReference?.reference) || []),
        )
      : [];
    const [service] = services;
    const published = service ? (await client.send({ method: 'GET', path: `/${service}` })).resource : undefined;
    all.set(schedule, { ...given, ...parametersIn(published), ...parametersIn(resource) });
  }
  return all;
}
