import type { BotEvent, MedplumClient } from '@medplum/core';
import type { OperationOutcome } from '@medplum/fhirtypes';
import { absentOutcome, historyReads, isDeletable, readDeleted } from '../../core/booking/appointment/deleted.ts';
import { isId } from '../../core/fhir/reference.ts';
import { parametersIn } from '../../core/fhir/resource.ts';
import { belongsTo } from '../../core/fhir/tags.ts';
import { callerOf } from '../lib/caller.ts';
import { config } from '../lib/config.ts';
import { sendBundle } from '../lib/medplum.ts';

/**
 * Tells the owner of a resource that it was deleted: Medplum itself hides that from callers whose access depends on the
 * tags of the resource.
 * @param event - input: Parameters with `type` (code) and `id`
 * @returns an OperationOutcome: `deleted` if it was the caller's own when it was deleted, else `not-found`
 */
export async function handler(medplum: MedplumClient, event: BotEvent<unknown>): Promise<OperationOutcome> {
  const parameter = (wanted: string) => parametersIn(event.input).find(({ name }) => name === wanted);
  const [type, id] = [parameter('type')?.valueCode, parameter('id')?.valueId];
  if (!isDeletable(type) || !isId(id)) {
    return absentOutcome('unknown', 'resource');
  }
  const answer = await sendBundle(medplum, historyReads(type, id));
  const last = answer.kind === 'done' ? readDeleted(type, answer.bundle) : undefined;
  const isOwn = last !== undefined && belongsTo(last, callerOf(event).id, config);
  return absentOutcome(isOwn ? 'deleted' : 'unknown', type);
}
