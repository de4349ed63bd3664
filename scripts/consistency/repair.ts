import { setTimeout as wait } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { holdersOf } from '../../core/booking/appointment/reads.ts';
import { neededSlotStatus } from '../../core/booking/appointment/status.ts';
import { publicationTask } from '../../core/calendar/publish/publication.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import type { Finding, Rule } from '../../core/consistency/finding.ts';
import { idIn } from '../../core/fhir/reference.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../../core/rows/resource-set.ts';
import { rowCodes } from '../../core/rows/row.ts';
import { bufferOf } from '../../core/slots/slot.ts';
import { callBot, searchAll } from '../medplum/project.ts';

/**
 * The repair of a finding: the slots of an appointment follow its status; a slot without an appointment is released, as
 * if its appointment had been deleted; or a schedule is published again.
 */
type Remedy =
  | { readonly kind: 'follow'; readonly appointment: string }
  | { readonly kind: 'release'; readonly slot: string }
  | { readonly kind: 'publish'; readonly schedule: string };

type RemedyFor = (id: string, state: ResourceSet, config: BookingConfig) => readonly Remedy[];

const holdersFollow: RemedyFor = (id, state) =>
  (holdersOf(resourcesOfType(state, 'Appointment').filter(neededSlotStatus)).get(id) ?? []).map(
    (appointment): Remedy => ({ kind: 'follow', appointment: appointment.id ?? '' }),
  );

const bookedIsReleased: RemedyFor = (id, state, config) => {
  const buffer = findResource(state, 'Slot', id);
  const slot = buffer && bufferOf(buffer, config);
  return slot === undefined ? [] : [{ kind: 'release', slot }];
};

const scheduleIsPublished: RemedyFor = (id, state) => {
  const schedule = idIn(findResource(state, 'Slot', id)?.schedule, 'Schedule');
  return schedule === undefined ? [] : [{ kind: 'publish', schedule }];
};

/** The rules whose findings have one right remedy. A person decides about all others. */
const remedies: Partial<Readonly<Record<Rule, RemedyFor>>> = {
  'slot-status': holdersFollow,
  'slot-without-appointment': (slot) => [{ kind: 'release', slot }],
  'buffer-left-over': bookedIsReleased,
  'free-over-taken': scheduleIsPublished,
  'reference-missing': scheduleIsPublished,
  'published-differs': (schedule) => [{ kind: 'publish', schedule }],
};

/** The remedies for the findings, each once. */
export function remediesFor(findings: readonly Finding[], state: ResourceSet, config: BookingConfig): Remedy[] {
  const found = findings.flatMap(({ rule, resource }) => {
    const id = resource.slice(resource.indexOf('/') + 1);
    return remedies[rule]?.(id, state, config) ?? [];
  });
  return [...new Map(found.map((remedy) => [JSON.stringify(remedy), remedy])).values()];
}

async function requestPublication(medplum: MedplumClient, schedule: string, config: BookingConfig): Promise<void> {
  const query = { code: rowCodes(['publish'], config), focus: `Schedule/${schedule}` };
  const [stored] = await searchAll(medplum, 'Task', query);
  const task = publicationTask({ schedule, status: 'requested', due: Date.now() }, config);
  await (stored ? medplum.updateResource({ ...task, id: stored.id, meta: stored.meta }) : medplum.createResource(task));
}

/** Input for the Bot that updates slots after appointments: the appointment of a slot was deleted. */
const deletedHolder = (slot: string): { readonly deletedResource: Appointment } => ({
  deletedResource: {
    resourceType: 'Appointment',
    id: slot,
    status: 'cancelled',
    participant: [],
    slot: [{ reference: `Slot/${slot}` }],
  },
});

function apply(medplum: MedplumClient, remedy: Remedy, config: BookingConfig): Promise<unknown> {
  switch (remedy.kind) {
    case 'follow':
      return callBot(medplum, 'sync-slots', { resourceType: 'Appointment', id: remedy.appointment }, config);
    case 'release':
      return callBot(medplum, 'sync-slots', deletedHolder(remedy.slot), config);
    case 'publish':
      return requestPublication(medplum, remedy.schedule, config);
  }
}

/** A minute until Medplum starts scheduled Bots, and some seconds. No publication takes longer to begin. */
const PATIENCE = 90_000;

/** Waits until schedules are published. Returns the ids of those that are not in the end. */
async function untilPublished(
  medplum: MedplumClient,
  ids: readonly string[],
  config: BookingConfig,
): Promise<string[]> {
  const query = { code: rowCodes(['publish'], config), status: 'requested,accepted,in-progress' };
  for (const end = Date.now() + PATIENCE; ; await wait(1_000)) {
    const waiting = (await searchAll(medplum, 'Task', query)).flatMap(({ focus }) => idIn(focus, 'Schedule') ?? []);
    const left = ids.filter((id) => waiting.includes(id));
    if (left.length === 0 || Date.now() > end) {
      return left;
    }
  }
}

/**
 * Carries out remedies by the Bots of the service, with the rules of daily work, and waits for the publications.
 *
 * @param onProgress - called before each remedy with the number done, and the total
 * @returns a sentence for each remedy that failed; the others are carried out all the same
 */
export async function repair(
  medplum: MedplumClient,
  planned: readonly Remedy[],
  config: BookingConfig,
  onProgress: (done: number, all: number) => void = () => undefined,
): Promise<string[]> {
  const failures: string[] = [];
  for (const [index, remedy] of planned.entries()) {
    onProgress(index, planned.length);
    await apply(medplum, remedy, config).catch((error: unknown) => {
      failures.push(`${JSON.stringify(remedy)}: ${error instanceof Error ? error.message : String(error)}`);
    });
  }
  const schedules = planned.flatMap((remedy) => (remedy.kind === 'publish' ? [remedy.schedule] : []));
  const left = schedules.length > 0 ? await untilPublished(medplum, schedules, config) : [];
  return [...failures, ...left.map((id) => `Schedule/${id} waits to be published: npm run doctor says why.`)];
}
