import type { Extension, HealthcareService } from '@medplum/fhirtypes';
import { SCHEDULING_PARAMETERS } from '../../../core/calendar/parameters/scheduling-parameters.ts';

/** How long the appointments of a service are, and how much time must be free around them, in minutes. */
export interface Lengths {
  readonly duration: number;
  readonly bufferBefore: number;
  readonly bufferAfter: number;
  /** Whether the service has no scheduling parameters yet. */
  readonly isNew: boolean;
}

/** The lengths, by the names of their parameters. */
export const lengthNames = ['duration', 'bufferBefore', 'bufferAfter'] as const;

/** Name of a length. */
export type LengthName = (typeof lengthNames)[number];

const minutesOf: Readonly<Record<string, number>> = { min: 1, h: 60, d: 1440, wk: 10_080 };

/** A length that scheduling parameters name, in minutes; what they do not name, or not readably, is `undefined`. */
export function lengthIn(parameters: Extension | undefined, name: LengthName): number | undefined {
  const found = parameters?.extension?.find(({ url }) => url === name)?.valueDuration;
  const length = (found?.value ?? Number.NaN) * (minutesOf[found?.unit ?? found?.code ?? 'min'] ?? Number.NaN);
  return Number.isNaN(length) ? undefined : Math.round(length);
}

/** The lengths that a service names; what it does not name, or not readably, is 0. */
export function lengthsOf({ extension }: HealthcareService): Lengths {
  const all = Array.isArray(extension) ? extension : [];
  const parameters = all.find((one) => one?.url === SCHEDULING_PARAMETERS);
  return {
    duration: lengthIn(parameters, 'duration') ?? 0,
    bufferBefore: lengthIn(parameters, 'bufferBefore') ?? 0,
    bufferAfter: lengthIn(parameters, 'bufferAfter') ?? 0,
    isNew: parameters === undefined,
  };
}
