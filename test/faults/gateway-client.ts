import type { Resource } from '@medplum/fhirtypes';
import { isResource } from '../../core/fhir/resource.ts';
import { GATEWAY_CLIENT } from '../../scripts/deploy/gateway-client.ts';

const isClient = (one: Resource | undefined) => (isResource(one, 'ClientApplication') ? [one] : []);

/** The client with which a gateway writes that runs Bots itself, in an installation that has one. */
export async function gatewayClient({ medplum, resourceIn }: typeof import('../contract/http.ts')) {
  const query = `/ClientApplication?name:exact=${encodeURIComponent(GATEWAY_CLIENT)}`;
  const { entry = [] } = resourceIn('Bundle', await medplum('admin', 'GET', query));
  const [client] = entry.flatMap(({ resource }) => isClient(resource));
  return client?.secret === undefined ? undefined : { id: client.id ?? '', secret: client.secret };
}
