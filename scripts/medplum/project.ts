import { getStatus, type MedplumClient, OperationOutcomeError, type WithId } from '@medplum/core';
import type { ExtractResource, ResourceType } from '@medplum/fhirtypes';
import type { BotName } from '../../core/config/bots.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';

/** All resources of a search that pass a test. The others are not kept in memory. */
export async function searchAll<T extends ResourceType>(
  medplum: MedplumClient,
  type: T,
  query: Readonly<Record<string, string>> | URLSearchParams = {},
  isWanted: (resource: WithId<ExtractResource<T>>) => boolean = () => true,
): Promise<WithId<ExtractResource<T>>[]> {
  const found: WithId<ExtractResource<T>>[] = [];
  const parameters = new URLSearchParams(query);
  if (!parameters.has('_count')) {
    parameters.set('_count', '1000');
  }
  for await (const page of medplum.searchResourcePages(type, parameters, { cache: 'reload' })) {
    found.push(...page.filter(isWanted));
  }
  return found;
}

/** Calls a deployed Bot and returns its result. */
export function callBot(
  medplum: MedplumClient,
  name: BotName,
  input: unknown,
  config: BookingConfig,
): Promise<unknown> {
  const url = medplum.fhirUrl('Bot', '$execute');
  url.searchParams.set('identifier', `${artefactUri(config, 'LocalBot')}|${name}`);
  return medplum.post(url, input, 'application/fhir+json');
}

/**
 * Removes a resource with all its versions. A plain deletion would keep its contents in the history.
 *
 * @throws Error if Medplum does not allow project administrators to do that
 */
export const expunge = (medplum: MedplumClient, type: string, id: string): Promise<unknown> =>
  medplum.post(medplum.fhirUrl(type, id, '$expunge'), {}).catch((error: unknown) => {
    throw error instanceof OperationOutcomeError && getStatus(error.outcome) === 403
      ? new Error('This Medplum does not allow project administrators to remove history ($expunge): upgrade it.')
      : error;
  });
