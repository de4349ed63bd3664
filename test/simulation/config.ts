import { resolveConfig } from '../../core/config/resolve.ts';
import { giveToBots } from '../lib/bot-config.ts';

/** The installation whose Bots run in the simulation. Importing this file puts it where their sources look for it. */
export const config = giveToBots(resolveConfig({ baseUrl: 'https://booking.example.org/fhir/R4' }));
