import type { ExtractResource, OperationOutcomeIssue, ResourceType } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { config, type Door, medplumBase, nextGateway, type Role, tokenOf } from './installation.ts';

/** An answer of the service. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body, if it is JSON. */
  readonly body: unknown;
}

/** What a request may have besides its method and path. */
export interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

async function send(
  door: Door,
  url: string,
  role: Role,
  method: string,
  { body, headers }: RequestOptions,
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: {
      ...(role !== 'nobody' && { authorization: `Bearer ${await tokenOf(role, door)}` }),
      ...(body !== undefined && { 'content-type': 'application/fhir+json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') && text !== '';
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
}

/**
 * A request to the service.
 *
 * @param path - below the service's base address, beginning with a slash
 */
export function request(role: Role, method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  return send('service', `${nextGateway()}${path}`, role, method, options);
}

/** A request to the Medplum server behind the service, past the gateway: for portals with a token they never get. */
export function medplum(role: Role, method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  return send('medplum', `${medplumBase}${path}`, role, method, options);
}

/**
 * The resource in an answer.
 *
 * @throws if the answer holds something else
 */
export function resourceIn<T extends ResourceType>(type: T, { status, body, text }: Answer): ExtractResource<T> {
  if (!isResource(body, type)) {
    throw new Error(`Expected a ${type}, but got ${status}: ${text.slice(0, 600)}`);
  }
  return body;
}

function issuesIn({ body }: Answer): OperationOutcomeIssue[] {
  return isResource(body, 'OperationOutcome') ? body.issue : [];
}

/** The service's error codes in an OperationOutcome, each with its expression: `slot-not-free Appointment.slot[0]`. */
export function issuesOf(response: Answer): string[] {
  const system = artefactUri(config, 'LocalBookingError');
  return issuesIn(response).map(({ details, expression }) => {
    const code = details?.coding?.find((coding) => coding.system === system)?.code ?? 'uncoded';
    return [code, ...(expression ?? [])].join(' ');
  });
}

/** The status of an answer, and the issues in it. */
export const refusalOf = (response: Answer): (number | string)[] => [response.status, ...issuesOf(response)];

/** Whether an answer is an OperationOutcome that says in a sentence what was wrong. */
export function isActionable(response: Answer): boolean {
  const issues = issuesIn(response);
  return (
    issues.length > 0 &&
    issues.every(({ severity, code, diagnostics }) => severity && code && (diagnostics ?? '').length > 20) &&
    (response.headers.get('content-type') ?? '').startsWith('application/fhir+json')
  );
}
