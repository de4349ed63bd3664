import { setTimeout } from 'node:timers/promises';
import type { ExtractResource, ResourceType } from '@medplum/fhirtypes';
import { isResource } from '../../core/fhir/resource.ts';

/** A response: its status, its body (JSON; `undefined` if empty), and the URL of a job (`Content-Location`). */
export interface BenchResponse {
  readonly status: number;
  readonly body: unknown;
  readonly location: string;
}

/** Sends a request with a bearer token. */
export async function send(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  token: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<BenchResponse> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/fhir+json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const location = response.headers.get('content-location') ?? '';
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text), location };
}

/**
 * The resource in a response.
 *
 * @throws Error when the response holds anything else
 */
export function resourceIn<T extends ResourceType>(type: T, { status, body }: BenchResponse): ExtractResource<T> {
  if (!isResource(body, type)) {
    throw new Error(`Expected a ${type}, but got ${status}: ${JSON.stringify(body).slice(0, 400)}`);
  }
  return body;
}

/**
 * Waits until a condition holds.
 *
 * @param what - description of the condition, for the error
 * @param limit - in milliseconds
 * @param pause - between two checks, in milliseconds
 * @throws Error when it takes too long
 */
export async function wait(
  isSo: () => boolean | Promise<boolean>,
  what: string,
  limit = 600_000,
  pause = 2,
): Promise<void> {
  const end = performance.now() + limit;
  while (!(await isSo())) {
    if (performance.now() > end) {
      throw new Error(`Waited too long: ${what}.`);
    }
    await setTimeout(pause);
  }
}
