/**
 * Lets Bombadil press, type and go back at random on both pages of an installation of its own, and says what it has found:
 * `npm run explore -- --minutes 30 --page portal`. What it does in all is in `dist/explore`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { parseArgs } from 'node:util';
import type { Slot } from '@medplum/fhirtypes';
import { freePort } from '../../lib/free-port.ts';
import { prepareService } from '../../lib/installation.ts';

/** The tool is fetched when it is wanted: it is large, and nothing else needs it. */
const BOMBADIL = '@antithesishq/bombadil@0.7.0';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, page: { type: 'string', default: 'portal' } },
});
const pages = { portal: '/portal/', 'front-desk': '/front-desk/' };
const page = Object.entries(pages).find(([name]) => name === values.page);
if (!page || !(Number(values.minutes) > 0)) {
  throw new Error('Say --minutes and --page, which is portal or front-desk.');
}

const port = await freePort();
/** One origin for all: the tool leaves it never. */
const origin = `http://localhost:${port}`;
const installation = await prepareService(
  { LOG_LEVEL: 'warn', SANDBOX_DATA: '', TZ: 'Europe/Berlin', PORTAL_BOOKINGS_PER_HOUR: '1000000' },
  { baseUrl: `${origin}/fhir/R4`, timeZone: 'Europe/Berlin' },
);
const { medplumUrl, addresses } = installation;
const gateway = new URL(addresses.BOOKING_BASE_URL ?? '').origin;
const medplum = (path: string, init?: RequestInit): Promise<Response> => fetch(new URL(path, medplumUrl), init);

/** All states that a stored appointment has had. */
async function statesOf(id: string): Promise<string[]> {
  const response = await medplum(`fhir/R4/Appointment/${id}/_history`, { headers: { authorization: 'Bearer admin' } });
  const { entry = [] } = (await response.json()) as { entry?: { resource?: { status: string } }[] };
  return entry.flatMap(({ resource }) => resource?.status ?? []);
}

/** Books each third of the next times: without appointments a desk has nothing to open. */
async function bookSome(): Promise<void> {
  const headers = { authorization: 'Bearer front-desk', 'content-type': 'application/fhir+json' };
  const send = async (url: string, body?: object) => {
    const response = await fetch(url, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
    return (await response.json()) as { id: string; entry?: { resource: Slot }[] };
  };
  const next = `Slot?status=free&start=gt${new Date().toISOString()}&_sort=start&_count=60`;
  const { entry = [] } = await send(`${medplumUrl}fhir/R4/${next}`);
  for (const [index, { resource }] of entry.entries()) {
    if (index % 3 === 0) {
      const name = [{ given: ['Kim'], family: `Muster-${index}` }];
      const { id } = await send(`${medplumUrl}fhir/R4/Patient`, {
        resourceType: 'Patient',
        name,
        birthDate: '1990-05-17',
      });
      await send(`${gateway}/fhir/R4/Appointment/$book`, {
        ...{ resourceType: 'Appointment', status: 'proposed', start: resource.start, end: resource.end },
        slot: [{ reference: `Slot/${resource.id}` }],
        participant: [{ actor: { reference: `Patient/${id}` }, status: 'accepted' }],
      });
    }
  }
}

/** Signs in whoever asks for it, as the sign-in page of Medplum would. */
async function signIn(asked: URLSearchParams): Promise<string> {
  const response = await medplum('auth/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      email: 'maria@clinic.example',
      password: 'front-desk',
      clientId: asked.get('client_id'),
      scope: asked.get('scope'),
      codeChallenge: asked.get('code_challenge'),
      codeChallengeMethod: asked.get('code_challenge_method'),
    }),
  });
  const { code = '' } = (await response.json()) as { code?: string };
  return `${asked.get('redirect_uri')}?${new URLSearchParams({ code, state: asked.get('state') ?? '' })}`;
}

/** Hands a request on; pages find Medplum below this origin, too. */
function handOn(incoming: IncomingMessage, reply: ServerResponse, url: URL): void {
  const isMedplum = url.pathname.startsWith('/medplum/');
  const target = isMedplum
    ? medplumUrl + url.href.slice(`${origin}/medplum/`.length)
    : gateway + url.pathname + url.search;
  const headers = {
    ...incoming.headers,
    'accept-encoding': 'identity',
    host: new URL(isMedplum ? target : origin).host,
  };
  const outgoing = request(target, { method: incoming.method ?? 'GET', headers }, (answer) => {
    const isDesk =
      url.pathname.startsWith('/front-desk') && `${answer.headers['content-type']}`.startsWith('text/html');
    if (!isDesk) {
      reply.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(reply);
      return;
    }
    answer
      .setEncoding('utf8')
      .toArray()
      .then(
        (parts: string[]) => {
          const { 'content-length': _, ...rest } = answer.headers;
          reply.writeHead(answer.statusCode ?? 502, rest);
          reply.end(parts.join('').replaceAll(`&quot;${medplumUrl}&quot;`, `&quot;${origin}/medplum/&quot;`));
        },
        () => reply.destroy(),
      );
  });
  outgoing.once('error', () => reply.destroy());
  incoming.pipe(outgoing);
}

const proxy = createServer((incoming, reply) => {
  const url = new URL(incoming.url ?? '/', origin);
  const isSignIn = /^\/medplum\/(oauth2\/authorize|oauth)$/.test(url.pathname);
  const response = isSignIn
    ? signIn(url.searchParams).then((location) => reply.writeHead(302, { location }).end())
    : undefined;
  if (response === undefined) {
    handOn(incoming, reply, url);
  } else {
    response.catch((error: unknown) => {
      console.error(error);
      reply.destroy();
    });
  }
});
proxy.listen(port, 'localhost');
await installation.start();
if (page[0] === 'front-desk') {
  await bookSome();
}

const [name, path] = page;
const folder = `dist/explore/${name}`;
rmSync(folder, { recursive: true, force: true });
const size = name === 'portal' ? ['--width', '412', '--height', '1400'] : ['--width', '1400', '--height', '1000'];
const limits = ['--time-limit', `${values.minutes}m`, '--exit-on-violation', '--output-path', folder];
const specification = `test/browser/explore/${name}.js`;
const tool = ['browser', 'test', origin + path, specification, '--headless', '--no-sandbox', ...size, ...limits];
const child = spawn('npx', ['--yes', BOMBADIL, ...tool], { stdio: 'inherit' });
const [code] = await once(child, 'exit');

/** Which states in the store stand behind what a page says. */
const meant: Readonly<Record<string, readonly string[]>> = {
  confirmed: ['booked', 'arrived', 'checked-in'],
  asked: ['pending', 'proposed'],
  cancelled: ['cancelled', 'entered-in-error'],
  waiting: ['waitlist'],
};
const said = new Map<string, { readonly id: string; readonly state: string }>();
let steps = 0;
for (const line of readFileSync(`${folder}/trace.jsonl`, 'utf8').split('\n').filter(Boolean)) {
  steps += 1;
  const { snapshots } = JSON.parse(line) as {
    snapshots: { name: string | null; value: { id: string; state: string } | null }[];
  };
  for (const { value } of snapshots.filter((one) => one.name === 'said')) {
    if (value) {
      said.set(`${value.id} ${value.state}`, value);
    }
  }
}
const untrue: string[] = [];
for (const [what, { id, state }] of said) {
  const stored = await statesOf(id);
  if (!(meant[state] ?? stored).some((one) => stored.includes(one))) {
    untrue.push(`${what}: ${stored.join()}`);
  }
}
console.log(`${steps} steps; ${said.size} states of appointments were shown, ${untrue.length} of them never stored.`);
console.log(untrue.join('\n'));
proxy.close();
proxy.closeAllConnections();
await installation.end();
process.exit(untrue.length > 0 ? 1 : (code ?? 1));
