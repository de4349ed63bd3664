import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** How pages are compressed, the smaller first; as hard as is worth it while somebody waits. */
const ways = {
  br: (page: string): Promise<Buffer> =>
    promisify(brotliCompress)(page, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (page: string): Promise<Buffer> => promisify(gzip)(page),
} as const;

/** Shorter pages are not worth compressing; in characters. */
const LEAST = 1_000;

/**
 * Whether a client takes a way of compression.
 *
 * @param acceptEncoding - `Accept-Encoding` of the request
 */
export function takes(way: keyof typeof ways, acceptEncoding: unknown): boolean {
  const ranges = typeof acceptEncoding === 'string' ? acceptEncoding.slice(0, 500).toLowerCase().split(',') : [];
  const range = ranges.find((one) => one.trim().split(';')[0] === way);
  return range !== undefined && !/;\s*q=0(\.0*)?\s*$/.test(range);
}

/**
 * Compresses a page for a browser that takes it. Only for pages without anything secret: the length of a compressed page
 * reveals something about its content.
 *
 * @param acceptEncoding - `Accept-Encoding` of the request
 * @returns with the name of the encoding; `undefined` where the page goes as it is
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3
 */
export async function compressed(
  page: string,
  acceptEncoding: unknown,
): Promise<{ readonly encoding: string; readonly content: Buffer } | undefined> {
  const encoding = (['br', 'gzip'] as const).find((way) => page.length >= LEAST && takes(way, acceptEncoding));
  return encoding && { encoding, content: await ways[encoding](page) };
}
