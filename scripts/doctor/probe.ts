import { randomUUID } from 'node:crypto';
import type { Bundle, Resource } from '@medplum/fhirtypes';
import type { Installation } from './check.ts';

/** The answer to a transaction that must fail. */
interface Attempt {
  readonly status: number;
  readonly text: string;
}

/**
 * Tries to create a resource in a transaction that must fail, because its other entry reads something that does not exist.
 * Where transactions are atomic nothing is left, whether or not the resource itself was acceptable.
 */
export async function tryInVain({ request }: Pick<Installation, 'request'>, resource: Resource): Promise<Attempt> {
  const bundle: Bundle = {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      { request: { method: 'POST', url: resource.resourceType }, resource },
      { request: { method: 'GET', url: `Basic/${randomUUID()}` } },
    ],
  };
  return request('fhir/R4', JSON.stringify(bundle));
}
