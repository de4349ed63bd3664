import type {
  Appointment,
  AppointmentResponse,
  Communication,
  Encounter,
  Identifier,
  Patient,
  Provenance,
  QuestionnaireResponse,
  Reference,
  RelatedPerson,
  Resource,
  Subscription,
  Task,
} from '@medplum/fhirtypes';
import { isObject, isSameToken } from '../fhir/resource.ts';

type Stored<T extends Resource> = T & { readonly id: string };

export const only = <T extends object, K extends keyof T>(from: T, ...names: readonly K[]) =>
  Object.fromEntries(names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]])) as Pick<T, K>;

/** A resource with its stored versions, the newest first. The deletion of a deleted resource is not a version. */
export interface History<T extends Resource = Resource> {
  readonly id: string;
  readonly isDeleted: boolean;
  readonly versions: readonly T[];
}

/** The stored data about one person. */
export interface PersonRecords {
  /** The requested patient, and existing patients that were merged with it. */
  readonly patients: readonly Stored<Patient>[];
  readonly relatedPersons: readonly Stored<RelatedPerson>[];
  readonly appointments: readonly Stored<Appointment>[];
  readonly answers: readonly Stored<QuestionnaireResponse>[];
  /** The encounters of the appointments. An encounter may be about somebody else. */
  readonly encounters: readonly Stored<Encounter>[];
  /** Asynchronous bookings, which contain the requests. */
  readonly jobs: readonly Stored<Task>[];
  /** The responses of participants to the appointments, and the person's responses to any appointment. */
  readonly responses: readonly Stored<AppointmentResponse>[];
  /**
   * Other Tasks about the person or an appointment: requests with their reminders, double bookings and the consent to
   * them.
   */
  readonly tasks: readonly Stored<Task | Communication | Provenance>[];
  /** Events about the appointments. They name an appointment, not the person. */
  readonly events: readonly Stored<Communication>[];
  /** The last websocket notifications that contain one of the appointments. */
  readonly messages: readonly Stored<Communication>[];
  /** Subscriptions whose filters name one of the patients. */
  readonly subscriptions: readonly Stored<Subscription>[];
  /** Resources that were deleted or have a successor patient, with a version that names the person. */
  readonly earlier: readonly History[];
}

interface Traces {
  readonly ids: ReadonlySet<string>;
  readonly identifiers: readonly OwnIdentifier[];
}

/** An identifier of one of the person's patients, with the id of the requestor that owns that patient. */
interface OwnIdentifier extends Identifier {
  readonly owner?: string | undefined;
}

export interface Person extends Traces {
  /** Ids of all patients that are the person, deleted ones included. */
  readonly patients: ReadonlySet<string>;
  /** Ids of the patients, related persons and questionnaire responses; without the appointments. */
  readonly persons: ReadonlySet<string>;
}

function linkedIds({ link = [] }: Patient, wanted: 'replaces' | 'replaced-by'): string[] {
  return link.flatMap(({ type, other }) => {
    const [resourceType, id] = other?.reference?.split('/') ?? [];
    return type === wanted && resourceType === 'Patient' && id ? [id] : [];
  });
}

const isByStaff = ({ meta }: Patient): boolean => meta?.author?.reference?.startsWith('Practitioner/') ?? false;

/** The patients merged with a patient. Only the clinic can write `replaced-by`; a `replaces` must be by staff. */
function mergedIds({ versions }: History<Patient>): string[] {
  const [newest] = versions;
  const replaced = newest ? linkedIds(newest, 'replaces') : [];
  const written = replaced.filter((id) => {
    const without = versions.findIndex((version) => !linkedIds(version, 'replaces').includes(id));
    const first = versions.at(without === -1 ? -1 : without - 1);
    return first !== undefined && isByStaff(first);
  });
  return [...(newest ? linkedIds(newest, 'replaced-by') : []), ...written];
}

/** The ids of all patients that are one person, by the merges of `patients` (versions with their authors). */
export function recordIds(id: string, patients: readonly History<Patient>[]): Set<string> {
  const ids = new Set([id]);
  let size: number;
  do {
    size = ids.size;
    for (const patient of patients) {
      const linked = mergedIds(patient);
      if (ids.has(patient.id) || linked.some((other) => ids.has(other))) {
        for (const one of [patient.id, ...linked]) {
          ids.add(one);
        }
      }
    }
  } while (ids.size > size);
  return ids;
}

export function isAbout({ subject }: Encounter, ids: ReadonlySet<string>): boolean {
  const [type, id] = subject?.reference?.split('/') ?? [];
  return type === 'Patient' && ids.has(id ?? '');
}

function subjectOf(resource: Resource): Reference | undefined {
  switch (resource.resourceType) {
    case 'AppointmentResponse':
      return resource.actor;
    case 'Communication':
    case 'Encounter':
      return resource.subject;
    case 'Task':
      return resource.for;
    default:
      return undefined;
  }
}

/** Whether a resource is for another person. An appointment of several patients has Tasks and responses of each. */
export function isForAnother(resource: Resource, ids: ReadonlySet<string>): boolean {
  const [type, id] = subjectOf(resource)?.reference?.split('/') ?? [];
  return (type === 'Patient' || type === 'RelatedPerson') && !ids.has(id ?? '');
}

/** The ids of the patients and related persons who take part in an appointment. */
export function personsIn({ participant }: Appointment): string[] {
  return participant.flatMap(({ actor }) => {
    const [type, id] = actor?.reference?.split('/') ?? [];
    return (type === 'Patient' || type === 'RelatedPerson') && id ? [id] : [];
  });
}

/** Whether an appointment has patients, but not this person. A related person may still take part. */
export function isHandedOn({ participant }: Appointment, patients: ReadonlySet<string>): boolean {
  const named = participant.flatMap(({ actor }) =>
    actor?.reference?.startsWith('Patient/') ? [actor.reference.slice('Patient/'.length)] : [],
  );
  return named.length > 0 && !named.some((id) => patients.has(id));
}

/** The elements of an appointment that may still contain data of its earlier patient. */
const lasting = [
  'identifier',
  'supportingInformation',
  'reasonCode',
  'reasonReference',
  'contained',
  'extension',
  'comment',
  'description',
  'patientInstruction',
  'text',
] as const;

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/**
 * A version of an appointment without the texts, identifiers and references that it has in common with versions of
 * somebody else (`others`). A portal that changes the patient leaves all elements that it does not send.
 */
export function withoutEarlier(version: Appointment, others: readonly Appointment[]): Appointment {
  const kept = { ...version };
  for (const name of lasting) {
    const value: unknown = version[name];
    const otherValues: readonly unknown[] = others.flatMap((appointment): unknown[] => {
      const otherValue: unknown = appointment[name];
      return Array.isArray(otherValue) ? otherValue : [otherValue];
    });
    const isShared = (one: unknown): boolean => otherValues.some((other) => isSame(one, other));
    const left = Array.isArray(value) ? value.filter((one) => !isShared(one)) : isShared(value) ? undefined : value;
    if (left === undefined || (Array.isArray(left) && left.length === 0)) {
      delete kept[name];
    } else if (Array.isArray(value)) {
      Object.assign(kept, { [name]: left });
    }
  }
  return kept;
}

/** Whether a value contains one of the ids in its text. Medplum's ids are UUIDs, so a match is not a coincidence. */
export function mentions(value: unknown, ids: ReadonlySet<string>): boolean {
  const text = JSON.stringify(value) ?? '';
  return [...ids].some((id) => text.includes(id));
}

/** Whether a JSON value contains one of the identifiers, at any depth. */
function hasIdentifier(value: unknown, identifiers: readonly OwnIdentifier[]): boolean {
  if (Array.isArray(value)) {
    return value.some((one) => hasIdentifier(one, identifiers));
  }
  if (!isObject(value)) {
    return false;
  }
  const isOne = identifiers.some(
    (known) => known.value !== undefined && known.value === value.value && isSameToken(known.system, systemOf(value)),
  );
  return isOne || Object.values(value).some((one) => hasIdentifier(one, identifiers));
}

const systemOf = ({ system }: Readonly<Record<string, unknown>>): string | undefined =>
  typeof system === 'string' ? system : undefined;

function jsonIn(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Whether an asynchronous booking is about a person: it names one of the resources, or its patient has one of the
 * person's identifiers. An identifier of a requestor's patient counts in bookings of that requestor only.
 */
export function isJobOf(task: Task, { ids, identifiers }: Traces): boolean {
  const kept = (task.input ?? []).map(({ valueString }) => jsonIn(valueString));
  const isNamed = (job: unknown): boolean => {
    const requestor = isObject(job) ? job.requestor : undefined;
    const known = identifiers.filter(({ owner }) => owner === undefined || owner === requestor);
    return hasIdentifier(job, known);
  };
  return mentions(task, ids) || kept.some(isNamed);
}
