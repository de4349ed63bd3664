import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const gzipped = promisify(gzip);

/** Shorter pages are not worth compressing; in characters. */
const LEAST = 1_000;

/**
 * Whether a client takes gzip.
 *
 * @param acceptEncoding - `Accept-Encoding` of the request
 */
export function takesGzip(acceptEncoding: unknown): boolean {
  const ranges = typeof acceptEncoding === 'string' ? acceptEncoding.slice(0, 500).toLowerCase().split(',') : [];
  const gzipRange = ranges.find((range) => range.trim().split(';')[0] === 'gzip');
  return gzipRange !== undefined && !/;\s*q=0(\.0*)?\s*$/.test(gzipRange);
}

/**
 * Compresses a page for a browser that takes it. Only for pages without anything secret: the length of a compressed page
 * reveals something about its content.
 *
 * @param acceptEncoding - `Accept-Encoding` of the request
 * @returns `undefined` where the page goes as it is
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3
 */
export async function compressed(page: string, acceptEncoding: unknown): Promise<Buffer | undefined> {
  return page.length >= LEAST && takesGzip(acceptEncoding) ? gzipped(page) : undefined;
}
