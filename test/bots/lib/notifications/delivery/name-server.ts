import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { afterAll, beforeAll, beforeEach } from '@jest/globals';

/** The codes of the records that names of endpoints have. */
const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };

/** A name server of loopback. */
export interface NameServer {
  /** How many questions it was asked in this test. */
  asked: number;
  /** The addresses that it gives each name, as the bytes of a record, and after how many milliseconds; `undefined`: no answer. */
  answer: (
    type: 'A' | 'AAAA',
  ) => { readonly addresses: readonly (readonly number[])[]; readonly after?: number } | undefined;
  /** What asks it. */
  resolver(): Resolver;
}

/** The answer to a question, which names it once more. */
function answerTo(question: Buffer, code: number, addresses: readonly (readonly number[])[]): Buffer {
  const header = Buffer.from([...question.subarray(0, 2), 0x81, 0x80, 0, 1, 0, addresses.length, 0, 0, 0, 0]);
  // Its own name, the type, the class Internet, and a minute to live.
  const records = addresses.map((bytes) => [0xc0, 12, 0, code, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes]);
  const end = question.indexOf(0, 12) + 5;
  return Buffer.concat([header, question.subarray(12, end), Buffer.from(records.flat())]);
}

/** Starts a name server before the tests of a file, and stops it after them. */
export function withNameServer(): NameServer {
  const socket = createSocket('udp4');
  const server: NameServer = {
    asked: 0,
    answer: () => undefined,
    resolver() {
      const one = new Resolver({ timeout: 60_000, tries: 1 });
      one.setServers([`127.0.0.1:${socket.address().port}`]);
      return one;
    },
  };
  let isOpen = true;
  socket.on('message', (question, { port, address }) => {
    server.asked += 1;
    const code = question[question.indexOf(0, 12) + 2] ?? 0;
    const found = server.answer(TYPES[code] ?? 'A');
    if (found) {
      const send = () => isOpen && socket.send(answerTo(question, code, found.addresses), port, address);
      setTimeout(send, found.after ?? 0);
    }
  });
  beforeAll(() => new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve)));
  beforeEach(() => {
    server.asked = 0;
    server.answer = () => undefined;
  });
  afterAll(() => {
    isOpen = false;
    socket.close();
  });
  return server;
}
