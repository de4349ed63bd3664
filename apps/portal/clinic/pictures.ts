import { createHash } from 'node:crypto';
import type { Attachment } from '@medplum/fhirtypes';
import { MAX_BYTES, MAX_PIXELS, type PictureKind, pictureKind } from '../../../packages/web/picture-kind.ts';

/** A picture that may be shown: its type is that of its bytes, whatever the resource says. */
export interface Picture extends Pick<PictureKind, 'mediaType'> {
  readonly bytes: Buffer;
  /** A digest of the bytes: a picture that has changed has another address. */
  readonly version: string;
}

/** The first of some attachments that is a picture: PNG, JPEG or WebP by its bytes, with its data in it, and not too large. */
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
