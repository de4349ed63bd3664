import type { HealthcareService } from '@medplum/fhirtypes';
import { SCHEDULING_PARAMETERS } from '../../../core/calendar/parameters/scheduling-parameters.ts';

/** How long the appointments of a service are, and how much time must be free around them, in minutes. */
export interface Lengths {
  readonly duration: number;
  readonly bufferBefore: number;
  readonly bufferAfter: number;
  /** Whether the service has no scheduling parameters yet. */
  readonly isNew: boolean;
}

const minutesOf: Readonly<Record<string, number>> = { min: 1, h: 60, d: 1440, wk: 10_080 };

/** The lengths that a service names; what it does not name, or not readably, is 0. */
export function lengthsOf({ extension }: HealthcareService): Lengths {
  const all = Array.isArray(extension) ? extension : [];
  const parameters = all.find((one) => one?.url === SCHEDULING_PARAMETERS);
  const length = (name: string): number => {
    const found = parameters?.extension?.find(({ url }) => url === name)?.valueDuration;
    return Math.round((found?.value ?? 0) * (minutesOf[found?.unit ?? found?.code ?? 'min'] ?? 0));
  };
  return {
    duration: length('duration'),
    bufferBefore: length('bufferBefore'),
    bufferAfter: length('bufferAfter'),
    isNew: parameters === undefined,
  };
}
