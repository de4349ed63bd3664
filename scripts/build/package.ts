import type { Bundle, BundleEntry, CodeSystem, Resource } from '@medplum/fhirtypes';
import type { Artefacts } from '../../profiles/artefacts.ts';

type Described = Resource & { readonly url?: string; readonly name?: string };

const queryOf = ({ resourceType, url, name }: Described): string =>
  url && resourceType !== 'AccessPolicy'
    ? `url=${encodeURIComponent(url)}`
    : `name:exact=${encodeURIComponent(name ?? '')}`;

/** Creates the resource, or replaces the one that is there. */
const upsert = (resource: Described): BundleEntry => ({
  resource,
  request: { method: 'PUT', url: `${resource.resourceType}?${queryOf(resource)}` },
});

/** Creates the resource if it is not there: the codes of a clinic's services are the clinic's. */
const keep = (resource: CodeSystem): BundleEntry => ({
  resource,
  request: { method: 'POST', url: resource.resourceType, ifNoneExist: queryOf(resource) },
});

/**
 * The part of an installation that can be installed as a Medplum package: terminology, profiles and AccessPolicies.
 * Installed again, it changes nothing but what is out of date. The Bots are not in it, nor is anything that refers to them:
 * a Bot that is created as a resource has no membership in the project, and so no rights of its own; `npm run deploy` makes
 * both.
 *
 * @returns a batch Bundle, as `PackageRelease/{id}/$install` takes it, and any FHIR server's batch endpoint
 */
export function packageBundle(artefacts: Artefacts): Bundle {
  return {
    resourceType: 'Bundle',
    type: 'batch',
    entry: [
      ...artefacts.codeSystems.map((codeSystem) => (codeSystem.useContext ? keep(codeSystem) : upsert(codeSystem))),
      ...artefacts.valueSets.map(upsert),
      ...artefacts.namingSystems.map(upsert),
      ...artefacts.structureDefinitions.map(upsert),
      ...Object.values(artefacts.accessPolicies).map(upsert),
    ],
  };
}
