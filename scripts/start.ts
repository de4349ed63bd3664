import { type Sandbox, type SandboxOptions, startSandbox } from '@appointment-booking/sandbox';
import type { Command } from 'commander';
import { pino } from 'pino';
import type { BotName } from '../core/config/bots.ts';
import type { BookingConfig } from '../core/config/config.ts';
import type { HostedBots } from '../gateway/bots/in-gateway.ts';
import type { UnsealedPolicy } from '../gateway/sealing/access-tokens.ts';
import { type CredentialKeys, parseCredentialKeys } from '../gateway/sealing/credential-keys.ts';
import { buildGateway } from '../gateway/server.ts';
import { buildBots } from './build/bots.ts';
import { buildWeb } from './build/web.ts';
import { loadConfig, loadSettings } from './cli/load-config.ts';
import { colleagues, DEMO_CLINIC } from './demo/clinic.ts';
import { bookDay, busyDay } from './demo/day.ts';
import { untilPublished } from './demo/slots.ts';
import { type Demo, loadDemo } from './demo.ts';
import { type Deployment, deploy, summary } from './deploy.ts';
import { ensurePageClient } from './front-desk.ts';
import { hostBots } from './gateway/hosted-bots.ts';
import { bookingsPerHourFrom, embeddedInFrom, pagesFor } from './gateway/pages.ts';
import { corsOriginsFrom, credentialKeysFrom, limitsFrom, logLevelFrom, toolCallsFrom } from './gateway/settings.ts';
import type { Application } from './gateway/web.ts';
import { descriptionOf } from './generate/openapi-file.ts';
import { keyOf } from './start/credentials-key.ts';
import { type Developer, writeDeveloperFiles } from './start/developer-files.ts';
import { type DevelopersOptions, developers } from './start/developers.ts';
import { forOneMachine, forPort, type Ports, portsFrom, sandboxOptionsFrom, unsealedFrom } from './start/settings.ts';
import { demoStaff, ensureStaff } from './start/staff.ts';

/** Options of a trial on one machine. */
export interface StartOptions {
  /** The installation. Its address on localhost follows the port. */
  readonly config: BookingConfig;
  readonly ports: Ports;
  /**
   * Options of the embedded Medplum that differ from its defaults. Without a data folder it keeps everything in memory.
   */
  readonly medplum?: Omit<SandboxOptions, 'port'>;
  /** The keys that seal the credentials of portals; default: a new one. */
  readonly keys?: CredentialKeys;
  /** Policy for unsealed portal credentials; default: they are refused. */
  readonly unsealed?: UnsealedPolicy;
  /** Whether the pages for patients and staff are built and served too. */
  readonly pages?: boolean;
  /** Folder and settings for the developers' files (`writeDeveloperFiles`); by default none are written. */
  readonly developer?: Developer;
  readonly log: (line: string) => void;
}

/** The running service. */
export interface Running {
  readonly baseUrl: string;
  readonly sandbox: Sandbox;
  readonly demo: Demo;
  /** Stops the gateway, then the embedded Medplum. Running requests are finished. */
  stop(): Promise<void>;
}

/** A minute of the embedded Medplum's cron lasts three seconds, so that retries come soon. */
const CLOCK = '0.05';

const quiet = (): void => undefined;

/** The gateway logs to standard error, by default warnings only; `LOG_LEVEL` changes that. */
const gatewayLogger = () => pino({ level: logLevelFrom(process.env, 'warn') }, pino.destination({ fd: 2, sync: true }));

function printAddresses(
  { baseUrl }: BookingConfig,
  sandbox: Sandbox,
  { clients }: Demo,
  { pages, unsealed, log }: StartOptions,
) {
  if (pages) {
    log(`\nIn the browser    ${new URL('/', baseUrl).href}`);
    for (const { email, password } of demoStaff) {
      log(`                  front desk: ${email}, password ${password}`);
    }
  }
  log(`Gateway           ${baseUrl}`);
  log(`Embedded Medplum  ${sandbox.baseUrl}`);
  const portals = unsealed === 'accepted' ? 'portal-a, portal-b, ' : '';
  log(`\nBearer tokens     ${portals}front-desk (clinic staff), admin`);
  log('Client credentials (id, secret), those of the portals sealed:');
  for (const { name, id, secret } of Object.values(clients)) {
    log(`  ${name.padEnd(14)}  ${id}  ${secret}`);
  }
  log(`  ${'Administrator'.padEnd(14)}  ${sandbox.clientId}  ${sandbox.clientSecret}`);
}

async function gatewayBots(
  { connection, gatewayClient }: Deployment,
  config: BookingConfig,
  { baseUrl }: Sandbox,
): Promise<HostedBots | undefined> {
  if (config.bots === 'medplum' || !gatewayClient) {
    return undefined;
  }
  const { id, secret = '' } = await connection.medplum.readResource('ClientApplication', gatewayClient);
  return hostBots(config, baseUrl, { clientId: id, clientSecret: secret });
}

async function prepareFrontDesk({ connection, policies }: Deployment, { baseUrl }: BookingConfig): Promise<string> {
  await ensureStaff(connection, policies);
  return ensurePageClient(connection, new URL(baseUrl).origin);
}

async function startInFront(
  sandbox: Sandbox,
  config: BookingConfig,
  options: StartOptions,
  building: Promise<Record<BotName, string> | undefined>,
): Promise<Running> {
  const { ports, log } = options;
  const credentials = { baseUrl: sandbox.baseUrl, clientId: sandbox.clientId, clientSecret: sandbox.clientSecret };
  const code = await building;
  const deployment = await deploy({ ...credentials, config, ...(code && { code }), log: quiet });
  log(`Deployed to the embedded Medplum. ${summary(deployment.counts)}`);
  const keys = options.keys ?? parseCredentialKeys(keyOf(undefined));
  const demo = await loadDemo(deployment, config, quiet, keys, options.developer ? colleagues : []);
  await untilPublished(deployment.connection, demo.schedules);
  const { id: clientId, secret: clientSecret } = demo.clients['Portal A'];
  const day = options.developer && (await busyDay(deployment.connection, config, demo.schedules));
  const web = pagesFor(config, {
    assistants: { keys, callsPerMinute: toolCallsFrom(process.env) },
    ...(options.pages && {
      portal: {
        clientId,
        clientSecret,
        clinic: DEMO_CLINIC,
        bookingsPerHour: bookingsPerHourFrom(process.env),
        embeddedIn: embeddedInFrom(process.env),
        isPublished: true,
      },
      frontDesk: { clientId: await prepareFrontDesk(deployment, config), medplumUrl: sandbox.baseUrl, day },
      further: [developersApplication(config, demo.clients['Portal A'])],
    }),
  });
  const bots = await gatewayBots(deployment, config, sandbox);
  const gateway = buildGateway({
    config,
    medplumBaseUrl: sandbox.baseUrl,
    logger: gatewayLogger(),
    bots,
    web,
    sealing: { keys, unsealed: options.unsealed ?? 'refused' },
    corsOrigins: corsOriginsFrom(process.env),
    limits: limitsFrom(process.env),
  });
  await gateway.listen({ port: ports.gateway, host: 'localhost' });
  // The files are written before the addresses are printed.
  const lines = options.developer
    ? writeDeveloperFiles(options.developer, config, sandbox, deployment, demo.clients['Portal A'])
    : [];
  printAddresses(config, sandbox, demo, options);
  if (day) {
    await bookDay(deployment.connection, config, demo.schedules, day);
  }
  log('\nA first booking with curl: README.md');
  for (const line of lines) {
    log(line);
  }
  const stop = async (): Promise<void> => {
    await gateway.close();
    await sandbox.close();
  };
  return { baseUrl: config.baseUrl, sandbox, demo, stop };
}

/**
 * Starts a trial of the service on one machine: an embedded Medplum with the deployed service and demo data, and the
 * gateway. Prints addresses and credentials.
 *
 * @throws Error when a port is taken, or the configuration or a Bot cannot be used
 */
export async function start(options: StartOptions): Promise<Running> {
  const { ports, medplum } = options;
  const config = forOneMachine(forPort(options.config, ports.gateway));
  const pages = options.pages ? buildWeb() : undefined;
  // The gateway's client is built into the Bots. If the gateway runs Bots, its client is not known yet.
  const bots = config.bots === 'medplum' ? buildBots(config) : undefined;
  const building = Promise.all([bots, pages]).then(([code]) => code);
  building.catch(() => undefined);
  const sandbox = await startSandbox({ issuer: `${new URL(config.baseUrl).origin}/`, ...medplum, port: ports.medplum });
  try {
    return await startInFront(sandbox, config, options, building);
  } catch (error) {
    await sandbox.close();
    throw error;
  }
}

function stopOnSignals(running: Running): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      console.log('\nStopping.');
      running.stop().then(
        () => process.exit(0),
        (error: unknown) => {
          console.error(error);
          process.exit(1);
        },
      );
    });
  }
}

/**
 * The page on which developers of portals try the interface of the demo clinic.
 *
 * @param client - a portal's credentials, visible to everybody who opens the page
 */
function developersApplication(config: BookingConfig, client: DevelopersOptions['client']): Application {
  return {
    path: '/developers/',
    title: { en: 'Try the interface', de: 'Schnittstelle ausprobieren' },
    description: {
      en: 'For developers of portals: every call, the guide, the OpenAPI description',
      de: 'Für Entwickler von Portalen: alle Aufrufe, die Anleitung, die OpenAPI-Beschreibung',
    },
    plugin: developers({ description: descriptionOf(config), client, docs: 'docs' }),
  };
}

/** The command line. */
export function define(command: Command): void {
  command
    .description('Starts the service on an embedded Medplum with demo data.')
    .option('--cli-config', 'write medplum.config.json, so that npx medplum bot deploy finds the Bots')
    .action(main);
}

async function main({ cliConfig }: { cliConfig?: boolean }): Promise<void> {
  const { env } = process;
  const medplum = sandboxOptionsFrom({ SANDBOX_DELAY_SCALE: CLOCK, ...env });
  stopOnSignals(
    await start({
      config: loadConfig(),
      ports: portsFrom(env),
      medplum,
      keys: credentialKeysFrom(env) ?? parseCredentialKeys(keyOf(medplum.dataFolder)),
      unsealed: unsealedFrom(env),
      pages: true,
      ...(cliConfig && { developer: { folder: '.', settings: loadSettings() } }),
      log: console.log,
    }),
  );
}
