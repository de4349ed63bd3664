import type { MedplumClient } from '@medplum/core';
import type { Bundle, BundleEntry, ExtractResource, Resource, ResourceType } from '@medplum/fhirtypes';
import { type Patients, unknownSurvivors } from '../../core/booking/appointment/change.ts';
import { mustBeWhole } from '../../core/booking/appointment/reads.ts';
import { isOpen } from '../../core/booking/appointment/status.ts';
import { formatInstant, timeOf } from '../../core/fhir/instant.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { byId, type ResourceSet, resourceSet } from '../../core/rows/resource-set.ts';
import { chunks, hasMore, pagesOf } from '../../core/rows/search.ts';
import type { Interval } from '../../core/time/interval.ts';
import { type BundleResponse, diagnosticsFor, MedplumError, type RequestOptions, sendBundle } from './medplum.ts';

/** Reads appointments by id and returns the times of those that are open, by id. */
export async function readOpenTimes(medplum: MedplumClient, ids: readonly string[]): Promise<Map<string, Interval>> {
  return new Map(
    ofType('Appointment', await readByIds(medplum, 'Appointment', ids)).flatMap((appointment): [string, Interval][] => {
      const time = isOpen(appointment) ? timeOf(appointment) : undefined;
      return appointment.id && time ? [[appointment.id, time]] : [];
    }),
  );
}

/** Adds the successor patients of merged patients, over several merges. */
export async function readSurvivors(medplum: MedplumClient, known: Patients): Promise<Patients> {
  let patients = known;
  const asked = new Set(known.keys());
  for (;;) {
    const unknown = unknownSurvivors(patients).filter((id) => !asked.has(id));
    if (unknown.length === 0) {
      return patients;
    }
    patients = new Map([...patients, ...byId(ofType('Patient', await readByIds(medplum, 'Patient', unknown)))]);
    for (const id of unknown) {
      asked.add(id);
    }
  }
}

/** The resources that one search, history or read returned. */
function resourcesIn({ resource }: BundleEntry): Resource[] {
  if (!isResource(resource, 'Bundle')) {
    return resource ? [resource] : [];
  }
  return (resource.entry ?? []).flatMap((entry) => entry.resource ?? []);
}

const isGood = ({ response }: BundleEntry): boolean => response?.status.startsWith('2') ?? false;

/** Status 404 is valid for a history: a resource that never existed has none. */
const isHistory = (entry: BundleEntry): boolean => isGood(entry) || entry.response?.status.startsWith('404') === true;

function errorOf(answer: BundleResponse): ReadError {
  const entries = answer.kind === 'done' ? (answer.bundle.entry ?? []) : [];
  const isLimited =
    entries.some(({ response }) => response?.status.startsWith('429')) ||
    (answer.kind === 'failed' && answer.isLimited === true);
  const unanswered = isLimited ? diagnosticsFor(429) : 'It did not answer every entry of the batch.';
  const reason = 'issue' in answer ? answer.issue.diagnostics : unanswered;
  return new ReadError(`The FHIR server could not be read. ${reason}`, isLimited);
}

/** The server did not respond to a read, or refused it: no decision was made. */
export class ReadError extends MedplumError {
  override readonly name = 'ReadError';
}

/** Maximum number of attempts of a read: after a broken connection, repeating it is safe. */
const ATTEMPTS = 2;

type Rights = Pick<RequestOptions, 'authorization'>;

/** Sends a read, once more if its response was lost for another reason than a timeout. */
async function sendRead(medplum: MedplumClient, type: 'batch' | 'transaction', entry: BundleEntry[], rights: Rights) {
  let answer: BundleResponse;
  let attempt = 0;
  do {
    answer = await sendBundle(medplum, { resourceType: 'Bundle', type, entry }, { ...rights, withAuthors: true });
    attempt += 1;
  } while (answer.kind === 'lost' && answer.issue.code !== 'upstream-timeout' && attempt < ATTEMPTS);
  return answer;
}

/** A client with responses that were read ahead, by URL. */
type ReadAheadClient = MedplumClient & { readonly responses?: Map<string, BundleEntry> };

/**
 * Reads several searches ahead in one request, instead of one after the other.
 * @param urls - searches that are probably needed, exactly as they will be requested
 * @param again - searches that are read again even if the client has read them ahead
 * @returns a client that returns each response once, so that a second read is fresh. Other searches are sent as usual;
 *   so are all searches if this request fails.
 */
export async function readAhead(
  medplum: MedplumClient,
  urls: readonly string[],
  again: readonly string[] = [],
): Promise<MedplumClient> {
  const unique = [...new Set([...urls, ...again])];
  for (const url of again) {
    taken(medplum, url);
  }
  const answers = await readEntries(medplum, 'transaction', unique).catch(() => []);
  const responses = new Map(answers.map((answer, index) => [unique[index] ?? '', answer]));
  return Object.create(medplum, { responses: { value: responses } });
}

function taken({ responses }: ReadAheadClient, url: string): BundleEntry | undefined {
  const answer = responses?.get(url);
  responses?.delete(url);
  return answer;
}

/** The response entries of URLs, read ahead or sent now. @throws ReadError when an entry fails (`isAnswer`) */
async function readEntries(
  medplum: MedplumClient,
  type: 'batch' | 'transaction',
  all: readonly string[],
  { isAnswer = isGood, ...rights }: Rights & { readonly isAnswer?: typeof isGood } = {},
): Promise<BundleEntry[]> {
  const known = all.map((url) => (rights.authorization === undefined ? taken(medplum, url) : undefined));
  const urls = all.filter((_, index) => !known[index]);
  if (urls.length < all.length) {
    const rest = (await readEntries(medplum, type, urls, { isAnswer, ...rights })).values();
    return known.flatMap((entry) => entry ?? rest.next().value ?? []);
  }
  if (urls.length === 0) {
    return [];
  }
  const answer = await sendRead(
    medplum,
    type,
    urls.map((url) => ({ request: { method: 'GET', url } })),
    rights,
  );
  const answers = answer.kind === 'done' ? (answer.bundle.entry ?? []) : [];
  if (answers.length !== urls.length || !answers.every(isAnswer)) {
    throw errorOf(answer);
  }
  return answers;
}

async function readResources(
  medplum: MedplumClient,
  type: 'batch' | 'transaction',
  urls: readonly string[],
  rights: Rights = {},
) {
  return (await readEntries(medplum, type, urls, rights)).map(resourcesIn);
}

/**
 * Reads several histories in a batch, with the Bot's own rights; deletions are entries without a resource.
 * @param urls - relative to the FHIR base address
 */
export async function readHistories(medplum: MedplumClient, urls: readonly string[]): Promise<Bundle[]> {
  const entries = await readEntries(medplum, 'batch', urls, { isAnswer: isHistory });
  return entries.map(({ resource }) =>
    isResource(resource, 'Bundle') ? resource : { resourceType: 'Bundle', type: 'history' },
  );
}

/**
 * Reads several searches in one transaction, so that their results are consistent. A server with a read replica reads
 * them from its primary database. Resources have `meta.author`.
 * @param urls - relative to the FHIR base address
 * @returns the resources by search
 */
export const readInTransaction = (
  medplum: MedplumClient,
  urls: readonly string[],
  rights: Rights = {},
): Promise<Resource[][]> => readResources(medplum, 'transaction', urls, rights);

/**
 * Reads several searches and histories in a batch, with the Bot's own rights. Resources have `meta.author`.
 * @param urls - relative to the FHIR base address
 * @returns the resources by search
 */
export const readInBatch = (medplum: MedplumClient, urls: readonly string[]): Promise<Resource[][]> =>
  readResources(medplum, 'batch', urls);

export const readByIds = async (medplum: MedplumClient, type: string, ids: readonly string[]): Promise<Resource[]> =>
  (
    await readInBatch(
      medplum,
      chunks([...new Set(ids)]).map((some) => `${type}?_id=${some.join(',')}&_count=${some.length}`),
    )
  ).flat();

/** The searches for profiles that have left the clinic: Medplum shows memberships to administrators only. */
const gone = [
  ...['ClientApplication', 'Patient', 'Practitioner', 'RelatedPerson'].map((type) => `${type}?_deleted=true`),
  'Practitioner?active=false',
].map((search) => `${search}&_fields=id`);

/** Returns the profiles that have left the clinic: deleted ones, and practitioners who are no longer active. */
export async function readFormer(medplum: MedplumClient, profiles: readonly string[]): Promise<string[]> {
  const former: string[] = [];
  for (const ids of chunks(profiles)) {
    const searches = gone.map((one) => `${one}&_id=${ids.join(',')}&_count=${ids.length}`);
    former.push(...(await readInTransaction(medplum, searches)).flat().flatMap(({ id }) => id ?? []));
  }
  return former;
}

/** Returns the profiles that have left the clinic since a moment (milliseconds since 1970 UTC); without one, ever. */
export const readLeaving = async (medplum: MedplumClient, since: number | undefined): Promise<string[]> => {
  const lately = since === undefined ? '' : `&_lastUpdated=ge${formatInstant(since)}`;
  return (
    await readAll(
      medplum,
      gone.map((one) => `${one}${lately}`),
    )
  ).flatMap(({ id }) => id ?? []);
};

/**
 * Sends a batch with the given rights and returns its response entries, whatever their status.
 * @throws ReadError when the server does not respond to every entry
 */
export async function readResponses(
  medplum: MedplumClient,
  entry: BundleEntry[],
  { authorization }: Rights,
): Promise<BundleEntry[]> {
  if (entry.length === 0) {
    return [];
  }
  const answer = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry }, { authorization });
  const answers = answer.kind === 'done' ? (answer.bundle.entry ?? []) : [];
  if (answers.length !== entry.length) {
    throw errorOf(answer);
  }
  return answers;
}

/** Statuses that describe what the caller may see. With any other status, a resource is unread, not missing. */
const saysNothingThere: ReadonlySet<number> = new Set([200, 403, 404, 410]);

/**
 * Returns the resources of response entries; resources that the rights do not show are missing.
 * @throws ReadError when an entry is a failure of the server
 */
export function stateIn(entry: readonly BundleEntry[]): ResourceSet {
  const failed = entry
    .map(({ response }) => Number.parseInt(response?.status ?? '500', 10))
    .find((status) => !saysNothingThere.has(status));
  if (failed !== undefined) {
    throw new ReadError(diagnosticsFor(failed), failed === 429);
  }
  return resourceSet(entry.flatMap(resourcesIn).filter((resource) => resource.resourceType !== 'OperationOutcome'));
}

/** Reads a batch with the given rights (`readResponses`, `stateIn`). */
export const readStateAs = async (medplum: MedplumClient, entry: BundleEntry[], rights: Rights): Promise<ResourceSet> =>
  stateIn(await readResponses(medplum, entry, rights));

/**
 * Reads the further pages of searches that must be complete (`mustBeWhole`); usually there are none, and nothing is
 * read.
 * @param searches - as they were sent in a batch
 * @param answers - the response to each search
 * @throws ReadError when the server does not respond, or more results have the same time than it returns
 */
export async function readRest(
  medplum: MedplumClient,
  searches: readonly BundleEntry[],
  answers: readonly BundleEntry[],
  rights: Rights = {},
): Promise<Resource[]> {
  const found: Resource[] = [];
  for (const [index, answer] of answers.entries()) {
    const search = searches[index];
    if (search && mustBeWhole(search) && hasMore(answer)) {
      const urls = pagesOf(search).flatMap(({ request }) => request?.url ?? []);
      const pages = await readEntries(medplum, 'transaction', urls, rights);
      if (pages.slice(-1).some(hasMore)) {
        throw new ReadError('There are more Slots at that time than the FHIR server returns.');
      }
      found.push(...pages.flatMap(resourcesIn));
    }
  }
  return found;
}

/**
 * Reads searches with the Bot's own rights; searches that must be complete (`mustBeWhole`) are read to the last page.
 */
export async function readWhole(medplum: MedplumClient, searches: readonly BundleEntry[]): Promise<Resource[]> {
  const answers = await readEntries(
    medplum,
    'batch',
    searches.flatMap(({ request }) => request?.url ?? []),
  );
  return [...answers.flatMap(resourcesIn), ...(await readRest(medplum, searches, answers))];
}

/**
 * The orders in which a page can begin where the previous one ended, each with its value for a resource.
 */
const orders = {
  _lastUpdated: ({ meta }: Resource) => meta?.lastUpdated,
  'due-date': (resource: Resource) =>
    resource.resourceType === 'Task'
      ? (resource.restriction?.period?.start ?? resource.restriction?.period?.end)
      : undefined,
  start: (resource: Resource) => (resource.resourceType === 'Slot' ? resource.start : undefined),
} as const;

interface Paging {
  readonly order?: keyof typeof orders;
  readonly isLatestFirst?: boolean;
  /** Page size; by default Medplum's maximum. */
  readonly count?: number;
  /** No page is requested after it; milliseconds since 1970 UTC. */
  readonly end?: number;
}

/** The position in a search: its next page begins at `from` in the order, after as many results as were read there. */
interface Reading {
  readonly search: string;
  readonly from?: string | undefined;
  readonly offset: number;
}

/** Medplum's maximum page size. */
export const MAX_RESULTS = 1_000;

/** The relative URL of a page of a search, by default the first. The search has a query already, if only `Type?`. */
export function pageUrl(
  search: string,
  { order = '_lastUpdated', isLatestFirst = false, count = MAX_RESULTS }: Paging,
  { from, offset }: Omit<Reading, 'search'> = { offset: 0 },
): string {
  const [sort, side] = isLatestFirst ? [`-${order}`, 'le'] : [order, 'ge'];
  return `${search}&${new URLSearchParams({
    ...(from !== undefined && { [order]: `${side}${from}` }),
    _sort: `${sort},_id`,
    _count: String(count),
    _offset: String(offset),
  })}`;
}

/** The position of the next page; `undefined` after the last one. Included resources of other types do not count. */
function nextReading(reading: Reading, page: readonly Resource[], order: keyof typeof orders, count: number) {
  const results = page.filter(({ resourceType }) => reading.search.startsWith(`${resourceType}?`));
  const last = results.at(-1);
  const from = results.length < count || !last ? undefined : orders[order](last);
  const offset = from === reading.from ? reading.offset + count : 0;
  return from === undefined ? undefined : { ...reading, from, offset };
}

/**
 * Reads all results of searches, page by page. A page begins at the last value of the previous page, not at an offset:
 * Medplum's offsets end at ten thousand. Results that change, or lie where two pages meet, may come twice; none is
 * left out.
 * @param searches - relative to the FHIR base address
 * @yields the resources by search, page after page; none for a search that is over
 */
export async function* readPages(
  medplum: MedplumClient,
  searches: readonly string[],
  paging: Paging = {},
): AsyncGenerator<Resource[][]> {
  const { order = '_lastUpdated', count = MAX_RESULTS, end = Number.POSITIVE_INFINITY } = paging;
  let readings: (Reading | undefined)[] = searches.map((search) => ({ search, offset: 0 }));
  while (readings.some((reading) => reading !== undefined) && Date.now() < end) {
    const results = await readInTransaction(
      medplum,
      readings.flatMap((reading) => (reading ? [pageUrl(reading.search, paging, reading)] : [])),
    );
    const pages = readings.map((reading) => (reading ? (results.shift() ?? []) : []));
    yield pages;
    readings = readings.map((reading, index) => reading && nextReading(reading, pages[index] ?? [], order, count));
  }
}

/** Reads all results of searches; a resource that was read twice is returned once, as it was read last. */
export async function readAll(
  medplum: MedplumClient,
  searches: readonly string[],
  paging: Paging = {},
): Promise<Resource[]> {
  const found = new Map<string, Resource>();
  for await (const pages of readPages(medplum, searches, paging)) {
    for (const resource of pages.flat()) {
      found.set(`${resource.resourceType}/${resource.id}`, resource);
    }
  }
  return [...found.values()];
}

export function ofType<T extends ResourceType>(type: T, resources: readonly Resource[] = []): ExtractResource<T>[] {
  return resources.flatMap((resource) => (isResource(resource, type) ? [resource] : []));
}
