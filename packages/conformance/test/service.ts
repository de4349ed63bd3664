import { randomUUID } from 'node:crypto';
import type { BookingConfig } from '../../../core/config/config.ts';
import { presets } from '../../../core/config/presets.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { start } from '../../../scripts/start.ts';
import { freePort } from '../../../test/lib/free-port.ts';
import { answerTimeout } from '../../../test/lib/time-scale.ts';
import type { Check, Stage } from '../check.ts';
import { allChecks } from '../checks/all.ts';
import { type Client, clientOf } from '../client.ts';
import { type Listener, listen } from '../listener.ts';
import { logIn } from '../login.ts';
import type { Given } from '../preparation/prepare.ts';
import { type Findings, runChecks } from '../run.ts';
import { serviceTypeToBook } from '../service-type.ts';

/** The names of the presets. */
export const stages = Object.keys(presets) as Stage[];

/** What of an examination differs from test to test. */
interface Options {
  readonly checks?: readonly Check[];
  /** Changes what the requestor is answered, as if the service were broken, or watches it. */
  readonly broken?: (client: Client) => Client;
  readonly withoutStaff?: true;
  readonly given?: Given;
}

/** The sandbox with a preset, and the kit at it. */
export interface Service {
  readonly config: BookingConfig;
  readonly baseUrl: string;
  readonly staffUrl: string;
  /** With which credentials the command logs in as a requestor. */
  readonly credentials: { readonly clientId: string; readonly clientSecret: string };
  readonly requestor: Client;
  readonly staff: Client;
  examine(options?: Options): Promise<Findings>;
  stop(): Promise<void>;
}

/** Later than anything that is published. */
const FROM = Date.parse('2031-03-03T10:00:00Z');

/** Starts the service with a preset on ports of its own. */
export async function startService(stage: Stage): Promise<Service> {
  const ports = { gateway: await freePort(), medplum: await freePort() };
  const config = resolveConfig({
    preset: stage,
    baseUrl: `http://localhost:${ports.gateway}/fhir/R4`,
    timeout: answerTimeout,
  });
  const running = await start({ config, ports, medplum: { delayScale: 0.05 }, log: () => undefined });
  const staffUrl = `http://localhost:${ports.medplum}/fhir/R4`;
  const { id: clientId, secret: clientSecret } = running.demo.clients['Portal A'];
  const requestor = await logIn({ baseUrl: running.baseUrl, clientId, clientSecret });
  const staff = clientOf(staffUrl, 'front-desk');
  const listener: Listener = await listen({ port: 0 });
  return {
    config,
    baseUrl: running.baseUrl,
    staffUrl,
    credentials: { clientId, clientSecret },
    requestor,
    staff,
    async examine({ checks = allChecks, broken, withoutStaff, given = {} } = {}) {
      return runChecks({
        checks,
        stage,
        config,
        requestor: broken ? broken(requestor) : requestor,
        nobody: broken ? broken(clientOf(running.baseUrl)) : clientOf(running.baseUrl),
        ...(!withoutStaff && { staff }),
        listener,
        given,
        serviceType: await serviceTypeToBook(requestor, given.schedule),
        run: randomUUID(),
        from: withoutStaff ? Date.now() : FROM,
        onResult: () => undefined,
      });
    },
    async stop() {
      await listener.close();
      await running.stop();
    },
  };
}

/** How many resources staff find. */
export async function countOf({ staff }: Service, query: string): Promise<number> {
  const { resource } = await staff.send({ method: 'GET', path: `/${query}&_summary=count` });
  const total: unknown = Object(resource).total;
  return typeof total === 'number' ? total : Number.NaN;
}
