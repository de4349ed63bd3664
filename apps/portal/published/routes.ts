import rateLimit from '@fastify/rate-limit';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { isObject } from '../../../core/fhir/resource.ts';
import { addressGroup } from '../../../packages/web/address-group.ts';
import { takes } from '../../../packages/web/compress.ts';
import { isRefusal, type Refusal } from '../fhir/client.ts';
import { visitorLimits } from '../http/limits.ts';
import type { Portal } from '../portal.ts';
import { fileOf, type PublishedFile, publishedTypes, readSnapshot, type Snapshot } from './snapshot.ts';

/** Lifetime of the newest snapshot, in milliseconds; the previous one stays readable as long. */
const KEEP = 60_000;

/** Caches the newest snapshot, and the previous one for readers in progress. */
function snapshots(portal: Portal, folder: string) {
  const { service, now } = portal;
  let kept: readonly Snapshot[] = [];
  let reading: Promise<Snapshot | Refusal> | undefined;
  const read = async (): Promise<Snapshot | Refusal> => {
    const found = await readSnapshot(service, now(), (slot) => `${folder}/slots/${slot}`);
    if (!isRefusal(found)) {
      kept = [found, ...kept.slice(0, 1)];
    }
    return found;
  };
  return {
    newest: async (): Promise<Snapshot | Refusal> => {
      const [first] = kept;
      if (first && now() < first.at + KEEP) {
        return first;
      }
      reading ??= read().finally(() => {
        reading = undefined;
      });
      return reading;
    },
    of: (at: string): Snapshot | undefined => kept.find((snapshot) => String(snapshot.at) === at),
  };
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  { text, etag, compressed }: PublishedFile,
  mediaType: string,
  at: number,
): Promise<FastifyReply> {
  reply
    .header('etag', etag)
    .header('cache-control', `public, max-age=${KEEP / 1000}`)
    .header('last-modified', new Date(at).toUTCString())
    .header('vary', 'accept-encoding')
    .header('access-control-allow-origin', '*')
    .header('cross-origin-resource-policy', 'cross-origin');
  const known = request.headers['if-none-match']?.split(',').map((one) => one.trim().replace(/^W\//, ''));
  if (known?.includes(etag)) {
    return reply.code(304).send();
  }
  reply.type(mediaType);
  return takes('gzip', request.headers['accept-encoding'])
    ? reply.header('content-encoding', 'gzip').send(compressed)
    : reply.send(text);
}

function refuse(reply: FastifyReply, status: 404 | 503, code: 'not-found' | 'transient', diagnostics: string) {
  const outcome = { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code, diagnostics }] };
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .type('application/fhir+json')
    .send(JSON.stringify(outcome));
}

/**
 * Publishes the bookable slots for directories and search engines (SMART Scheduling Links): the manifest
 * `$bulk-publish` and an NDJSON file for each type. No authentication: the files contain only public data of the
 * portal.
 *
 * @see https://build.fhir.org/ig/HL7/smart-scheduling-links/
 */
export function publishedRoutes(portal: Portal): FastifyPluginAsync {
  const folder = `${portal.options.origin}${portal.options.path}`;
  const { newest, of } = snapshots(portal, folder);
  return async (scope) => {
    const keyGenerator = ({ ip }: FastifyRequest): string => addressGroup(ip);
    await scope.register(rateLimit, { max: visitorLimits.published, timeWindow: '1 minute', keyGenerator });
    scope.get('/$bulk-publish', async (request, reply) => {
      const found = await newest();
      if (isRefusal(found)) {
        return refuse(reply, 503, 'transient', 'The clinic does not answer. Try again in a minute.');
      }
      const { at, until, states } = found;
      const hints = (type: string): object => ({
        ...(states.length > 0 && { state: states }),
        ...(type === 'Slot' && until !== undefined && { until: formatInstant(until) }),
      });
      const manifest = {
        transactionTime: formatInstant(at),
        request: `${folder}/$bulk-publish`,
        output: publishedTypes.map((type) => ({
          type,
          url: `${folder}/published/${at}/${type}.ndjson`,
          ...(Object.keys(hints(type)).length > 0 && { extension: hints(type) }),
        })),
        error: [],
      };
      return send(request, reply, await fileOf(JSON.stringify(manifest)), 'application/json', at);
    });
    scope.get('/published/:at/:file', async (request, reply) => {
      const { params } = request;
      const [at, file] = isObject(params) ? [String(params.at), String(params.file)] : [];
      const snapshot = of(at ?? '');
      const type = publishedTypes.find((one) => file === `${one}.ndjson`);
      const found = type && snapshot?.files.get(type);
      return snapshot && found
        ? send(request, reply, found, 'application/fhir+ndjson', snapshot.at)
        : refuse(reply, 404, 'not-found', `This file is over. ${folder}/$bulk-publish names the current ones.`);
    });
  };
}
