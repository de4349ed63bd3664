import type { BundleEntry, HealthcareService, Organization, Practitioner } from '@medplum/fhirtypes';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { idIn } from '../../../../core/fhir/reference.ts';
import { isResource, updateEntry } from '../../../../core/fhir/resource.ts';
import { listOf } from '../../../../packages/web/elements.ts';
import { type Presentation, withPresentation } from '../../clinic/presentation.ts';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { idSearches, searchAll, searchUrl, transaction } from '../fhir/client.ts';
import { useLoaded } from '../parts/use-loaded.ts';
import { config } from '../settings.ts';

/** URL of the extension with the presentation of the clinic. */
export const portalUrl = artefactUri(config, 'LocalPortal');

/** The resources that the page of the clinic changes. */
export interface ClinicData {
  /** The clinic; without an id, it does not exist yet. */
  readonly organization: Organization;
  /** Services that the clinic provides, or that have no provider. */
  readonly services: readonly HealthcareService[];
  readonly people: readonly Practitioner[];
}

async function load(): Promise<ClinicData | Refusal> {
  const found = await searchAll([
    searchUrl('HealthcareService', [['_include', 'HealthcareService:organization']]),
    searchUrl('Schedule', [['_include', 'Schedule:actor']]),
  ]);
  if (isRefusal(found)) {
    return found;
  }
  const resources = found.flat();
  const organizations = resources.filter((one) => isResource(one, 'Organization'));
  const isShown = ({ extension }: Organization) => listOf(extension).some(({ url }) => url === portalUrl);
  // The portal chooses the Organization by the same rule.
  const organization = organizations.find(isShown) ?? organizations[0] ?? { resourceType: 'Organization' };
  const services = resources
    .filter((one) => isResource(one, 'HealthcareService'))
    .filter(({ active, providedBy }) => {
      const provider = idIn(providedBy, 'Organization');
      return active !== false && (provider === undefined || provider === organization.id);
    });
  const roles = resources.filter((one) => isResource(one, 'PractitionerRole'));
  const people = resources.filter((one) => isResource(one, 'Practitioner'));
  const known = new Set(people.map(({ id }) => id));
  const missing = roles
    .map(({ practitioner }) => idIn(practitioner, 'Practitioner') ?? '')
    .filter((id) => id && !known.has(id));
  const urls = idSearches('Practitioner', [...new Set(missing)]);
  const more = urls.length > 0 ? await searchAll(urls) : [];
  if (isRefusal(more)) {
    return more;
  }
  const others = more.flat().filter((one) => isResource(one, 'Practitioner'));
  return {
    organization,
    services,
    people: [...new Map([...people, ...others].map((practitioner) => [practitioner.id, practitioner])).values()],
  };
}

/** Loads the resources of the clinic. */
export const useClinic = () => useLoaded('clinic', load);

/**
 * Stores the presentation in one transaction, unless somebody else was faster. A new Organization becomes the provider
 * of the services. `bring`: changed texts about what to bring, by service id.
 */
export function saveClinic(
  { organization, services }: ClinicData,
  typed: Presentation,
  bring: Readonly<Record<string, string>>,
) {
  const resource = withPresentation(organization, typed, portalUrl);
  const urn = `urn:uuid:${crypto.randomUUID()}`;
  const first: BundleEntry = organization.id
    ? updateEntry(organization, resource)
    : { fullUrl: urn, request: { method: 'POST', url: 'Organization' }, resource };
  const changed = services.flatMap((service) => {
    const text = bring[service.id ?? ''] ?? service.extraDetails ?? '';
    const isSame = text === (service.extraDetails ?? '') && (organization.id || service.providedBy);
    const { extraDetails, ...rest } = service;
    const provider = organization.id ? rest.providedBy : { reference: urn };
    const after = { ...rest, ...(provider && { providedBy: provider }), ...(text && { extraDetails: text }) };
    return isSame ? [] : [updateEntry(service, after)];
  });
  return transaction([first, ...changed]);
}
