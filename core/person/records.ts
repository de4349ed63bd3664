import type {
  Appointment,
  AppointmentResponse,
  Communication,
  Encounter,
  Identifier,
  Patient,
  QuestionnaireResponse,
  Reference,
  RelatedPerson,
  Resource,
  Subscription,
  Task,
} from '@medplum/fhirtypes';
import { isObject } from '../fhir/resource.ts';
import { isSameToken } from '../fhir/token.ts';

type Stored<T extends Resource> = T & { readonly id: string };

/** What the service stores about one person, in its current versions. */
export interface PersonRecords {
  /** The named patient, and existing patients that were merged into it or that it was merged into. */
  readonly patients: readonly Stored<Patient>[];
  readonly relatedPersons: readonly Stored<RelatedPerson>[];
  readonly appointments: readonly Stored<Appointment>[];
  readonly answers: readonly Stored<QuestionnaireResponse>[];
  /** The encounters to which the appointments have led; an encounter may name one of them and be about someone else. */
  readonly encounters: readonly Stored<Encounter>[];
  /** Asynchronous bookings, which contain the requests. */
  readonly jobs: readonly Stored<Task>[];
  /** The responses of participants to the appointments, and of the person to any appointment. */
  readonly responses: readonly Stored<AppointmentResponse>[];
  /**
   * Other Tasks that name the person or an appointment: Tasks of requests that wait or have waited for the clinic, with
   * their reminders, Tasks of double bookings, and counters of the person's appointments.
   */
  readonly tasks: readonly Stored<Task | Communication>[];
  /** Events about the appointments. They name an appointment, not the person. */
  readonly events: readonly Stored<Communication>[];
  /** The last websocket notifications that contain one of the appointments. */
  readonly messages: readonly Stored<Communication>[];
  /** Subscriptions whose filters name one of the patients. */
  readonly subscriptions: readonly Stored<Subscription>[];
}

/** What identifies a person in texts and in submitted data. */
export interface Traces {
  /** Ids of resources that are about the person. */
  readonly ids: ReadonlySet<string>;
  readonly identifiers: readonly Identifier[];
}

const sameRecord: ReadonlySet<string> = new Set(['replaces', 'replaced-by']);

/** The ids of the patients that a patient was merged into, or that were merged into it. */
function mergedIds({ link = [] }: Patient): string[] {
  return link.flatMap(({ type, other }) => {
    const [resourceType, id] = other?.reference?.split('/') ?? [];
    return sameRecord.has(type) && resourceType === 'Patient' && id ? [id] : [];
  });
}

/**
 * The known ids of all records of one person.
 *
 * @param id - of the named patient
 * @param patients - those that were read because a known one links to them, or they to it
 */
export function recordIds(id: string, patients: readonly Patient[]): Set<string> {
  const ids = new Set([id]);
  let size: number;
  do {
    size = ids.size;
    for (const patient of patients) {
      const linked = mergedIds(patient);
      if (ids.has(patient.id ?? '') || linked.some((other) => ids.has(other))) {
        for (const one of [patient.id ?? '', ...linked]) {
          ids.add(one);
        }
      }
    }
  } while (ids.size > size);
  return ids;
}

/** Whether an encounter is about one of the patients. */
export function isAbout({ subject }: Encounter, ids: ReadonlySet<string>): boolean {
  const [type, id] = subject?.reference?.split('/') ?? [];
  return type === 'Patient' && ids.has(id ?? '');
}

/** Whom a resource is for, if it says so. */
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

/**
 * Whether a resource is for another person: an appointment of several patients has Tasks and responses of each of them.
 *
 * @param ids - of the person's patients and related persons
 */
export function isForAnother(resource: Resource, ids: ReadonlySet<string>): boolean {
  const [type, id] = subjectOf(resource)?.reference?.split('/') ?? [];
  return (type === 'Patient' || type === 'RelatedPerson') && !ids.has(id ?? '');
}

/** Whether a text within a value contains one of the ids. Medplum's ids are UUIDs, so a match is not a coincidence. */
export function mentions(value: unknown, ids: ReadonlySet<string>): boolean {
  const text = JSON.stringify(value) ?? '';
  return [...ids].some((id) => text.includes(id));
}

function hasIdentifier(value: unknown, identifiers: readonly Identifier[]): boolean {
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
 * Whether an asynchronous booking is about a person: it names one of the resources, its result is one of the
 * appointments, or the patient that was sent along has one of the person's identifiers.
 */
export function isJobOf(task: Task, { ids, identifiers }: Traces): boolean {
  const kept = (task.input ?? []).map(({ valueString }) => jsonIn(valueString));
  return mentions(task, ids) || hasIdentifier(kept, identifiers);
}
