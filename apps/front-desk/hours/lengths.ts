import type { HealthcareService } from '@medplum/fhirtypes';
import { lengthIn, SCHEDULING_PARAMETERS } from '../../../core/fhir/scheduling/scheduling-parameters.ts';
import { extensionIn } from '../../../packages/web/elements.ts';

/** How long the appointments of a service are, and how much time must be free around them, in minutes. */
interface Lengths {
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

/** The lengths that a service names; what it does not name, or not readably, is 0. */
export function lengthsOf({ extension }: HealthcareService): Lengths {
  const parameters = extensionIn(extension, SCHEDULING_PARAMETERS);
  return {
    duration: lengthIn(parameters, 'duration') ?? 0,
    bufferBefore: lengthIn(parameters, 'bufferBefore') ?? 0,
    bufferAfter: lengthIn(parameters, 'bufferAfter') ?? 0,
    isNew: parameters === undefined,
  };
}
