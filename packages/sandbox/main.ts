import { fixedTokens } from './auth/sessions.ts';
import { startSandbox } from './sandbox.ts';

const sandbox = await startSandbox({
  port: Number(process.env.MEDPLUM_PORT ?? 8103),
  ...(process.env.SANDBOX_DATA && { dataFolder: process.env.SANDBOX_DATA }),
  logger: { info: () => undefined, warn: (message, details) => console.warn(message, details ?? '') },
});

console.log(`Embedded Medplum: ${sandbox.baseUrl}
Project:          ${sandbox.projectId}
Client id:        ${sandbox.clientId}
Client secret:    ${sandbox.clientSecret}
Fixed tokens:     ${Object.keys(fixedTokens).join(', ')}`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    sandbox.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}
