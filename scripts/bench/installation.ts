import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sealedTokens } from '../demo/sealed-tokens.ts';

/** The installation that is measured. */
export interface Installation {
  /** FHIR base address of the gateway that the next request goes to, without a trailing slash: they take turns. */
  readonly base: string;
  /** FHIR base address of the Medplum server behind it, without a trailing slash. */
  readonly medplum: string;
  /** All gateways. */
  readonly gateways: readonly string[];
  /**
   * Bearer tokens: a requestor's; the clinic staff's; and, for some measurements only (else empty), another requestor's, the
   * administrator's, and that of a client in a project of the same server that never had the service, to compare with.
   */
  readonly tokens: Readonly<Record<'portal' | 'other' | 'staff' | 'admin' | 'plain', string>>;
  /** Logs in again if the tokens are old: a long measurement calls it now and then. */
  renew(): Promise<void>;
  stop(): void;
}

/** Tokens are renewed after this many milliseconds: Medplum's are valid for an hour. */
const RENEW_AFTER = 20 * 60_000;

type Environment = Readonly<Record<string, string | undefined>>;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

/** Path of a copy of the configuration with raised limits: a benchmark books as much as it can. */
function configurationFile(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'bench-')), 'booking.config.json');
  const own: { notifications?: object } = JSON.parse(
    readFileSync(process.env.BOOKING_CONFIG ?? 'booking.config.json', 'utf8'),
  );
  const requestors = { maxOpenAppointments: 10_000, maxBookingsPerMinute: 10_000 };
  const notifications = { ...own.notifications, maxSubscriptions: 800 };
  writeFileSync(file, JSON.stringify({ ...own, requestors, notifications }));
  return file;
}

/** Starts the service on an embedded Medplum, in a process of its own. */
async function startEmbedded(): Promise<Installation> {
  const [port, medplumPort] = [await freePort(), await freePort()];
  const key = randomBytes(32).toString('base64');
  const tokens = await sealedTokens(`http://localhost:${port}/fhir/R4`, key);
  const child = spawn(process.execPath, ['scripts/booking.ts', 'start'], {
    env: {
      ...process.env,
      PORT: String(port),
      MEDPLUM_PORT: String(medplumPort),
      BOOKING_CONFIG: configurationFile(),
      LOG_LEVEL: 'warn',
      CREDENTIALS_KEY: key,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('curl')) {
        resolve();
      }
    });
    child.once('exit', (code) => reject(new Error(`The service did not start (exit code ${code}):\n${output}`)));
  });
  const base = `http://localhost:${port}/fhir/R4`;
  return {
    base,
    gateways: [base],
    medplum: `http://localhost:${medplumPort}/fhir/R4`,
    tokens: {
      portal: required(tokens, 'PORTAL_A_TOKEN'),
      other: required(tokens, 'PORTAL_B_TOKEN'),
      staff: 'front-desk',
      admin: 'admin',
      plain: '',
    },
    renew: () => Promise.resolve(),
    stop: () => void child.kill('SIGTERM'),
  };
}

function required(environment: Environment, name: string): string {
  const value = environment[name];
  if (!value) {
    throw new Error(`Set ${name}, or unset BOOKING_BASE_URL and MEDPLUM_BASE_URL to measure the embedded service.`);
  }
  return value;
}

/** Logs in at the origin of the service or of Medplum. */
async function logIn(origin: string, id: string, secret: string): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret };
  const response = await fetch(`${origin}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) });
  const { access_token: token } = (await response.json()) as { access_token?: string };
  if (!token) {
    throw new Error(`${origin} issued no token to ${id} (${response.status}).`);
  }
  return token;
}

async function tokenOf(environment: Environment, prefix: string, origin: string): Promise<string> {
  const given = environment[`${prefix}_TOKEN`];
  const credentials = () =>
    [required(environment, `${prefix}_CLIENT_ID`), required(environment, `${prefix}_CLIENT_SECRET`)] as const;
  return given || logIn(origin, ...credentials());
}

/**
 * The installation that the environment names (BOOKING_BASE_URL, MEDPLUM_BASE_URL, and for PORTAL_A, FRONT_DESK, ADMIN and,
 * in another project, PLAIN either a `…_TOKEN` or `…_CLIENT_ID` and `…_CLIENT_SECRET`), or else an embedded one in a process of its own.
 * As in the contract tests, BOOKING_GATEWAYS may list several gateways, separated by commas.
 *
 * @throws Error that says what is missing
 */
export async function findInstallation(environment: Environment): Promise<Installation> {
  if (!environment.BOOKING_BASE_URL && !environment.MEDPLUM_BASE_URL) {
    return startEmbedded();
  }
  const medplumUrl = required(environment, 'MEDPLUM_BASE_URL').replace(/\/$/, '');
  const base = required(environment, 'BOOKING_BASE_URL').replace(/\/$/, '');
  const gateways = environment.BOOKING_GATEWAYS?.split(',') ?? [base];
  const { origin } = new URL(base);
  const logInAll = async (): Promise<Installation['tokens']> => {
    const tokenIfAny = (prefix: string, where: string) =>
      environment[`${prefix}_TOKEN`] || environment[`${prefix}_CLIENT_ID`] ? tokenOf(environment, prefix, where) : '';
    const [portal, other, staff, admin, plain] = await Promise.all([
      tokenOf(environment, 'PORTAL_A', origin),
      tokenIfAny('PORTAL_B', origin),
      tokenOf(environment, 'FRONT_DESK', medplumUrl),
      tokenIfAny('ADMIN', medplumUrl),
      tokenIfAny('PLAIN', medplumUrl),
    ]);
    return { portal, other, staff, admin, plain };
  };
  let tokens = await logInAll();
  let since = Date.now();
  let turn = 0;
  return {
    get base() {
      return gateways[turn++ % gateways.length] ?? base;
    },
    gateways,
    medplum: `${medplumUrl}/fhir/R4`,
    get tokens() {
      return tokens;
    },
    async renew() {
      if (Date.now() - since > RENEW_AFTER) {
        tokens = await logInAll();
        since = Date.now();
      }
    },
    stop: () => undefined,
  };
}
