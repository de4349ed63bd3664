/** The type and size of a picture, according to its bytes. */
export interface PictureKind {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp';
  /** In pixels. */
  readonly width: number;
  readonly height: number;
}

/** The largest picture that is shown, in bytes and in pixels per side: a small file can fill the memory. */
export const MAX_BYTES = 200_000;
export const MAX_PIXELS = 2_048;

type Size = readonly [width: number, height: number];

const HEAD = 32;

const headOf = (view: DataView): string =>
  String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset, Math.min(HEAD, view.byteLength)));

function pngSize(view: DataView): Size | undefined {
  const head = headOf(view);
  return view.byteLength > 24 && head.startsWith('\x89PNG\r\n\x1a\n') && head.startsWith('IHDR', 12)
    ? [view.getUint32(16), view.getUint32(20)]
    : undefined;
}

/** The markers of a JPEG frame, which contains the size. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

function jpegSize(view: DataView): Size | undefined {
  if (view.byteLength < 4 || view.getUint16(0) !== 0xffd8) {
    return undefined;
  }
  for (let at = 2; at + 9 < view.byteLength && view.getUint8(at) === 0xff; at += 2 + view.getUint16(at + 2)) {
    if (isFrame(view.getUint8(at + 1))) {
      return [view.getUint16(at + 7), view.getUint16(at + 5)];
    }
  }
  return undefined;
}

/** WebP has three kinds of first chunks, each with another encoding of the size. */
function webpSize(view: DataView): Size | undefined {
  const head = headOf(view);
  if (view.byteLength < 30 || !head.startsWith('RIFF') || !head.startsWith('WEBPVP8', 8)) {
    return undefined;
  }
  const little = (at: number): number => view.getUint16(at, true);
  if (head[15] === ' ') {
    return [little(26) & 0x3fff, little(28) & 0x3fff];
  }
  if (head[15] === 'L') {
    const bits = view.getUint32(21, true);
    return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
  }
  const side = (at: number): number => 1 + little(at) + view.getUint8(at + 2) * 65_536;
  return head[15] === 'X' ? [side(24), side(27)] : undefined;
}

const kinds = [
  ['image/png', pngSize],
  ['image/jpeg', jpegSize],
  ['image/webp', webpSize],
] as const;

/** The kind of a picture, whatever its file name says; `undefined` if the bytes are no PNG, JPEG or WebP. */
export function pictureKind(bytes: Uint8Array): PictureKind | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const [mediaType, sizeOf] of kinds) {
    const [width = 0, height = 0] = sizeOf(view) ?? [];
    if (width > 0 && height > 0) {
      return { mediaType, width, height };
    }
  }
  return undefined;
}
