import type {
  Appointment,
  AuditEvent,
  Bundle,
  BundleEntry,
  Communication,
  Resource,
  Subscription,
} from '@medplum/fhirtypes';
import { formatInstant } from '../fhir/instant.ts';
import { isResource } from '../fhir/resource.ts';
import { notificationIn } from '../notifications/delivery/message.ts';
import { withPublicStatus } from '../notifications/subscription/stored-status.ts';
import { isAbout, isForAnother, mentions } from './records.ts';

/** Tells a person's own data from that of others in an export. */
export interface ExportContext {
  /** Ids of the person's patients, related persons, appointments and answers. */
  readonly ids: ReadonlySet<string>;
  /** Public base address of the service, without a trailing slash. */
  readonly baseUrl: string;
}

/** The parts of a notification that are about the person, without those about others. */
function ownMessage(message: Communication, ids: ReadonlySet<string>): Communication {
  const bundle = notificationIn(message);
  const [, ...entries] = bundle?.entry ?? [];
  const own = entries.filter(({ resource }) => mentions(resource, ids));
  const text = JSON.stringify({ resourceType: 'Bundle', type: bundle?.type ?? 'history', entry: own });
  return { ...message, payload: [{ contentString: text }] };
}

/**
 * A Subscription that names the person, without the address and secrets of the subscriber and without other people.
 */
function ownSubscription(stored: Subscription): Subscription {
  const { id, meta, status, criteria, channel } = withPublicStatus(stored);
  return {
    resourceType: 'Subscription',
    ...(id && { id }),
    ...(meta && { meta }),
    status,
    reason: 'Its filter names this patient.',
    criteria,
    channel: { type: channel.type },
  };
}

/** An appointment without any data of its other patients. */
function ownAppointment(appointment: Appointment, ids: ReadonlySet<string>): Appointment {
  const participant = appointment.participant.map((one) => {
    const [type, id] = one.actor?.reference?.split('/') ?? [];
    return type === 'Patient' && !ids.has(id ?? '') ? { type: [{ text: 'Another person' }], status: one.status } : one;
  });
  return { ...appointment, participant };
}

/** Who did what with the person's data, and when, without the logs of Bots: they may be about others. */
function ownAudit(audit: AuditEvent, ids: ReadonlySet<string>): AuditEvent {
  const { resourceType, id, meta, type, subtype, action, recorded, outcome, agent, source, entity = [] } = audit;
  return {
    resourceType,
    ...(id && { id }),
    ...(meta && { meta }),
    type,
    ...(subtype && { subtype }),
    ...(action && { action }),
    recorded,
    ...(outcome && { outcome }),
    agent: agent.map(({ type: as, who, requestor }) => ({ ...(as && { type: as }), ...(who && { who }), requestor })),
    source,
    entity: entity.flatMap(({ what }) =>
      what && mentions(what, ids) ? [{ what: { reference: what.reference } }] : [],
    ),
  };
}

function ownOf(resource: Resource, ids: ReadonlySet<string>): Resource {
  if (isResource(resource, 'Communication') && notificationIn(resource)) {
    return ownMessage(resource, ids);
  }
  if (isResource(resource, 'Subscription')) {
    return ownSubscription(resource);
  }
  if (isResource(resource, 'AuditEvent')) {
    return ownAudit(resource, ids);
  }
  return isResource(resource, 'Appointment') ? ownAppointment(resource, ids) : resource;
}

/** Whether a version is about the person: an encounter or a Task may have been somebody else's. */
const isOwnVersion = (version: Resource, ids: ReadonlySet<string>): boolean =>
  !isForAnother(version, ids) && (!isResource(version, 'Encounter') || isAbout(version, ids));

/** `meta` without Medplum's own fields, which say nothing about the person. */
function withoutInternals(resource: Resource): Resource {
  const { versionId, lastUpdated, profile, security, tag } = resource.meta ?? {};
  const meta = {
    ...(versionId && { versionId }),
    ...(lastUpdated && { lastUpdated }),
    ...(profile && { profile }),
    ...(security && { security }),
    ...(tag && { tag }),
  };
  return { ...resource, meta };
}

/**
 * Everything that is stored about a person, as one Bundle.
 *
 * @param versions - every stored version of every resource, grouped by resource, the newest first
 * @param now - milliseconds since 1970 UTC
 * @returns a Bundle of type collection; the versions of a resource share its `fullUrl` and differ in `meta.versionId`
 * @see https://hl7.org/fhir/R4/bundle.html (bdl-7)
 */
export function exportBundle(versions: readonly Resource[], now: number, { ids, baseUrl }: ExportContext): Bundle {
  const own = versions.filter((version) => isOwnVersion(version, ids));
  const entry = own.map((version): BundleEntry => {
    const { resourceType, id } = version;
    return { fullUrl: `${baseUrl}/${resourceType}/${id}`, resource: withoutInternals(ownOf(version, ids)) };
  });
  return { resourceType: 'Bundle', type: 'collection', timestamp: formatInstant(now), entry };
}
