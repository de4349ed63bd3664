import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Bot, Parameters, Resource } from '@medplum/fhirtypes';
import { formatInstant } from '../../core/fhir/instant.ts';
import { idIn } from '../../core/fhir/reference.ts';
import { testMail } from '../../core/messages/message.ts';
import { dueThreads } from '../../core/messages/thread.ts';
import { mapConcurrently } from '../lib/concurrency.ts';
import { config } from '../lib/config.ts';
import { followAppointment } from '../lib/messages/follow.ts';
import { sendMessage } from '../lib/messages/send.ts';
import { messageReturned } from '../lib/messages/undelivered.ts';
import { ofType, readInTransaction } from '../lib/read.ts';
import { checkpointSearch, moveCheckpoint, reachedIn } from '../lib/rows.ts';

/** Overlap with the previous run, in milliseconds: a change that was being written then is stored by now. */
const OVERLAP = 2 * 60_000;

/** How many changed appointments, and how many due ones, a run reads. */
const MAX_READ = 500;

/** How many are followed at the same time: a mail server takes a while for each. */
const WORKERS = 4;

/** Nothing is begun after so many milliseconds: the Bot has ten seconds, and a mail server may take six. */
const LAST_BEGIN = 4_000;

/** For how long the checkpoint waits for changes whose messages fail, in milliseconds. */
const PATIENCE = 60 * 60_000;

/** Does what an operator asks for: a test message, or a note that a message came back. */
async function runOperatorRequest(
  medplum: MedplumClient,
  { secrets, input }: BotEvent<Parameters>,
): Promise<Parameters> {
  const said = (wanted: string) => input.parameter?.find(({ name }) => name === wanted)?.valueString ?? '';
  const number = said('returned');
  if (number !== '') {
    const isKnown = await messageReturned(medplum, number, said('status'));
    return result(isKnown ? 'returned' : 'unknown');
  }
  const attempt = config.messages.from
    ? await sendMessage(medplum, secrets, { medium: 'email', mail: testMail(said('to'), config) }, 'test')
    : ({
        kind: 'refused',
        reason: 'There is no messages.from in the configuration with which this was deployed.',
      } as const);
  return result(attempt.kind, attempt.kind === 'taken' ? undefined : attempt.reason);
}

const result = (kind: string, reason?: string): Parameters => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'result', valueString: kind },
    ...(reason === undefined ? [] : [{ name: 'reason', valueString: reason }]),
  ],
});

/**
 * Runs every minute: notifies people of changed appointments, reminds them of appointments, and retries failed messages.
 * The next run continues after the time limit.
 * @param event - input: the Bot itself, as cron starts it; or Parameters: `to`, an address for a test, or `returned` and
 *   `status`, the number of a message that came back, and why
 * @throws Error with all that could not be done; the next run does it
 */
export async function handler(
  medplum: MedplumClient,
  event: BotEvent<Bot | Parameters>,
): Promise<Parameters | undefined> {
  const { input, secrets } = event;
  if (input.resourceType === 'Parameters') {
    return runOperatorRequest(medplum, { ...event, input });
  }
  if (config.messages.from === undefined) {
    return undefined;
  }
  const start = Date.now();
  const isTime = (): boolean => Date.now() < start + LAST_BEGIN;
  const failures: string[] = [];
  const follow = (id: string): Promise<boolean> =>
    followAppointment(medplum, secrets, id).then(
      () => true,
      (error: unknown) => {
        failures.push(`Appointment/${id}: ${String(error)}`);
        return false;
      },
    );
  const [checkpoints, due] = await readInTransaction(medplum, [
    checkpointSearch('message-all'),
    `${dueThreads(start, config)}&_count=${MAX_READ}`,
  ]);
  const [checkpoint] = ofType('Task', checkpoints);
  const from = Math.min(reachedIn(checkpoint) ?? start, start) - OVERLAP;
  const [found] = await readInTransaction(medplum, [
    `Appointment?_lastUpdated=ge${formatInstant(from)}&_sort=_lastUpdated&_count=${MAX_READ}`,
  ]);
  const changed = ofType('Appointment', found);
  const timeOf = ({ meta }: Resource): number => Date.parse(meta?.lastUpdated ?? '');
  const done = await mapConcurrently(changed, WORKERS, async ({ id = '' }) => (isTime() ? follow(id) : undefined));
  // Failures older than `PATIENCE` do not hold up the others. Appointments not reached are left.
  const moved = checkpoint ? timeOf(checkpoint) : start;
  const left = changed.filter(
    (appointment, index) =>
      done[index] === undefined || (!done[index] && Math.max(timeOf(appointment), moved) > start - PATIENCE),
  );
  const last = changed.length < MAX_READ ? [] : changed.slice(-1);
  const until = Math.min(start, Math.min(...[...left, ...last].map(timeOf)) + OVERLAP);
  if (until !== reachedIn(checkpoint)) {
    await moveCheckpoint(medplum, 'message-all', checkpoint, until);
  }
  const ids = new Set(ofType('Task', due).map(({ focus }) => idIn(focus, 'Appointment') ?? ''));
  for (const { id = '' } of changed) {
    ids.delete(id);
  }
  await mapConcurrently([...ids], WORKERS, async (id) => isTime() && (await follow(id)));
  if (failures.length > 0) {
    throw new Error(failures.join('\n'));
  }
  return undefined;
}
