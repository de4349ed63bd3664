import type { BotEvent, MedplumClient } from '@medplum/core';
import type { OperationOutcome } from '@medplum/fhirtypes';
import { absentOutcome, historyReads, isDeletable, readDeleted } from '../../core/booking/deleted.ts';
import { isId } from '../../core/fhir/reference.ts';
import { isObject, isResource } from '../../core/fhir/resource.ts';
import { belongsTo } from '../../core/fhir/tags.ts';
import { callerOf } from '../lib/caller.ts';
import { config } from '../lib/config.ts';
import { sendBundle } from '../lib/medplum.ts';

/** A parameter of the input, whose content is unchecked: every caller of the Bot can send anything. */
function valueIn(input: unknown, name: string, element: string): unknown {
  const parameters: readonly unknown[] =
    isResource(input, 'Parameters') && Array.isArray(input.parameter) ? input.parameter : [];
  const found = parameters.find((parameter) => isObject(parameter) && parameter.name === name);
  return isObject(found) ? found[element] : undefined;
}

/**
 * Tells the owner of a resource that it was deleted: Medplum itself hides that from callers whose access depends on the
 * tags of the resource.
 *
 * @param event - input: Parameters with `type` (code) and `id`
 * @returns an OperationOutcome: `deleted` if it was the caller's own when it was deleted, else `not-found`
 */
export async function handler(medplum: MedplumClient, event: BotEvent<unknown>): Promise<OperationOutcome> {
  const type = valueIn(event.input, 'type', 'valueCode');
  const id = valueIn(event.input, 'id', 'valueId');
  if (!isDeletable(type) || !isId(id)) {
    return absentOutcome('unknown', 'resource');
  }
  const answer = await sendBundle(medplum, historyReads(type, id));
  const last = answer.kind === 'done' ? readDeleted(type, answer.bundle) : undefined;
  const isOwn = last !== undefined && belongsTo(last, callerOf(event).id, config);
  return absentOutcome(isOwn ? 'deleted' : 'unknown', type);
}
