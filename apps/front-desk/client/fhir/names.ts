import { isResource, nameOf } from '../../../../core/fhir/resource.ts';
import { isRefusal } from '../../fhir/refusal.ts';
import { idSearches, readAll, resourcesIn } from './client.ts';

/** The names of portals (ClientApplications), people (Practitioners) and Bots, by id. */
export async function namesOf(ids: readonly string[]): Promise<Map<string, string>> {
  const unique = [...new Set(ids)].filter(Boolean);
  const types = ['ClientApplication', 'Practitioner', 'Bot'] as const;
  const urls = types.flatMap((type) => idSearches(type, unique));
  const found = urls.length > 0 ? await readAll(urls) : undefined;
  const resources = found && !isRefusal(found) ? resourcesIn(found) : [];
  const entries = resources
    .flatMap((bundle) => (isResource(bundle, 'Bundle') ? resourcesIn(bundle) : []))
    .map((resource): readonly [string, string] => {
      if (isResource(resource, 'Practitioner')) {
        return [resource.id ?? '', nameOf(resource)];
      }
      const isNamed = isResource(resource, 'ClientApplication') || isResource(resource, 'Bot');
      return isNamed ? [resource.id ?? '', resource.name ?? ''] : ['', ''];
    });
  return new Map(entries);
}
