import { once } from 'node:events';
import { connect } from 'node:net';
import { startSandbox } from '@appointment-booking/sandbox';
import { test } from '@jest/globals';

test('a sandbox ends although somebody is connected who sends nothing', async () => {
  const sandbox = await startSandbox();
  await once(connect(Number(new URL(sandbox.baseUrl).port), '127.0.0.1'), 'connect');
  await fetch(sandbox.baseUrl); // Once it is answered, the connection before it was taken.
  await sandbox.close();
});
