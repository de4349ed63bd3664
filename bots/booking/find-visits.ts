import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Bundle, HealthcareService, OperationOutcome } from '@medplum/fhirtypes';
import { type Issue, toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { resourcesOfType } from '../../core/rows/resource-set.ts';
import { readsById } from '../../core/rows/search.ts';
import { partOf, stepsWith, unknownSteps } from '../../core/visits/check.ts';
import type { Frame } from '../../core/visits/openings.ts';
import { findResponse, proposalBundle } from '../../core/visits/proposal.ts';
import { type FindRequest, parseFind } from '../../core/visits/request.ts';
import { inWhole } from '../../core/visits/series.ts';
import { plainStep, readVisit, type Visit } from '../../core/visits/visit.ts';
import { unavailable } from '../lib/booking/decide.ts';
import { callerOf, readRole } from '../lib/caller.ts';
import { config } from '../lib/config.ts';
import { newId } from '../lib/medplum.ts';
import { ReadError, readStateAs } from '../lib/read.ts';
import { findVisits, processorTime } from '../lib/visits/visits.ts';

const ADVICE =
  'Ask for a shorter period, for hours of the day (earliest, latest), or name who or what you wish for (actor).';

const tooCostly: Issue = {
  code: 'too-costly',
  diagnostics: `No visit was found before the search became too long. ${ADVICE}`,
  expression: 'Parameters',
};

/** The visit of a service without the steps that the request leaves out, or with its steps only; else the issues. */
function visitOf(
  service: HealthcareService & { id: string },
  { without, steps: wanted }: FindRequest,
): Visit | Issue[] {
  const { visit, issues } = readVisit(service, config);
  if (issues.length > 0) {
    const diagnostics = 'The steps of this service cannot be used; the clinic must correct them.';
    return [{ code: 'visit-invalid', diagnostics, expression: 'Parameters' }];
  }
  const whole: Visit = visit ?? {
    service: service.id,
    steps: [plainStep(service.id)],
    series: undefined,
    isByStep: false,
  };
  const notOptional = without.filter((name) => !whole.steps.some((step) => step.name === name && step.isOptional));
  const unknown = unknownSteps(whole, wanted);
  const mismatch = (diagnostics: string, parameter: string): Issue => ({
    code: 'visit-mismatch',
    diagnostics,
    expression: `Parameters.parameter.where(name = '${parameter}')`,
  });
  if (notOptional.length + unknown.length > 0) {
    return [
      ...notOptional.map((name) => mismatch(`The visit has no optional step ${name.slice(0, 80)}.`, 'without')),
      ...unknown.map((name) => mismatch(`The visit has no step ${name.slice(0, 80)}.`, 'step')),
    ];
  }
  return wanted.length > 0
    ? partOf(whole, wanted)
    : { ...whole, steps: stepsWith(whole.steps, (name) => !without.includes(name)) };
}

/** Time limit of the search for visits, as a share of the Bot's timeout. */
const SHARE = 0.4;

async function findProposals(medplum: MedplumClient, event: BotEvent<unknown>): Promise<Bundle | Issue[]> {
  const caller = callerOf(event);
  const now = Date.now();
  const { request, issues } = parseFind(event.input, now, config);
  if (!request) {
    return [...issues];
  }
  const [role, read] = await Promise.all([
    readRole(medplum, caller.authorization),
    readStateAs(medplum, readsById('HealthcareService', [request.service]), caller),
  ]);
  const [service] = resourcesOfType(read, 'HealthcareService');
  if (!service) {
    const diagnostics = `There is no HealthcareService/${request.service}.`;
    return [{ code: 'service-not-found', diagnostics, expression: "Parameters.parameter.where(name = 'service')" }];
  }
  const stored = { ...service, id: request.service };
  const visit = visitOf(stored, request);
  if (Array.isArray(visit)) {
    return visit;
  }
  const { period, hours, actors, payerKind, patient, count } = request;
  const frame: Frame = { period, hours, actors, payerKind, role, now, config };
  const deadline = now + config.timeout * 1_000 * SHARE;
  const found = await findVisits(medplum, { caller, visit, count, frame, deadline, time: processorTime() });
  if ('nobody' in found) {
    return found.nobody.map(({ name }) => {
      const diagnostics = `There is nobody with whom you can book ${name || 'this service'}: ask the clinic.`;
      return { code: 'schedule-not-found', diagnostics, expression: "Parameters.parameter.where(name = 'service')" };
    });
  }
  const { visits, bookable, slotOf, isCutShort } = found;
  const isPlain = !readVisit(stored, config).visit;
  const proposing = { visit, isPlain, bookable, slotOf, patient, payerKind, newId, config };
  const completed =
    request.steps.length > 0 ? visits.map((foundVisit) => inWhole(foundVisit, request.steps, visit)) : visits;
  const bundles = completed.map(({ proposal, insteadOf }) => proposalBundle(proposal, { ...proposing, insteadOf }));
  return isCutShort && bundles.length === 0
    ? [tooCostly]
    : findResponse(bundles, isCutShort ? ADVICE : undefined, config);
}

/**
 * Carries out `$find`: proposes visits that this caller can book now. All resources are read with the caller's rights:
 * one that the caller may not see neither fills a role nor appears in an error.
 * @param event - input: Parameters; headers: those of the request, for the caller's credentials
 * @returns a Bundle of proposals, each a Bundle of appointments, or an OperationOutcome whose id stands for the HTTP status
 */
export async function handler(medplum: MedplumClient, event: BotEvent<unknown>): Promise<Bundle | OperationOutcome> {
  try {
    const found = await findProposals(medplum, event);
    return Array.isArray(found) ? toOperationOutcome(found, config) : found;
  } catch (error) {
    if (error instanceof ReadError) {
      return toOperationOutcome(
        [{ ...unavailable, diagnostics: 'The FHIR server could not be read; try again in a moment.' }],
        config,
      );
    }
    throw error;
  }
}
