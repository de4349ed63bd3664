import { crc32 } from 'node:zlib';

/** The chunks of a PNG, by their names. */
function chunksOf(png: Buffer): { readonly name: string; readonly data: Buffer }[] {
  const chunks: { name: string; data: Buffer }[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const end = at + 8 + png.readUInt32BE(at);
    chunks.push({ name: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, end) });
  }
  return chunks;
}

const number = (value: number, bytes: 2 | 4): Buffer => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
};

function chunk(name: string, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat([Buffer.from(name, 'latin1'), ...parts]);
  return Buffer.concat([number(content.length - 4, 4), content, number(crc32(content), 4)]);
}

/**
 * An animated picture (APNG) of pictures of one size and kind, as Chromium takes them. What each PNG holds is used as it is.
 *
 * @param frames - PNGs, each with how long it stays in milliseconds
 * @see https://www.w3.org/TR/png-3/#apng-frame-based-animation
 */
export function filmOf(frames: readonly { readonly png: Buffer; readonly stay: number }[]): Buffer {
  const all = frames.map(({ png, stay }) => ({ chunks: chunksOf(png), stay }));
  const header = all[0]?.chunks.find(({ name }) => name === 'IHDR')?.data ?? Buffer.alloc(0);
  let sequence = 0;
  const next = (): Buffer => number(sequence++, 4);
  const parts = all.flatMap(({ chunks, stay }, index) => {
    if (!chunks.some(({ name, data }) => name === 'IHDR' && data.equals(header))) {
      throw new Error(`Picture ${index + 1} has another size or kind than the first.`);
    }
    const place = [header.subarray(0, 8), number(0, 4), number(0, 4)];
    const control = chunk('fcTL', next(), ...place, number(stay, 2), number(1000, 2), Buffer.alloc(2));
    const data = chunks.filter(({ name }) => name === 'IDAT').map((one) => one.data);
    return [control, ...data.map((one) => (index === 0 ? chunk('IDAT', one) : chunk('fdAT', next(), one)))];
  });
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  const control = chunk('acTL', number(frames.length, 4), number(0, 4));
  return Buffer.concat([signature, chunk('IHDR', header), control, ...parts, chunk('IEND')]);
}
