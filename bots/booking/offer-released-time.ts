import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Bot, Task } from '@medplum/fhirtypes';
import { openReleases, releaseOf } from '../../core/waitlist/release.ts';
import { config } from '../lib/config.ts';
import { ofType, readPages } from '../lib/read.ts';
import { carryOut, RUN_LIMIT } from '../lib/rows.ts';
import { offerReleasedTime } from '../lib/waitlist/release.ts';

/**
 * Offers released time to the people on the waitlist: as soon as it is released, and every minute what is left.
 * @param event - input: the row, as the Subscription delivers it, or the Bot itself, as cron does
 */
export async function handler(medplum: MedplumClient, { input, secrets = {} }: BotEvent<Task | Bot>): Promise<void> {
  const now = Date.now();
  const end = now + RUN_LIMIT;
  if (input.resourceType === 'Task') {
    await offerReleasedTime(medplum, input.id ?? '', secrets, end);
    return;
  }
  async function* acts() {
    for await (const pages of readPages(medplum, [openReleases(config)], { order: 'due-date', end })) {
      const due = ofType('Task', pages.flat()).filter((row) => (releaseOf(row)?.due ?? now) <= now);
      yield* due.map(
        ({ id = '' }) =>
          () =>
            offerReleasedTime(medplum, id, secrets, end),
      );
    }
  }
  await carryOut(acts(), end);
}
