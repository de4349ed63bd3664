import type { HealthcareService } from '@medplum/fhirtypes';
import { lengthIn, SCHEDULING_PARAMETERS } from '../../../core/fhir/scheduling/scheduling-parameters.ts';
import { extensionIn } from '../../../packages/web/elements.ts';

/** Duration and buffers of a service's appointments, in minutes. */
interface Lengths {
  readonly duration: number;
  readonly bufferBefore: number;
  readonly bufferAfter: number;
  /** Whether the service has no scheduling parameters yet. */
  readonly isNew: boolean;
}

/** The names of the parameters for lengths. */
export const lengthNames = ['duration', 'bufferBefore', 'bufferAfter'] as const;

/** The name of a length. */
export type LengthName = (typeof lengthNames)[number];

/** The lengths of a service; missing or unreadable ones are 0. */
export function lengthsOf({ extension }: HealthcareService): Lengths {
  const parameters = extensionIn(extension, SCHEDULING_PARAMETERS);
  return {
    duration: lengthIn(parameters, 'duration') ?? 0,
    bufferBefore: lengthIn(parameters, 'bufferBefore') ?? 0,
    bufferAfter: lengthIn(parameters, 'bufferAfter') ?? 0,
    isNew: parameters === undefined,
  };
}
