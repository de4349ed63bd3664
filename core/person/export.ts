import type {
  Appointment,
  AppointmentParticipant,
  AuditEvent,
  Bundle,
  BundleEntry,
  Communication,
  Resource,
  Subscription,
  Task,
} from '@medplum/fhirtypes';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant } from '../fhir/instant.ts';
import { isResource } from '../fhir/resource.ts';
import { notificationIn } from '../notifications/delivery/message.ts';
import {
  isAbout,
  isForAnother,
  isHandedOn,
  isJobOf,
  mentions,
  only,
  type Person,
  personsIn,
  withoutEarlier,
} from './records.ts';

/** A message whose Bundle has only the entries about the person; the status of the Subscription is left out. */
function ownMessage(message: Communication, person: Person): Communication {
  const bundle = notificationIn(message);
  const [, ...entries] = bundle?.entry ?? [];
  const own = entries.flatMap((entry) => {
    const resource =
      entry.resource && isVersionAbout(entry.resource, person) ? withoutOthers(entry.resource, person) : undefined;
    return resource ? [{ ...entry, resource }] : [];
  });
  const text = JSON.stringify({ resourceType: 'Bundle', type: bundle?.type ?? 'history', entry: own });
  return { ...message, payload: [{ contentString: text }] };
}

/** A Subscription that names the person, without the subscriber's address and secrets and without other people. */
function ownSubscription(stored: Subscription): Subscription {
  const shown = only(stored, 'resourceType', 'id', 'meta', 'status', 'criteria');
  return { ...shown, reason: 'Its filter names this patient.', channel: { type: stored.channel.type } };
}

/** The elements of an appointment that cannot belong to another of its patients: no text, reason or answer. */
const sharedPart = (appointment: Appointment): Appointment =>
  only(
    appointment,
    'resourceType',
    'id',
    'meta',
    'status',
    'serviceCategory',
    'serviceType',
    'specialty',
    'appointmentType',
    'start',
    'end',
    'minutesDuration',
    'slot',
    'created',
    'participant',
  );

const isAppointment = (resource: Resource): resource is Appointment => resource.resourceType === 'Appointment';

/** A version of the person's appointment without data of its former patients. */
function withoutFormer(version: Resource, older: readonly Resource[], person: Person): Resource {
  return isAppointment(version)
    ? withoutEarlier(
        version,
        older
          .filter(isAppointment)
          .filter((appointment) => appointment.id === version.id && !isVersionAbout(appointment, person)),
      )
    : version;
}

/** A version of an appointment without data of other people who take part in it. */
function ownAppointment(appointment: Appointment, { persons }: Person): Appointment {
  const others = new Set(personsIn(appointment).filter((id) => !persons.has(id)));
  const isOther = ({ actor }: AppointmentParticipant): boolean => others.has(actor?.reference?.split('/')[1] ?? '');
  const participant = appointment.participant.map((one) =>
    isOther(one) ? { type: [{ text: 'Another person' }], status: one.status } : one,
  );
  return others.size === 0 ? appointment : sharedPart({ ...appointment, participant });
}

const patientReference = /\bPatient\/([A-Za-z0-9.-]{1,64})/g;

function namesAnother(value: unknown, { patients }: Person): boolean {
  const named = (JSON.stringify(value) ?? '').matchAll(patientReference);
  return [...named].some(([, id]) => !patients.has(id ?? ''));
}

/** A version of a Task of the service. A request that also names another patient is left out. */
function ownTask({ input, ...task }: Task, person: Person): Task {
  return input && !namesAnother(input, person) ? { ...task, input } : task;
}

/** An audit event about the person's data, without the logs of Bots, which may be about others. */
function ownAudit(audit: AuditEvent, { ids }: Person): AuditEvent {
  const { agent, entity = [] } = audit;
  return {
    ...only(audit, 'resourceType', 'id', 'meta', 'type', 'subtype', 'action', 'recorded', 'outcome', 'source'),
    agent: agent.map((auditEventAgent) => only(auditEventAgent, 'type', 'who', 'requestor')),
    entity: entity.flatMap(({ what }) =>
      what && mentions(what, ids) ? [{ what: { reference: what.reference } }] : [],
    ),
  };
}

/** A version without the data of other people. */
function withoutOthers(resource: Resource, person: Person): Resource {
  switch (resource.resourceType) {
    case 'Communication':
      return notificationIn(resource) ? ownMessage(resource, person) : resource;
    case 'Subscription':
      return ownSubscription(resource);
    case 'AuditEvent':
      return ownAudit(resource, person);
    case 'Task':
      return ownTask(resource, person);
    default:
      return isResource(resource, 'Appointment') ? ownAppointment(resource, person) : resource;
  }
}

/** Whether a version of a resource is about the person. Another version may be about somebody else. */
function isVersionAbout(version: Resource, person: Person): boolean {
  const { ids, patients, persons } = person;
  switch (version.resourceType) {
    case 'Appointment': {
      if (isHandedOn(version, patients)) {
        return false;
      }
      const named = personsIn(version);
      // An appointment without persons is about whom its other versions name.
      return named.length === 0 ? ids.has(version.id ?? '') : named.some((id) => persons.has(id));
    }
    case 'RelatedPerson':
      return mentions(version.patient, patients);
    case 'QuestionnaireResponse':
      return mentions(version.subject, patients);
    case 'Encounter':
      return isAbout(version, patients);
    case 'Communication': {
      // The first entry is the status of the Subscription.
      const [, ...entries] = notificationIn(version)?.entry ?? [];
      return entries.length > 0
        ? entries.some(({ resource }) => resource && isVersionAbout(resource, person))
        : !isForAnother(version, persons);
    }
    case 'Subscription':
      return mentions(version, patients);
    case 'Task':
      return !isForAnother(version, persons) && (!version.input || isJobOf(version, person) || mentions(version, ids));
    default:
      return !isForAnother(version, persons);
  }
}

const withoutInternals = (resource: Resource): Resource => ({
  ...resource,
  meta: only(resource.meta ?? {}, 'versionId', 'lastUpdated', 'profile', 'security', 'tag'),
});

/**
 * All stored data about a person as one Bundle: the versions of resources in which the person takes part, without data
 * about others.
 * @param versions - every stored version of every resource, grouped by resource, the newest first
 * @returns a Bundle of type collection; the versions of a resource share its `fullUrl` and differ in `meta.versionId`
 * @see https://hl7.org/fhir/R4/bundle.html (bdl-7)
 */
export function exportBundle(
  versions: readonly Resource[],
  now: number,
  person: Person,
  { baseUrl }: PublicConfig,
): Bundle {
  const own = versions.flatMap((version, index) =>
    isVersionAbout(version, person) ? [withoutFormer(version, versions.slice(index + 1), person)] : [],
  );
  const entry = own.map((version): BundleEntry => {
    const { resourceType, id } = version;
    return { fullUrl: `${baseUrl}/${resourceType}/${id}`, resource: withoutInternals(withoutOthers(version, person)) };
  });
  return { resourceType: 'Bundle', type: 'collection', timestamp: formatInstant(now), entry };
}
