import { once } from 'node:events';
import { connect } from 'node:net';
import { startSandbox } from '@appointment-booking/sandbox';
import { test } from '@jest/globals';

test('a sandbox ends although somebody is connected who sends nothing', async () => {
  const sandbox = await startSandbox();
  const client = connect(Number(new URL(sandbox.baseUrl).port), '127.0.0.1');
  await once(client, 'connect');
  await sandbox.close();
});
