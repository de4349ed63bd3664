import { createHash } from 'node:crypto';
import type { Bot, Bundle, BundleEntry, ProjectMembership } from '@medplum/fhirtypes';
import { type BotName, bots } from '../../core/config/bots.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { gatewayAuthor } from '../../core/fhir/tags.ts';
import { type Artefacts, buildArtefacts } from '../../profiles/artefacts.ts';
import { writtenByNamed } from '../../profiles/subscriptions.ts';
import { botSettings, codeTitle, isAdmin } from '../deploy/bots.ts';
import { artefactsBeforeBots, operations, subscriptions } from '../deploy/desired-state.ts';
import type { DesiredResource } from '../medplum/upsert.ts';

const names = Object.keys(bots) as BotName[];

/** Creates or replaces a resource. A stored one that the clinic may have changed stays unchanged. */
function toEntry({ resource, query, merge }: DesiredResource): BundleEntry {
  const type = resource.resourceType;
  return merge
    ? { resource, request: { method: 'POST', url: type, ifNoneExist: query } }
    : { resource, request: { method: 'PUT', url: `${type}?${query}` } };
}

/** The `fullUrl` by which other entries refer to an entry; the same in each build. */
function fullUrl(name: string): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 32);
  return hash.replace(/^(.{8})(.{4})(.{4})(.{4})/, 'urn:uuid:$1-$2-$3-$4-');
}

/**
 * A Bot with its code and its membership. Without a membership, which Medplum's own app creates with each Bot, it has
 * no rights of its own. A project administrator may read the memberships of one project only, so that the
 * conditional reference finds this project.
 */
function botEntries(name: BotName, code: string, policy: string, config: BookingConfig): BundleEntry[] {
  const [self, binary] = [fullUrl(`Bot ${name}`), fullUrl(`Binary ${name}`)];
  const identifier = encodeURIComponent(`${artefactUri(config, 'LocalBot')}|${name}`);
  const contentType = 'text/javascript';
  const bot: Bot = {
    resourceType: 'Bot',
    ...botSettings(name, config),
    executableCode: { contentType, title: codeTitle(name, code), url: binary },
  };
  const membership: ProjectMembership = {
    resourceType: 'ProjectMembership',
    project: { reference: 'Project?_has:ProjectMembership:project:_lastUpdated=gt1970-01-01' },
    user: { reference: self, display: name },
    profile: { reference: self, display: name },
    accessPolicy: { reference: policy },
    ...(isAdmin(name, config) && { admin: true }),
  };
  const data = Buffer.from(code).toString('base64');
  return [
    {
      fullUrl: binary,
      resource: { resourceType: 'Binary', contentType, data },
      request: { method: 'POST', url: 'Binary' },
    },
    { fullUrl: self, resource: bot, request: { method: 'PUT', url: `Bot?identifier=${identifier}` } },
    {
      resource: membership,
      request: { method: 'PUT', url: `ProjectMembership?profile:Bot.identifier=${identifier}` },
    },
  ];
}

/** Terminology, profiles and AccessPolicies as a Bundle for any FHIR server. Its profiles have complete snapshots. */
export function packageBundle(artefacts: Artefacts): Bundle {
  const entry = artefactsBeforeBots(artefacts, (definition) => definition).map(toEntry);
  return { resourceType: 'Bundle', type: 'batch', entry };
}

/**
 * A whole installation as a Bundle for Medplum: the Bots, their code, and all that refers to them. It is used by
 * `PackageRelease/{id}/$install` and the batch page of Medplum's app. A second installation updates the first. Only a
 * deployment removes resources, creates a client for the gateway, or gives code to AWS.
 *
 * Medplum replaces one placeholder in a string. A Subscription therefore lists the Bots by name, not by id.
 */
export function installationBundle(config: BookingConfig, code: Readonly<Record<BotName, string>>): Bundle {
  const artefacts = buildArtefacts(config);
  const references = Object.fromEntries(names.map((name) => [name, fullUrl(`Bot ${name}`)]));
  const isOurs = writtenByNamed(names, gatewayAuthor(config));
  const policy = artefacts.accessPolicies.bots;
  const before = artefactsBeforeBots(artefacts).map((desiredResource) =>
    desiredResource.resource === policy
      ? { fullUrl: fullUrl('bots'), ...toEntry(desiredResource) }
      : toEntry(desiredResource),
  );
  return {
    resourceType: 'Bundle',
    type: 'batch',
    entry: [
      ...before,
      ...names.flatMap((name) => botEntries(name, code[name], fullUrl('bots'), config)),
      ...operations(artefacts, references).map(toEntry),
      ...subscriptions(artefacts, references, isOurs, config).map(toEntry),
    ],
  };
}

/** Medplum's default `maxJsonSize`, in bytes. */
const MAX = 1_048_576;

/**
 * An installation in parts that fit into Medplum's default size. The first has everything but code, and creates missing
 * Bots. The others give the Bots their code, in any order.
 */
export function batchesOf({ entry = [] }: Bundle): Bundle[] {
  const part = (...entries: BundleEntry[]): Bundle => ({ resourceType: 'Bundle', type: 'batch', entry: entries });
  const first: BundleEntry[] = [];
  const parts: Bundle[] = [];
  let code: BundleEntry[] = [];
  for (const one of entry) {
    const { fullUrl, resource, request } = one;
    if (resource?.resourceType === 'Binary') {
      code = [one];
    } else if (resource?.resourceType === 'Bot') {
      const { executableCode: _, ...bot } = resource;
      const ifNoneExist = request?.url.split('?')[1];
      first.push({ fullUrl, resource: bot, request: { method: 'POST', url: 'Bot', ifNoneExist } });
      const more = part(...(parts.at(-1)?.entry ?? []), ...code, one);
      const fits = parts.length > 0 && Buffer.byteLength(JSON.stringify(more)) <= MAX;
      parts.splice(fits ? -1 : parts.length, 1, fits ? more : part(...code, one));
    } else {
      first.push(one);
    }
  }
  return [part(...first), ...parts];
}
