import { setTimeout as wait } from 'node:timers/promises';
import { formatInstant } from '../../core/fhir/instant.ts';
import type { Connection } from '../medplum/connect.ts';
import type { DemoSchedule } from './clinic.ts';

/** A demo schedule with the reference under which it is stored. */
export type StoredSchedule = DemoSchedule & { readonly reference: string };

/** Maximum time until the first slots are published, in milliseconds. */
const PATIENCE = 60_000;

const POLL = 100;

/**
 * Waits until slots of each schedule are published: the next days come first, the rest follows.
 *
 * @throws Error that says where to look if nothing is published
 */
export async function untilPublished({ medplum }: Connection, schedules: readonly StoredSchedule[]): Promise<void> {
  const deadline = Date.now() + PATIENCE;
  for (const { reference, title } of schedules) {
    const query = { schedule: reference, status: 'free', start: `ge${formatInstant(Date.now())}`, _count: 1 };
    while ((await medplum.searchResources('Slot', query, { cache: 'reload' })).length === 0) {
      if (Date.now() > deadline) {
        throw new Error(
          `No slots of ${title} were published. See the log of the Bot publish-slots, and npm run doctor.`,
        );
      }
      await wait(POLL);
    }
  }
}
