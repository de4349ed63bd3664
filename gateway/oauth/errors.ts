import type { OperationOutcome } from '@medplum/fhirtypes';
import type { FastifyReply } from 'fastify';
import { isObject, isResource, parseJson } from '../../core/fhir/resource.ts';
import { only } from '../handler.ts';
import type { FhirResponse } from '../http/response.ts';
import type { RawResponse } from '../medplum/client.ts';

/** An OAuth error; the standard names its members. */
interface OAuthError {
  readonly error:
    | 'invalid_request'
    | 'invalid_client'
    | 'unsupported_grant_type'
    | 'temporarily_unavailable'
    | 'server_error';
  readonly error_description: string;
}

/** The error code of a status. */
function codeOf(status: number): OAuthError['error'] {
  if (status === 429 || status === 503 || status === 504) {
    return 'temporarily_unavailable';
  }
  return status >= 500 ? 'server_error' : 'invalid_request';
}

/** The path of the service's OAuth endpoints. */
export const isOAuthPath = (url: string): boolean => /^\/oauth2\//.test(url);

function sentenceOf(outcome: OperationOutcome | undefined): string {
  const issue = outcome?.issue[0];
  return issue?.diagnostics ?? issue?.details?.text ?? 'The request was refused.';
}

/**
 * Writes a refusal of the gateway in the form of OAuth: JSON with `error` and `error_description`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2
 */
export function sendOAuthProblem(reply: FastifyReply, { status, headers, resource }: FhirResponse): FastifyReply {
  const outcome = isResource(resource, 'OperationOutcome') ? resource : undefined;
  const body: OAuthError = { error: codeOf(status), error_description: sentenceOf(outcome) };
  return reply
    .code(status)
    .headers({ 'cache-control': 'no-store', ...headers })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(body));
}

/** A refusal of the token endpoint: what is wrong with the request, or with the client (RFC 6749, section 5.2). */
export interface OAuthRefusal {
  readonly status: 400 | 401;
  readonly error: OAuthError['error'];
  /** The value that was sent, and those that are allowed. */
  readonly description: string;
}

/** Writes a refusal of the token endpoint. */
export function sendOAuthRefusal(reply: FastifyReply, { status, error, description }: OAuthRefusal): FastifyReply {
  return reply
    .code(status)
    .headers({ 'cache-control': 'no-store', ...(status === 401 && { 'www-authenticate': 'Basic' }) })
    .send({ error, error_description: description });
}

const responseHeaders = ['www-authenticate', 'retry-after'] as const;

/**
 * Writes a refusal of Medplum as an error of OAuth, whether it is one, an OperationOutcome or plain text.
 *
 * @param raw - with a status of 400 or above
 */
export function sendMedplumRefusal(reply: FastifyReply, { status, headers, text }: RawResponse): FastifyReply {
  const body = parseJson(text);
  const { error, error_description: said } = isObject(body) ? body : {};
  const sentence = isResource(body, 'OperationOutcome') ? sentenceOf(body) : said;
  return reply
    .code(status)
    .headers({ ...only(headers, responseHeaders), 'cache-control': 'no-store' })
    .send({
      error: typeof error === 'string' ? error : codeOf(status),
      error_description: typeof sentence === 'string' ? sentence : `The request was refused with status ${status}.`,
    });
}
