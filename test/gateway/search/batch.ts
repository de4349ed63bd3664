import type { Bundle, BundleEntry } from '@medplum/fhirtypes';
import type { Reply } from '../fake-medplum.ts';

/** The addresses that a batch asks for, in their order. */
export function urlsOf(body: string): string[] {
  const { entry = [] }: Bundle = JSON.parse(body);
  return entry.map(({ request }) => request?.url ?? '');
}

/** Medplum's answer to a batch, by what it answers to each address. */
export const answeredBatch = (body: string, answered: (url: string) => BundleEntry): Reply => ({
  body: { resourceType: 'Bundle', type: 'batch-response', entry: urlsOf(body).map(answered) },
});

/** The result of one search in a batch. */
export const foundEntry = (found: Partial<Bundle>): BundleEntry => ({
  response: { status: '200' },
  resource: { resourceType: 'Bundle', type: 'searchset', ...found },
});
