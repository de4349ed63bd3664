import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { getStatus, type MedplumClient, OperationOutcomeError } from '@medplum/core';
import type { Parameters } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { updateEntry } from '../../core/fhir/resource.ts';
import { type Erasure, laterRow, planErasure, type Removal } from '../../core/person/erasure.ts';
import { rowSearch } from '../../core/rows/row.ts';
import { callBot, expunge } from '../medplum/project.ts';
import { countClinical, findPerson } from './read.ts';

/** Options of an erasure. */
export interface ErasureRun {
  readonly medplum: MedplumClient;
  readonly config: BookingConfig;
  /** Id of the patient. */
  readonly id: string;
  /** Cancels open appointments and waiting asynchronous bookings. */
  readonly force: boolean;
  readonly dryRun: boolean;
  /** Milliseconds to wait for writes of requests that have read the person's data before. */
  readonly underWay: number;
  readonly onProgress: (line: string) => void;
}

/** The result: `refused` if there are obstacles; then nothing was changed. */
export interface ErasureResult {
  readonly outcome: 'erased' | 'refused' | 'planned';
  readonly erasure: Erasure;
}

const hash = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** @param since - earlier rounds have read everything that is unchanged since this moment (milliseconds since 1970) */
async function plan({ medplum, config, id, force }: ErasureRun, since?: number): Promise<Erasure> {
  const { records, patientIds, keptPatients } = await findPerson(medplum, id, config, since);
  const clinical = await countClinical(medplum, patientIds, records, config);
  return planErasure(records, patientIds, { id, config, isForced: force, keptPatients, clinical, hash });
}

/** Cancels an appointment as staff would; its slots are released. */
async function cancel({ medplum, config }: ErasureRun, reference: string): Promise<void> {
  const id = reference.slice('Appointment/'.length);
  const patch = JSON.stringify([{ op: 'replace', path: '/status', value: 'cancelled' }]);
  const parameters: Parameters = {
    resourceType: 'Parameters',
    parameter: [
      { name: 'id', valueId: id },
      { name: 'patch', valueString: patch },
    ],
  };
  await callBot(medplum, 'patch', parameters, config);
}

const statusOf = (error: unknown): number | undefined =>
  error instanceof OperationOutcomeError ? getStatus(error.outcome) : undefined;

/** Records the events of the last changes of an appointment before its history is removed. */
async function recordEvents({ medplum, config }: ErasureRun, id: string): Promise<void> {
  await callBot(medplum, 'record-events', { resourceType: 'Appointment', id }, config).catch((error: unknown) => {
    const isUninstalled = statusOf(error) === 404;
    if (!isUninstalled) {
      throw error;
    }
  });
}

async function remove(run: ErasureRun, { reference, replacement }: Removal): Promise<void> {
  const { medplum, config } = run;
  const [type = '', id = ''] = reference.split('/');
  if (replacement) {
    const value = replacement.identifier?.[0]?.value ?? '';
    const query = new URLSearchParams({ identifier: `${artefactUri(config, 'LocalErased')}|${value}` });
    await recordEvents(run, id);
    await medplum.createResourceIfNoneExist(replacement, String(query));
  }
  await expunge(medplum, type, id);
}

/** A Bot ends after ten seconds. The server may need some more to write its last requests. */
export const UNDER_WAY = 15_000;

/** Maximum number of repetitions that search for data written by bookings and deliveries in the meantime. */
const ROUNDS = 6;

/** Maximum difference between the clocks of this machine and the server, in milliseconds. */
const CLOCKS = 10 * 60_000;

const handedOn = ({ reference }: Removal): string =>
  `${reference}: it was this person's before and is somebody else's now; a copy with another id has taken its place`;

/**
 * Makes the patients inactive. Nobody can book for them from then on, and bookings made in the meantime are cancelled.
 */
async function close({ medplum, onProgress }: ErasureRun, { removals }: Erasure): Promise<void> {
  const ids = removals.flatMap(({ reference }) => /^Patient\/(.+)$/.exec(reference)?.[1] ?? []);
  for (const id of ids) {
    await medplum
      .patchResource('Patient', id, [{ op: 'add', path: '/active', value: false }])
      .catch((error: unknown) => {
        if (statusOf(error) !== 404 && statusOf(error) !== 410) {
          onProgress(`Patient/${id}: could not be made inactive: ${String(error)}`);
        }
      });
  }
}

/**
 * Removes a person from the data of the service, with all versions. The patients are removed last. Pseudonymous
 * appointments replace the real ones, so that bookings can still be counted. After an interruption, the next run
 * removes the rest.
 *
 * @throws Error when Medplum does not respond or refuses
 */
export async function erase(run: ErasureRun): Promise<ErasureResult> {
  const { medplum, config } = run;
  const removed: Removal[] = [];
  const start = Date.now() - CLOCKS;
  let hasWaited = run.underWay === 0;
  let isClosed = false;
  let since: number | undefined;
  for (let round = 1; ; round++) {
    const erasure = await plan(run, since);
    if (erasure.obstacles.length > 0) {
      return { outcome: 'refused', erasure };
    }
    if (run.dryRun) {
      return { outcome: 'planned', erasure };
    }
    for (const reference of erasure.toCancel) {
      await cancel(run, reference).catch((error: unknown) => {
        // A booking made in the meantime is also cancelled because the patient is inactive.
        if (!isClosed || round > ROUNDS) {
          throw error;
        }
      });
      run.onProgress(`${reference}: cancelled`);
    }
    if (!isClosed) {
      await close(run, erasure);
      isClosed = true;
    }
    if (erasure.toCancel.length > 0) {
      continue;
    }
    const others = erasure.removals.filter(({ reference }) => !reference.startsWith('Patient/'));
    if (others.length === 0 && !hasWaited) {
      run.onProgress('Waiting for what bookings and deliveries may still write …');
      await wait(run.underWay);
      hasWaited = true;
      continue;
    }
    const isLast = others.length === 0 || round >= ROUNDS;
    for (const { redacted } of erasure.later) {
      if (redacted) {
        const entry = [updateEntry(redacted, redacted)];
        await medplum.executeBatch({ resourceType: 'Bundle', type: 'transaction', entry });
      }
    }
    for (const later of isLast ? erasure.later : []) {
      const query = rowSearch(['erasure'], { focus: later.reference }, config).replace('Task?', '');
      const stored = await medplum.createResourceIfNoneExist(laterRow(later, config), query);
      await medplum.updateResource(laterRow(later, config, stored));
    }
    for (const removal of isLast ? erasure.removals : others) {
      await remove(run, removal);
      removed.push(removal);
      const what = removal.isHandedOn ? 'copied without its history' : removal.replacement && 'made pseudonymous';
      run.onProgress(`${removal.reference}: ${what ?? 'removed'}`);
    }
    if (isLast) {
      const left = [...erasure.left, ...removed.filter(({ isHandedOn }) => isHandedOn).map(handedOn)];
      return { outcome: 'erased', erasure: { ...erasure, removals: removed, left } };
    }
    since = start;
  }
}
