import type { ExtractResource, ResourceType } from '@medplum/fhirtypes';
import { isResource } from '../../core/fhir/resource.ts';
import { type Problem, problemsIn } from '../../packages/web/refusal.ts';

/** The HTTP interface with the rights of one assistant. */
export interface Client {
  /** Tokens are bound to this name. */
  readonly name: string;
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
}

/** A response with problems. */
export interface Refusal {
  readonly refused: readonly Problem[];
}

export const isRefusal = (answer: object): answer is Refusal => 'refused' in answer;

type Found<T extends ResourceType> = Promise<ExtractResource<T> | Refusal>;

/** The calls of the tools to the HTTP interface. */
export interface Service {
  readonly read: <T extends ResourceType>(type: T, id: string) => Found<T>;
  readonly search: <T extends ResourceType>(
    type: T,
    query?: readonly (readonly [string, string])[],
  ) => Promise<(ExtractResource<T> & { readonly id: string })[] | Refusal>;
  readonly hold: (body: object) => Found<'Appointment'>;
}

/** @param alternative - URL of the extension with the alternative times of a refusal */
export function serviceFor({ fetch }: Client, baseUrl: string, alternative: string): Service {
  async function call<T extends ResourceType>(type: T, path: string, body?: object): Found<T> {
    const unreachable = new Response('{}', { status: 503 });
    const response = await fetch(`${baseUrl}/${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { accept: 'application/fhir+json', ...(body && { 'content-type': 'application/fhir+json' }) },
      ...(body && { body: JSON.stringify(body) }),
    }).catch(() => unreachable);
    const found: unknown = await response.json();
    if (response.ok && isResource(found, type)) {
      return found;
    }
    const problems = problemsIn(found, { alternative });
    const none = { code: 'exception', text: `The service answered with status ${response.status}.`, alternatives: [] };
    return { refused: problems.length > 0 ? problems : [none] };
  }
  return {
    read: (type, id) => call(type, `${type}/${encodeURIComponent(id)}`),
    search: async (type, query = []) => {
      const params = new URLSearchParams([['_count', '1000'], ...query].map((pair) => [...pair]));
      const found = await call('Bundle', `${type}?${params}`);
      return isRefusal(found)
        ? found
        : (found.entry ?? []).flatMap(({ resource }) =>
            isResource(resource, type) && resource.id ? [{ ...resource, id: resource.id }] : [],
          );
    },
    hold: (body) => call('Appointment', 'Appointment/$hold', body),
  };
}
