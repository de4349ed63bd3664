import { expect, test } from '@jest/globals';
import { pictureIn } from '../clinic/pictures.ts';

const jpeg = (width: number): Buffer => {
  const bytes = Buffer.from('ffd8ffe000040000ffc0000b080001000001010100', 'hex');
  bytes.writeUInt16BE(width, 15);
  return bytes;
};

function webp(kind: 'VP8 ' | 'VP8L' | 'VP8X' | 'VP9 ', width: number): Buffer {
  const bytes = Buffer.alloc(40);
  bytes.write(`RIFF....WEBP${kind}`, 'latin1');
  if (kind === 'VP8 ') {
    bytes.writeUInt16LE(width, 26);
    bytes.writeUInt16LE(7, 28);
  } else if (kind === 'VP8L') {
    bytes.writeUInt32LE(width - 1, 21);
  } else {
    bytes.writeUIntLE(width - 1, 24, 3);
  }
  return bytes;
}

const typeOf = (bytes: Buffer, contentType = 'text/html') =>
  pictureIn([{ contentType, data: bytes.toString('base64') }])?.mediaType;

test.each([
  ['image/jpeg', jpeg],
  ['image/webp', (width: number) => webp('VP8 ', width)],
  ['image/webp', (width: number) => webp('VP8L', width)],
  ['image/webp', (width: number) => webp('VP8X', width)],
] as const)('%s is known by its bytes, and bounded by the size that they name (%#)', (type, of) => {
  expect([typeOf(of(48)), typeOf(of(2_048)), typeOf(of(2_049))]).toEqual([type, type, undefined]);
});

test.each([
  ['another kind of WebP', webp('VP9 ', 48)],
  ['a beginning of a WebP', webp('VP8X', 48).subarray(0, 20)],
  ['a picture that is a program', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')],
  ['a file that is too large', Buffer.concat([jpeg(48), Buffer.alloc(200_000)])],
  ['nothing', Buffer.alloc(0)],
])('%s is no picture', (_, bytes) => {
  expect(typeOf(bytes, 'image/jpeg')).toBeUndefined();
});
