import { parse as parseForm } from 'node:querystring';
import { badRequest, ContentType, OperationOutcomeError } from '@medplum/core';

type Parse = (body: Buffer) => unknown;

function parseJson(body: Buffer): unknown {
  if (body.length === 0) {
    return {};
  }
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (typeof value === 'object' && value !== null) {
      return value;
    }
  } catch {
    // answered below like any other body that is not an object
  }
  throw new OperationOutcomeError(badRequest('Content could not be parsed'));
}

const parsers: readonly { readonly types: RegExp; readonly parse: Parse }[] = [
  { types: /^application\/(json|[^;]*\+json)\b/i, parse: parseJson },
  {
    types: /^application\/x-www-form-urlencoded\b/i,
    parse: (body) => ({ ...parseForm(body.toString('utf8')) }),
  },
  { types: /^text\/plain\b/i, parse: (body) => body.toString('utf8') },
];

/**
 * Reads a request's body by its content type. As in Medplum, an unknown type gives an empty object.
 *
 * @throws OperationOutcomeError (400) for invalid JSON
 */
export function parseBody(contentType: string | undefined, body: Buffer): unknown {
  const parser = parsers.find(({ types }) => types.test(contentType ?? ''));
  return parser ? parser.parse(body) : {};
}

/** Whether a request says that its body is a form. */
export function isForm(contentType: string | undefined): boolean {
  return contentType?.toLowerCase().startsWith(ContentType.FORM_URL_ENCODED) ?? false;
}
