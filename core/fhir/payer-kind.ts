import type { Coding, Resource } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from './artefacts.ts';

/** The payer kinds that a resource names: of a service or slot those that it serves, of an appointment its patient's. */
export function payerKindsOf(resource: Resource, config: PublicConfig): Coding[] {
  const url = artefactUri(config, 'LocalPayerKind');
  const extension = 'extension' in resource && Array.isArray(resource.extension) ? resource.extension : [];
  return extension.flatMap((one) => (one?.url === url && one.valueCoding ? [one.valueCoding] : []));
}
