import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, OperationOutcome } from '@medplum/fhirtypes';
import { validateChange, validateCreation } from '../../core/booking/appointment/change.ts';
import { overbookingIssues, overbookingReads, unmarkedFor } from '../../core/booking/appointment/overbooking.ts';
import { mayBecome } from '../../core/booking/appointment/status.ts';
import { resourceSet } from '../../core/booking/resource-set.ts';
import { type Issue, toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { withoutEmpty } from '../../core/fhir/without-empty.ts';
import { readForChange } from '../lib/booking/related-reads.ts';
import { readOffered } from '../lib/calendar/offered.ts';
import { config } from '../lib/config.ts';
import { rememberDeletion } from '../lib/notifications/events/deletions.ts';
import { readWhole } from '../lib/read.ts';

/** The header by which Medplum distinguishes a deletion from a change. */
const DELETION = 'X-Medplum-Deleted-Resource';

function deletionIssues(appointment: Appointment): Issue[] {
  const diagnostics = `The appointment is ${appointment.status} and holds its slots: cancel it before deleting it.`;
  return mayBecome(appointment, 'cancelled', 'repository')
    ? [{ code: 'transition-not-allowed', diagnostics, expression: 'Appointment.status' }]
    : [];
}

/** Reads what already takes the time of a new appointment, and checks it for overbooking. */
async function readOverbooking(medplum: MedplumClient, created: Appointment): Promise<Issue[]> {
  const state = resourceSet(await readWhole(medplum, overbookingReads(created, config)));
  const offered = await readOffered(medplum, unmarkedFor(created, state, config));
  return overbookingIssues(created, state, offered, Date.now(), config);
}

async function issuesOf(
  medplum: MedplumClient,
  { input: sent, headers }: BotEvent<Appointment>,
): Promise<readonly Issue[]> {
  if (headers?.[DELETION] !== undefined) {
    return deletionIssues(sent);
  }
  const input = withoutEmpty(sent);
  const { stored, patients } = await readForChange(medplum, input);
  if (stored) {
    return validateChange(stored, input, 'repository', patients, Date.now(), config);
  }
  const issues = validateCreation(input, patients, config);
  return issues.length > 0 ? issues : readOverbooking(medplum, input);
}

/**
 * Checks every write to an Appointment before Medplum stores it: by staff in Medplum's app, through its API, or by its
 * own operations. A deletion is recorded, so that slots and subscribers follow it in any case. Writes by the Bots of the
 * service are not checked here, because the Bots apply the same rules themselves.
 *
 * @param event - input: the Appointment as it would be stored, or as it is if it is to be deleted
 * @returns `true` to allow the write, or the OperationOutcome with which Medplum refuses it
 * @see specification section 3 and 4.5; https://www.medplum.com/docs/bots/bot-pre-commit
 */
export async function handler(medplum: MedplumClient, event: BotEvent<Appointment>): Promise<true | OperationOutcome> {
  const issues = await issuesOf(medplum, event);
  if (issues.length > 0) {
    return toOperationOutcome(issues, config, 'patch');
  }
  if (event.headers?.[DELETION] !== undefined) {
    await rememberDeletion(medplum, event.input);
  }
  return true;
}
