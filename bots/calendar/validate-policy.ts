import type { BotEvent, MedplumClient } from '@medplum/core';
import type { OperationOutcome } from '@medplum/fhirtypes';
import { type PolicyHolder, readPolicy } from '../../core/booking/policy/policy.ts';
import { openingHoursIssues } from '../../core/calendar/parameters/check-opening-hours.ts';
import { toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { readVisit } from '../../core/visits/visit.ts';
import { config } from '../lib/config.ts';
import { ofType, readInTransaction } from '../lib/read.ts';

/**
 * Checks the booking policy, the opening hours and the visit of a Schedule or HealthcareService before Medplum stores it.
 * @param event - input: the resource as it would be stored
 * @returns `true` to allow the write, or the OperationOutcome with which Medplum refuses it
 * @throws ReadError when the stored service could not be read: the write fails
 * @see https://www.medplum.com/docs/bots/bot-pre-commit
 */
export async function handler(
  medplum: MedplumClient,
  { input }: BotEvent<PolicyHolder>,
): Promise<true | OperationOutcome> {
  const visits = input.resourceType === 'HealthcareService' ? readVisit(input, config).issues : [];
  const isRefused = input.resourceType === 'HealthcareService' && openingHoursIssues(input, config).length > 0;
  const [found] = isRefused ? await readInTransaction(medplum, [`HealthcareService?_id=${input.id}`]) : [];
  const [stored] = ofType('HealthcareService', found);
  const issues = [...readPolicy(input, config).issues, ...openingHoursIssues(input, config, stored), ...visits];
  return issues.length > 0 ? toOperationOutcome(issues, config) : true;
}
