import { AsyncLocalStorage } from 'node:async_hooks';
import type { Bot } from '@medplum/fhirtypes';
import { type BotName, callableBots } from '../../../../core/config/bots.ts';
import { buildBots } from '../../../../scripts/build/bots.ts';
import type { Occasion } from '../../../../test/simulation/medplum.ts';
import type { Mistake } from '../../../../test/simulation/world.ts';
import type { Client } from '../../client.ts';
import { logIn } from '../../login.ts';
import { startService } from './service.ts';

type Handler = (medplum: unknown, event: { readonly input: unknown }) => unknown;

const HOOK = 'bookingMistakes';

/** Bots run in this process: what they send and receive goes by `fetch`, which knows on whose behalf. */
const running = new AsyncLocalStorage<Occasion>();

function occasionOf(name: string, input: unknown): Occasion {
  if (typeof input === 'object' && input !== null && 'resourceType' in input && input.resourceType === 'Bot') {
    return 'clock';
  }
  const isCalled = name === 'process-booking' || callableBots.some((callableBot) => callableBot === name);
  return name.startsWith('validate-') ? 'guard' : isCalled ? 'call' : 'job';
}

/** The service on an embedded Medplum, whose Bots can be made to make a mistake. */
export async function startMistaken() {
  let mistake: Mistake = {};
  const real = globalThis.fetch;
  globalThis.fetch = async (url, init) => {
    const occasion = running.getStore();
    if (!occasion || typeof init?.body !== 'string' || !init.body.startsWith('{')) {
      return real(url, init);
    }
    const request = { method: 'POST' as const, path: String(url), body: JSON.parse(init.body) };
    const { body } = mistake.spoilt?.(occasion, request) ?? request;
    const response = await real(url, { ...init, body: JSON.stringify(body) });
    if (!mistake.misread) {
      return response;
    }
    const { status, headers } = response;
    return new Response(mistake.misread(occasion, await response.text()), { status, headers });
  };
  Object.assign(process, {
    [HOOK](name: string, run: Handler, medplum: unknown, event: { readonly input: unknown }) {
      const occasion = occasionOf(name, event.input);
      return mistake.isIdle?.(occasion, event.input) ? true : running.run(occasion, () => run(medplum, event));
    },
  });
  // The clock would mend within seconds what it mends within a minute.
  const service = await startService({ delayScale: 1 });
  const { baseUrl, clientId, clientSecret } = service.running.sandbox;
  const admin: Client = await logIn({
    baseUrl: `${baseUrl}fhir/R4`,
    tokenUrl: `${baseUrl}oauth2/token`,
    clientId,
    clientSecret,
  });
  const code = await buildBots(service.config);
  const { resource } = await admin.send({ method: 'GET', path: '/Bot?_count=100' });
  const found: readonly { resource: Bot }[] = Object(resource).entry;
  for (const { id, name } of found.map((entry) => entry.resource)) {
    const own = code[name as BotName];
    if (own) {
      const wrapped = `${own}\n{ const run = exports.handler; exports.handler = (m, e) => process.${HOOK}('${name}', run, m, e); }`;
      const body = { code: wrapped };
      const answer = await admin.send({ method: 'POST', path: `/Bot/${id}/$deploy`, body });
      if (answer.status >= 300) {
        throw new Error(`${name}: ${answer.status} ${answer.text.slice(0, 200)}`);
      }
    }
  }
  return {
    ...service,
    admin,
    make(next: Mistake): void {
      mistake = next;
    },
  };
}
