import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { formatTable } from '../../../../scripts/cli/table.ts';
import { scaled } from '../../../../test/lib/time-scale.ts';
import { attack, type Findings, isTestServer } from '../../attack/attack.ts';
import { resultOf, violationTable } from '../../attack/violation-table.ts';
import { type Client, clientOf, type Sent } from '../../client.ts';
import { otherServer, plainAttack } from './other-server.ts';

const rounds = (most: number) => ({ goesOn: (soFar: Findings) => soFar.rounds < most });

const isSlot = ({ method, path }: Sent): boolean => method === 'PUT' && path.startsWith('/Slot/');
const isAppointment = ({ method, path }: Sent): boolean => method === 'PUT' && path.startsWith('/Appointment/');

/** A server that answers as if it had done what it has not. */
function lying(client: Client, about: (sent: Sent) => boolean): Client {
  return {
    ...client,
    async send(sent) {
      return about(sent)
        ? { status: 200, header: {}, text: '', resource: { ...Object(sent.body) } }
        : client.send(sent);
    },
  };
}

test(
  'no rule is broken at a FHIR server that keeps to If-Match',
  async () => {
    const findings = await attack({ ...plainAttack(otherServer()), ...rounds(24) });
    expect(findings.violations).toEqual([]);
    expect(resultOf(findings)).toBe('pass');
    expect(findings.booked).toBeGreaterThan(100);
  },
  scaled(10_000),
);

test(
  'a server that ignores If-Match sells a time twice: the shortest history is told',
  async () => {
    const server = otherServer((sent) => (isSlot(sent) ? { ...sent, headers: {} } : sent));
    const findings = await attack({ ...plainAttack(server), ...rounds(24) });
    const [violation] = findings.violations;
    expect(violation?.rule).toBe('order');
    expect(violation?.operations.length).toBeLessThan(5);
    const text = violation && violationTable(violation, formatTable);
    expect(text).toMatch(/^There is one order in which every answer is true: broken\./);
    expect(text).toMatch(/books 1\d:\d\d–1\d:\d\d +done +201/);
    expect(resultOf(findings)).toBe('fail');
  },
  scaled(10_000),
);

test.each<[string, Client, RegExp]>([
  [
    'keeps no Slot taken',
    lying(otherServer(), (sent) => isSlot(sent) && Object(sent.body).status === 'busy'),
    /order|alone/,
  ],
  ['gives nothing back', lying(otherServer(), (sent) => isSlot(sent) && Object(sent.body).status === 'free'), /back/],
  ['cancels nothing', lying(otherServer(), isAppointment), /order|alone/],
])(
  'a server that %s is found out',
  async (_, client, rule) => {
    const { violations } = await attack({ ...plainAttack(client), ...rounds(24) });
    expect(violations.map((violation) => violation.rule).join()).toMatch(rule);
  },
  scaled(10_000),
);

test(
  'where nothing can be booked nothing is shown',
  async () => {
    const client = otherServer();
    const deaf: Client = {
      ...client,
      send: async (sent) => (isSlot(sent) ? { status: 418, header: {}, text: '', resource: {} } : client.send(sent)),
    };
    expect(resultOf(await attack({ ...plainAttack(deaf), ...rounds(3) }))).toBe('undecided');
  },
  scaled(10_000),
);

test('only a server of this machine is attacked, or one that says itself that it is for tests', async () => {
  const far = (experimental: boolean): Client => ({
    baseUrl: 'https://clinic.example/fhir',
    send: async () => ({
      status: 200,
      header: {},
      text: '',
      resource: { resourceType: 'CapabilityStatement', experimental },
    }),
  });
  expect(await isTestServer(clientOf('http://127.0.0.1:1/fhir'), false)).toBe(true);
  expect(
    await Promise.all([isTestServer(far(true), true), isTestServer(far(true), false), isTestServer(far(false), true)]),
  ).toEqual([true, false, false]);
});

test(
  'a server that hangs, redirects or answers without end ends the attack with a sentence, or shows nothing',
  async () => {
    const asked: string[] = [];
    const server = createServer(async ({ url = '' }, response) => {
      asked.push(url);
      if (url.startsWith('/redirects')) {
        response.writeHead(307, { location: `/elsewhere${url}` }).end();
      } else if (url.startsWith('/endless')) {
        response.writeHead(200, { 'content-type': 'application/fhir+json' });
        const more = (): void => {
          while (!response.destroyed && response.write('x'.repeat(65_536)));
        };
        response.on('drain', more);
        more();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const bad = (kind: string): Client =>
      clientOf(`http://127.0.0.1:${port}/${kind}`, 'secret', {
        timeout: kind === 'hangs' ? 200 : scaled(5_000),
        mostBytes: 100_000,
      });
    try {
      const preparing = (kind: string) => attack({ ...plainAttack(bad(kind)), ...rounds(3) });
      await expect(preparing('hangs')).rejects.toThrow(/timeout/);
      await expect(preparing('endless')).rejects.toThrow(/longer than 100000 bytes/);
      await expect(preparing('redirects')).rejects.toThrow(/POST \/Practitioner: 307/);
      expect(asked.filter((url) => url.startsWith('/elsewhere'))).toEqual([]);
      // It is well until somebody books.
      const well = otherServer();
      const worse: Client = { ...well, send: (sent) => (isSlot(sent) ? bad('hangs') : well).send(sent) };
      expect(resultOf(await attack({ ...plainAttack(worse), acts: 2, ...rounds(2) }))).not.toBe('pass');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  },
  scaled(20_000),
);
