import type { Appointment, OperationOutcome, Patient, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { minutes, proposed } from '../fixtures.ts';
import { type Answer, resourceIn } from '../http.ts';
import { config } from '../installation.ts';

const morning = Date.parse(minutes(0));

/** What a refusal proposes: the ids of the slots, start and end, by issue. */
export function alternativesIn(outcome: OperationOutcome) {
  const url = artefactUri(config, 'LocalAlternative');
  return outcome.issue.map(({ extension = [] }) =>
    extension
      .filter((one) => one.url === url)
      .map(({ extension: parts = [] }) => ({
        slots: parts.flatMap(({ valueReference }) => valueReference?.reference ?? []),
        start: parts.find((part) => part.url === 'start')?.valueInstant ?? '',
        end: parts.find((part) => part.url === 'end')?.valueInstant ?? '',
      })),
  );
}

/** What the first issue of a refusal proposes. */
export const proposals = (response: Answer) => alternativesIn(resourceIn('OperationOutcome', response))[0] ?? [];

/** The same, as `start-end` in minutes after the morning of the tests. */
export const timesIn = (response: Answer): string[] =>
  proposals(response).map(({ start, end }) =>
    [start, end].map((instant) => (Date.parse(instant) - morning) / 60_000).join('-'),
  );

/** The appointment that books a proposal. */
export const accepting = (
  { slots, start, end }: ReturnType<typeof proposals>[number],
  patient: Patient,
  more: Partial<Appointment> = {},
): Appointment => ({ ...proposed(patient, []), start, end, slot: slots.map((reference) => ({ reference })), ...more });

/** References to slots. */
export const referencesTo = (...slots: readonly Slot[]): string[] => slots.map(({ id }) => `Slot/${id}`);
