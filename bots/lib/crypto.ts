import { webcrypto } from 'node:crypto';

// Medplum's VM context has no `crypto`; ical-generator asks for it.
if (!('crypto' in globalThis)) {
  Object.assign(globalThis, { crypto: webcrypto });
}
