import { setImmediate as others } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MAX_VALUES, sizeProblem } from '../../core/fhir/bounds.ts';
import type { Issue } from '../../core/fhir/outcome/outcome.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { xmlReader } from '../../core/fhir/xml/read.ts';
import { formatOfBody, isForm, isJsonPatch } from './content-negotiation.ts';
import { JSON_PATCH, json, xml } from './formats.ts';

/** A request body as it was read: the value, or everything that is wrong with it. */
type ReadBody = { readonly value: unknown } | { readonly issues: readonly Issue[] };

const malformed = (diagnostics: string): ReadBody => ({
  issues: [{ code: 'malformed-request', diagnostics, expression: 'http.body' }],
});

/** The size of a JSON text: how deep objects and arrays are nested, and how many values there are at most. */
interface JsonSize {
  readonly depth: number;
  readonly values: number;
}

/**
 * Measures a JSON text without parsing it, looking at each character once; brackets and commas in strings do not count.
 *
 * @param text - JSON, or anything else
 */
function jsonSize(text: string): JsonSize {
  let values = 1;
  let depth = 0;
  let deepest = 0;
  let isString = false;
  for (let i = 0; i < text.length; i++) {
    const character = text.charCodeAt(i);
    if (isString) {
      if (character === 0x5c) {
        i++;
      } else if (character === 0x22) {
        isString = false;
      }
    } else if (character === 0x22) {
      isString = true;
    } else if (character === 0x7b || character === 0x5b) {
      deepest = Math.max(deepest, ++depth);
      values++;
    } else if (character === 0x2c) {
      values++;
    } else if (character === 0x7d || character === 0x5d) {
      depth--;
    }
  }
  return { depth: deepest, values };
}

function decode(body: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}

type JsonParser = (request: FastifyRequest, text: string, done: (error: Error | null, value?: unknown) => void) => void;

/** The parsed body, or the issue if it exceeds a limit of `core/fhir/bounds.ts`. */
function withinBounds(value: unknown): ReadBody {
  const problem = sizeProblem(value);
  return problem ? malformed(`The body must not ${problem}.`) : { value };
}

/**
 * Reads JSON: no deeper than the limit, no key that would reach a prototype. If a key is repeated, the last one counts.
 * The parser must call back synchronously.
 */
function readJson(text: string, request: FastifyRequest, depth: number, parser: JsonParser): ReadBody {
  if (/\0|\\u0000/.test(text)) {
    return malformed('The body contains the character U+0000, which FHIR does not allow in strings.');
  }
  const size = jsonSize(text);
  if (size.depth > depth) {
    return malformed(`The body is nested deeper than ${depth} levels.`);
  }
  if (size.values > MAX_VALUES) {
    return malformed(`The body has more than ${MAX_VALUES} values.`);
  }
  let result: ReadBody = malformed('The body is not valid JSON.');
  parser(request, text, (error, value) => {
    result = error ? result : withinBounds(value);
  });
  return result;
}

/** Characters of XML that are read without a pause: reading XML takes time. */
const XML_PIECE = 65_536;

/** Reads XML in chunks, between which other requests are served. */
async function readXml(text: string, depth: number): Promise<ReadBody> {
  const reader = xmlReader(depth);
  for (let start = 0; start < text.length && reader.write(text.slice(start, start + XML_PIECE)); start += XML_PIECE) {
    await others();
  }
  const read = reader.end();
  return 'issues' in read
    ? { issues: read.issues.map((issue) => ({ expression: 'http.body', ...issue })) }
    : withinBounds(read.value);
}

/** The kind of body that a route accepts. */
export type BodyKind = 'fhir' | 'form' | 'patch';

/** Whether a request's `Content-Type` and `Content-Encoding` suit a route; if not, the answer is 415. */
export function isSupportedBody(request: FastifyRequest, kind: BodyKind): boolean {
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = request.headers;
  const isFhir = formatOfBody(type) !== undefined;
  const suits: Readonly<Record<BodyKind, boolean>> = {
    form: isForm(type),
    fhir: isFhir,
    patch: isFhir || isJsonPatch(type),
  };
  return encoding === 'identity' && suits[kind];
}

/** Whether a parsed body looks like a patch, by its structure and its `Content-Type`. */
export function isPatchBody({ body, headers }: FastifyRequest): boolean {
  return isJsonPatch(headers['content-type']) ? Array.isArray(body) : isResource(body, 'Parameters');
}

/** Whether the headers of a request declare a body. */
export function declaresBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Makes Fastify read FHIR bodies and forms as `ReadBody`: a body that cannot be read becomes issues, not an exception.
 */
export function addBodyParsers(app: FastifyInstance, depth: number): void {
  const jsonParser: JsonParser = (request, text, done) =>
    void app.getDefaultJsonParser('error', 'error')(request, text, done);
  app.removeAllContentTypeParsers();
  const add = (
    mediaTypes: readonly string[],
    read: (text: string, request: FastifyRequest) => ReadBody | Promise<ReadBody>,
  ): void =>
    void app.addContentTypeParser(
      [...mediaTypes],
      { parseAs: 'buffer' },
      async (request: FastifyRequest, body: Buffer) => {
        const text = decode(body);
        if (text === undefined) {
          return malformed('The body is not valid UTF-8.');
        }
        // A client may name a type and send nothing, as with DELETE; a route that needs a body refuses it itself.
        return text === '' ? { value: undefined } : read(text, request);
      },
    );
  add([...json.mediaTypes, JSON_PATCH], (text, request) => readJson(text, request, depth, jsonParser));
  add(xml.mediaTypes, (text) => readXml(text, depth));
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, body: Buffer): Promise<ReadBody> => ({ value: body.toString() }),
  );
}

/** Whether a body was read by the parsers of `addBodyParsers`. */
export function isReadBody(body: unknown): body is ReadBody {
  return typeof body === 'object' && body !== null && ('value' in body || 'issues' in body);
}
