import { MAX_BYTES, pictureKind } from '../../../../packages/web/picture-kind.ts';

/** Maximum file size in bytes, and maximum side of its picture in pixels: enough for cameras. */
const MAX_FILE_SIZE = 30_000_000;
const MAX_SIDE = 12_000;

/** Longest side of a stored picture, in pixels: small, but sharp on any screen. */
const STORED = { logo: 512, photo: 320 } as const;

/** Types of a stored picture; the first that is small enough is used. A logo may be transparent. */
const types = { logo: ['image/png', 'image/jpeg'], photo: ['image/jpeg'] } as const;

/**
 * A chosen file as a `data:` URL of a picture to store. It is drawn again at a smaller size, so that nothing else in
 * the file (location, script, camera) is stored. `undefined` if it is no PNG, JPEG or WebP, or too large.
 */
export async function pictureOf(file: File, use: keyof typeof types): Promise<string | undefined> {
  const kind = file.size <= MAX_FILE_SIZE ? pictureKind(new Uint8Array(await file.arrayBuffer())) : undefined;
  if (!kind || Math.max(kind.width, kind.height) > MAX_SIDE) {
    return undefined;
  }
  const bitmap = await createImageBitmap(file).catch(() => undefined);
  if (!bitmap) {
    return undefined;
  }
  const canvas = document.createElement('canvas');
  const scale = Math.min(1, STORED[use] / Math.max(bitmap.width, bitmap.height));
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return types[use].map((type) => canvas.toDataURL(type, 0.85)).find((url) => url.length * 0.75 < MAX_BYTES);
}
