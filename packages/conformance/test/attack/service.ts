import { randomUUID } from 'node:crypto';
import { presets } from '../../../../core/config/presets.ts';
import { resolveConfig } from '../../../../core/config/resolve.ts';
import { forOneMachine } from '../../../../scripts/start/settings.ts';
import { start } from '../../../../scripts/start.ts';
import { freePort } from '../../../../test/lib/free-port.ts';
import { adapters } from '../../attack/adapters.ts';
import { type Attack, kinds } from '../../attack/attack.ts';
import { randomOf } from '../../attack/network.ts';
import { hasEvents } from '../../attack/notified.ts';
import { clientOf } from '../../client.ts';
import { listen } from '../../listener.ts';
import { logIn } from '../../login.ts';

const DAY = 86_400_000;

/** A service to attack, and what every attack on it has in common. */
export async function startService(medplum: { delayScale?: number; botBaseUrl?: string } = {}) {
  const ports = { gateway: await freePort(), medplum: await freePort() };
  const limits = { maxOpenAppointments: 10_000, maxBookingsPerMinute: 10_000 };
  const settings = resolveConfig({
    preset: Object.keys(presets)[0],
    baseUrl: `http://localhost:${ports.gateway}/fhir/R4`,
    requestors: limits,
  });
  const config = forOneMachine(settings);
  const running = await start({ config, ports, medplum: { delayScale: 0.05, ...medplum }, log: () => undefined });
  const { 'Portal A': a, 'Portal B': b } = running.demo.clients;
  const portals = [];
  for (const { id: clientId, secret: clientSecret } of [a, b, a]) {
    const client = await logIn({ baseUrl: running.baseUrl, clientId, clientSecret });
    portals.push({ client, adapter: adapters.isik });
  }
  const staffUrl = `http://localhost:${ports.medplum}/fhir/R4`;
  const random = randomOf(1);
  const given = {
    portals,
    listener: await listen({ port: 0, refuses: (bundle) => hasEvents(bundle) && random() < 0.06 }),
    staff: { client: clientOf(staffUrl, 'front-desk'), adapter: adapters.staff },
    kinds,
    constants: {
      config,
      uri: config.uris,
      serviceType: { system: 'http://terminology.hl7.org/CodeSystem/service-type', code: '124' },
      specialty: { system: 'http://ihe-d.de/CodeSystems/AerztlicheFachrichtungen', code: 'NEUR' },
      run: randomUUID(),
    },
    from: Math.floor(Date.now() / DAY + 14) * DAY + 10 * 3_600_000,
    seed: 1,
    bounds: { within: 3_000, stateLimit: 20_000, told: 20_000 },
    acts: 8,
    rounds: 2,
  } as const satisfies Omit<Attack, 'goesOn'>;
  return { running, given, staffUrl, config };
}
