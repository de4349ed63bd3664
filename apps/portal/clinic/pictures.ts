import { createHash } from 'node:crypto';
import type { Attachment } from '@medplum/fhirtypes';
import { MAX_BYTES, MAX_PIXELS, type PictureKind, pictureKind } from '../../../packages/web/picture-kind.ts';

/** A picture with the media type of its bytes; the type in the resource is not trusted. */
export interface Picture extends Pick<PictureKind, 'mediaType'> {
  readonly bytes: Buffer;
  /** A digest of the bytes, so that a changed picture has another URL. */
  readonly version: string;
}

/** Returns the first attachment with valid picture data: PNG, JPEG or WebP by its bytes, and within the size limits. */
export function pictureIn(attachments: readonly (Attachment | undefined)[]): Picture | undefined {
  for (const data of attachments.map((attachment) => attachment?.data)) {
    const bytes = Buffer.from(typeof data === 'string' && data.length < MAX_BYTES * 1.4 ? data : '', 'base64');
    const kind = bytes.length <= MAX_BYTES ? pictureKind(bytes) : undefined;
    if (kind && kind.width <= MAX_PIXELS && kind.height <= MAX_PIXELS) {
      const version = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
      return { mediaType: kind.mediaType, bytes, version };
    }
  }
  return undefined;
}
