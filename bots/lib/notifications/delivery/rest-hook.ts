import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { finished } from 'node:stream';
import { clearTimeout, setTimeout } from 'node:timers';
import type { Bundle } from '@medplum/fhirtypes';
import { isXml } from '../../../../core/fhir/media-types.ts';
import { toXml } from '../../../../core/fhir/xml/write.ts';
import { headersOf } from '../../../../core/notifications/subscription/channel.ts';
import type { SubscriptionParameters } from '../../../../core/notifications/subscription/subscription-parameters.ts';
import { config } from '../../config.ts';
import { resolveEndpoint } from './resolve-endpoint.ts';

/** The maximum number of bytes read of a response; the rest is ignored. */
const MAX_READ = 64 * 1024;

/** Reads a response to its end; returns its problem, if any. */
function readAnswer(response: IncomingMessage): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const status = response.statusCode ?? 0;
  const isSuccess = status >= 200 && status < 300;
  const result = isSuccess ? undefined : `The endpoint answered with status ${status}.`;
  let size = 0;
  response.on('data', (chunk: { length: number }) => {
    size += chunk.length;
    if (size > MAX_READ) {
      resolve(result);
      response.destroy();
    }
  });
  const broken = 'The endpoint closed the connection before its response was complete.';
  finished(response, (error) => resolve(result ?? (error ? broken : undefined)));
  return promise;
}

function reasonOf(error: Error & { readonly code?: string }): string {
  return `The endpoint cannot be reached (${error.code ?? 'connection failed'}).`;
}

/** Sends a request; returns the problem of the response, or a timeout after the limit, in milliseconds. */
function send(
  endpoint: URL,
  options: RequestOptions,
  body: string,
  limit: number,
  late: string,
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const start = endpoint.protocol === 'https:' ? httpsRequest : httpRequest;
  const request = start(endpoint, options);
  const timer = setTimeout(() => {
    resolve(late);
    request.destroy();
  }, limit);
  request.on('response', (response) => void readAnswer(response).then(resolve));
  request.on('error', (error) => resolve(reasonOf(error)));
  request.end(body);
  return promise.finally(() => clearTimeout(timer));
}

/**
 * Sends a notification. The connection goes to exactly the addresses that were checked, whatever the name resolves to by
 * then; certificates are checked against the name. A redirect is an answer like any other that is not 2xx. The time limit
 * of the Subscription covers everything together: name resolution, connection, TLS, and the whole answer.
 * @param headers - `channel.header` of the Subscription
 * @returns what went wrong, or `undefined` if the whole of a 2xx answer came in time
 */
export async function postNotification(
  endpoint: URL,
  { mediaType, timeout }: Pick<SubscriptionParameters, 'mediaType' | 'timeout'>,
  headers: readonly string[] | undefined,
  bundle: Bundle,
): Promise<string | undefined> {
  const end = Date.now() + timeout;
  const destination = await resolveEndpoint(endpoint, timeout, config.notifications.allowedNetworks);
  if ('problem' in destination) {
    return destination.problem;
  }
  const body = isXml(mediaType) ? toXml(bundle) : JSON.stringify(bundle);
  const [first] = destination.addresses;
  const options: RequestOptions = {
    method: 'POST',
    agent: false,
    headers: {
      ...headersOf(headers),
      'content-type': mediaType,
      'content-length': new TextEncoder().encode(body).length,
    },
    lookup: (_name, { all }, callback) =>
      all ? callback(null, [...destination.addresses]) : callback(null, first.address, first.family),
  };
  const late = `The endpoint did not answer within ${timeout / 1000} s.`;
  return send(endpoint, options, body, Math.max(1, end - Date.now()), late);
}
