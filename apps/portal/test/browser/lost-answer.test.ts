import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@playwright/test';
import fastify, { type FastifyInstance } from 'fastify';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { topicUrl } from '../../../../core/notifications/subscription/topics.ts';
import { parseCredentialKeys } from '../../../../gateway/sealing/credential-keys.ts';
import { sealSecret } from '../../../../gateway/sealing/sealed-secret.ts';
import { assetsOf } from '../../../../packages/web/assets.ts';
import { expectAccessible } from '../../../../test/browser/axe.ts';
import { fillPerson } from '../../../../test/browser/clinic.ts';
import { config } from '../../../../test/contract/installation.ts';
import { freePort } from '../../../../test/lib/free-port.ts';
import { type Installation, prepareService } from '../../../../test/lib/installation.ts';
import { scaled } from '../../../../test/lib/time-scale.ts';
import { portal } from '../../server.ts';

let installation: Installation;
/** Between a portal of its own and the service: lets the service be killed around a booking. */
let wire: Server;
let app: FastifyInstance;
let origin = '';
/** When the service is killed at the next `$book`. */
let moment: 'before it gets the request' | 'before its answer arrives' | undefined;
/** Ends when the service is dead. */
let death: Promise<void> = Promise.resolve();

test.beforeAll(async () => {
  test.setTimeout(scaled(60_000));
  const key = randomBytes(32).toString('base64');
  const environment = { LOG_LEVEL: 'warn', TZ: 'Europe/Berlin', CREDENTIALS_KEY: key };
  installation = await prepareService(environment, { timeZone: 'Europe/Berlin' });
  await installation.start();
  const service = new URL(installation.addresses.BOOKING_BASE_URL ?? '');
  wire = createServer((incoming, outgoing) => {
    const kill = (): void => {
      moment = undefined;
      outgoing.destroy();
      death = installation.kill();
    };
    const isBooking = incoming.url?.endsWith('/$book') ?? false;
    if (isBooking && moment === 'before it gets the request') {
      kill();
      return;
    }
    const { method, url, headers } = incoming;
    const onward = forward(
      new URL(url ?? '', service),
      { method, headers: { ...headers, host: service.host } },
      (answer) => {
        answer.once('error', () => outgoing.destroy());
        if (isBooking && moment === 'before its answer arrives') {
          kill();
          return;
        }
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    onward.once('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  wire.listen(0, 'localhost');
  await once(wire, 'listening');
  const clients = await fetch(`${installation.medplumUrl}fhir/R4/ClientApplication?name=Portal%20A`, {
    headers: { authorization: 'Bearer admin' },
  });
  const { entry } = (await clients.json()) as { entry: { resource: { id: string; secret: string } }[] };
  const { id: clientId = '', secret = '' } = entry[0]?.resource ?? {};
  const clientSecret = sealSecret(parseCredentialKeys(key), clientId, secret);
  const port = await freePort();
  origin = `http://localhost:${port}`;
  app = fastify({ routerOptions: { ignoreTrailingSlash: true } });
  await app.register(
    portal({
      baseUrl: `http://localhost:${(wire.address() as AddressInfo).port}${service.pathname}`,
      clientId,
      clientSecret,
      origin,
      path: '/portal',
      clinic: 'Clinic by the lake',
      timeZone: 'Europe/Berlin',
      topic: topicUrl('appointment-update', config),
      extensions: {
        heldUntil: artefactUri(config, 'LocalHeldUntil'),
        alternative: artefactUri(config, 'LocalAlternative'),
        confirmation: artefactUri(config, 'LocalConfirmation'),
        deadline: artefactUri(config, 'LocalConfirmationDeadline'),
        policy: artefactUri(config, 'LocalBookingPolicy'),
      },
      assets: assetsOf('dist/web', 'portal'),
    }),
    { prefix: '/portal' },
  );
  await app.listen({ port, host: 'localhost' });
});
test.afterAll(async () => {
  await app?.close();
  wire?.closeAllConnections();
  wire?.close();
  await installation?.end();
});

for (const [index, when] of (['before it gets the request', 'before its answer arrives'] as const).entries()) {
  test(`the service is killed ${when}: the patient learns that nobody knows, and trying again makes one booking`, async ({
    page,
  }) => {
    test.slow();
    const family = `Verloren${index}`;
    await page.goto(`${origin}/portal/`);
    await page.getByRole('link', { name: 'General medical consultation' }).click();
    await page.locator('.time').first().click();
    await fillPerson(page, 'Ki', family);
    moment = when;
    await page.getByRole('button', { name: 'Book this appointment' }).click();
    await expect(page.getByRole('alert')).toContainText('nothing is booked twice');
    await expect(page.getByRole('alert')).toBeFocused();
    await expect(page.locator('[name=family]')).toHaveValue(family);
    await expectAccessible(page);
    await death;
    await installation.start();
    await page.getByRole('button', { name: 'Try again' }).last().click();
    await expect(page.locator('.state')).toHaveText('Confirmed');
    const found = await page.request.get(
      `${installation.medplumUrl}fhir/R4/Appointment?patient.family=${family}&status=booked,pending,proposed`,
      { headers: { authorization: 'Bearer admin' } },
    );
    const { entry = [] } = await found.json();
    expect(entry).toHaveLength(1);
  });
}
