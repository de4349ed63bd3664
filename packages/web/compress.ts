import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Encodings of a page, the smaller result first. A higher quality is not worth the wait. */
const ways = {
  br: (page: string): Promise<Buffer> =>
    promisify(brotliCompress)(page, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (page: string): Promise<Buffer> => promisify(gzip)(page),
} as const;

/** Minimum length in characters; shorter pages are not worth compressing. */
const LEAST = 1_000;

/** Whether a client accepts an encoding, according to its `Accept-Encoding`. */
export function takes(way: keyof typeof ways, acceptEncoding: unknown): boolean {
  const ranges = typeof acceptEncoding === 'string' ? acceptEncoding.slice(0, 500).toLowerCase().split(',') : [];
  const range = ranges.find((one) => one.trim().split(';')[0] === way);
  return range !== undefined && !/;\s*q=0(\.0*)?\s*$/.test(range);
}

/**
 * Compresses a page by `Accept-Encoding`; `undefined` if it goes uncompressed. Only for pages without secrets: the
 * length of a compressed page reveals something about its content.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3
 */
export async function compressed(
  page: string,
  acceptEncoding: unknown,
): Promise<{ readonly encoding: string; readonly content: Buffer } | undefined> {
  const encoding = (['br', 'gzip'] as const).find((way) => page.length >= LEAST && takes(way, acceptEncoding));
  return encoding && { encoding, content: await ways[encoding](page) };
}
