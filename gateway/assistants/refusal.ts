import type { OperationOutcome } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';
import { parseInstant } from '../../core/fhir/instant.ts';
import { idIn } from '../../core/fhir/reference.ts';
import { isResource } from '../../core/fhir/resource.ts';
import type { FhirResponse } from '../http/response.ts';
import type { OfferedTime } from './offers.ts';

/** One reason why a tool did nothing. */
interface Reason {
  /** The code of the booking service, or FHIR's issue type if it has none. */
  readonly code: string;
  readonly text: string;
}

/** What a tool answers: what it did, or why it did nothing. */
export type ToolAnswer = { readonly done: Readonly<Record<string, unknown>> } | Refused;

/** Why a tool did nothing, and what could be held instead. */
interface Refused {
  readonly refused: readonly Reason[];
  readonly alternatives?: readonly object[];
}

type Issue = OperationOutcome['issue'][number];

function timeIn(parts: NonNullable<Issue['extension']>): Omit<OfferedTime, 'service'> | undefined {
  const slots = parts.flatMap(({ url, valueReference }) => (url === 'slot' && idIn(valueReference, 'Slot')) || []);
  const at = (name: string) => parseInstant(parts.find(({ url }) => url === name)?.valueInstant);
  const [start, end] = [at('start'), at('end')];
  return slots.length > 0 && start !== undefined && end !== undefined ? { slots, start, end } : undefined;
}

/** A refusal of the HTTP interface as that of a tool, with the times that it names instead. */
export function refusedBy(
  { status, resource }: FhirResponse,
  config: BookingConfig,
): Pick<Refused, 'refused'> & { readonly times: readonly Omit<OfferedTime, 'service'>[] } {
  const issues = isResource(resource, 'OperationOutcome') ? resource.issue : [];
  const [system, alternative] = [artefactUri(config, 'LocalBookingError'), artefactUri(config, 'LocalAlternative')];
  const found = issues
    .flatMap(({ extension = [] }) => extension)
    .flatMap(({ url, extension = [] }) => (url === alternative ? (timeIn(extension) ?? []) : []));
  const reasons = issues.map(({ code, details, diagnostics }) => ({
    code: details?.coding?.find((one) => one.system === system)?.code ?? code,
    text: diagnostics ?? details?.text ?? '',
  }));
  return {
    refused:
      reasons.length > 0 ? reasons : [{ code: 'exception', text: `The service answered with status ${status}.` }],
    times: found,
  };
}
