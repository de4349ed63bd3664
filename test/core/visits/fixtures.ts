import { readFileSync } from 'node:fs';
import type { Extension, HealthcareService } from '@medplum/fhirtypes';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';

export const config = resolveConfig(JSON.parse(readFileSync('booking.config.json', 'utf8')));

export const minutes = (url: string, value: number): Extension => ({ url, valueDuration: { value, code: 'min' } });
export const follows = (name: string): Extension => ({ url: 'after', valueString: name });
export const optional: Extension = { url: 'optional', valueBoolean: true };
export const schedules = (...ids: string[]): Extension[] =>
  ids.map((id) => ({ url: 'schedule', valueReference: { reference: `Schedule/${id}` } }));

/** A step in one of the rooms a and b, unless it says otherwise. */
export function step(name: string, ...more: Extension[]): Extension {
  const isElsewhere = more.some(({ url }) => url === 'schedule' || url === 'service');
  const pool = isElsewhere ? [] : schedules('a', 'b');
  return { url: 'step', extension: [{ url: 'name', valueString: name }, ...pool, ...more] };
}

export function series(count: unknown, ...more: Extension[]): Extension {
  return { url: 'series', extension: [{ url: 'count', valuePositiveInt: count } as Extension, ...more] };
}

/** A service whose visits are like this. */
export function visiting(...extension: Extension[]): HealthcareService {
  return {
    resourceType: 'HealthcareService',
    id: 'visit',
    extension: [{ url: artefactUri(config, 'LocalVisit'), extension }],
  };
}
