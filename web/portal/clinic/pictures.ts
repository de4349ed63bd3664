import { createHash } from 'node:crypto';
import type { Attachment } from '@medplum/fhirtypes';

/** A picture that may be shown: its type is that of its bytes, whatever the resource says. */
export interface Picture {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp';
  readonly bytes: Buffer;
  /** A digest of the bytes: a picture that has changed has another address. */
  readonly version: string;
}

/** The largest picture in bytes, and its longest side in pixels: a small file can hold a picture that fills the memory. */
const MOST_BYTES = 200_000;
const MOST_PIXELS = 2_048;

type Size = readonly [width: number, height: number];

function pngSize(bytes: Buffer): Size | undefined {
  const isPng = bytes.length > 24 && bytes.toString('latin1', 0, 8) === '\x89PNG\r\n\x1a\n';
  return isPng && bytes.toString('latin1', 12, 16) === 'IHDR'
    ? [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
    : undefined;
}

/** The markers of JPEG that begin a frame, which says its size. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

function jpegSize(bytes: Buffer): Size | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) {
    return undefined;
  }
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    if (isFrame(bytes[at + 1] ?? 0)) {
      return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)];
    }
  }
  return undefined;
}

/** The three ways in which WebP says its size (RFC 9649). */
function webpSize(bytes: Buffer): Size | undefined {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') {
    return undefined;
  }
  const bits = bytes.readUInt32LE(21);
  const sizes: Readonly<Record<string, Size>> = {
    'VP8 ': [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff],
    VP8L: [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1],
    VP8X: [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1],
  };
  return sizes[bytes.toString('latin1', 12, 16)];
}

const kinds = [
  ['image/png', pngSize],
  ['image/jpeg', jpegSize],
  ['image/webp', webpSize],
] as const;

/** The first of some attachments that is a picture: PNG, JPEG or WebP by its bytes, with its data in it, and not too large. */
export function pictureIn(attachments: readonly (Attachment | undefined)[]): Picture | undefined {
  for (const data of attachments.map((one) => one?.data)) {
    const bytes = Buffer.from(typeof data === 'string' && data.length < MOST_BYTES * 1.4 ? data : '', 'base64');
    for (const [mediaType, sizeOf] of kinds) {
      const size = bytes.length <= MOST_BYTES ? sizeOf(bytes) : undefined;
      if (size?.every((side) => side > 0 && side <= MOST_PIXELS)) {
        return { mediaType, bytes, version: createHash('sha256').update(bytes).digest('hex').slice(0, 16) };
      }
    }
  }
  return undefined;
}
