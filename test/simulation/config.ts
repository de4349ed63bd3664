import { resolveConfig } from '../../core/config/resolve.ts';

/** The installation whose Bots run in the simulation. Importing this file puts it where their sources look for it. */
export const config = resolveConfig({ baseUrl: 'https://booking.example.org/fhir/R4' });

Object.assign(globalThis, { __BOOKING_CONFIG__: config });
