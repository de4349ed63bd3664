import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { serveMetrics } from '../../../gateway/operations/metrics.ts';
import { gatewayTo } from '../fake-medplum.ts';

test('metrics are served on a port of their own, and nothing else is there', async () => {
  const metrics = new Registry();
  const gateway = gatewayTo({ url: 'http://127.0.0.1:1' }, {}, { metrics });
  await gateway.inject('/healthz');
  const server = await serveMetrics(metrics, { port: 0, host: '127.0.0.1' });
  const [address] = server.addresses();
  const port = typeof address === 'object' ? address.port : 0;
  const at = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  const found = await at('/metrics');
  expect([found.status, found.headers.get('content-type')]).toEqual([200, metrics.contentType]);
  expect(await found.text()).toContain('route="/healthz",status="200"');
  expect((await at('/fhir/R4/metadata')).status).toBe(404);
  await Promise.all([server.close(), gateway.close()]);
});
