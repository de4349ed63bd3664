import type { Coding, Resource } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from './artefacts.ts';

/** The payer kinds that a service or Slot serves; for an appointment, the payer kind of its patient. */
export function payerKindsOf(resource: Resource, config: PublicConfig): Coding[] {
  const url = artefactUri(config, 'LocalPayerKind');
  const extension = 'extension' in resource && Array.isArray(resource.extension) ? resource.extension : [];
  return extension.flatMap((one) => (one?.url === url && one.valueCoding ? [one.valueCoding] : []));
}
