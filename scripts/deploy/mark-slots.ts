import type { MedplumClient } from '@medplum/core';
import type { Parameters, Slot } from '@medplum/fhirtypes';
import { mapConcurrently } from '../../bots/lib/concurrency.ts';
import { portions } from '../../core/booking/search.ts';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { callBot } from '../medplum/project.ts';

/** How many Slots one search finds, one call of the Bot marks, and how many requests run at once. */
const [PAGE, PORTION, AT_ONCE] = [1000, 25, 4];

/** How often a portion is sent that bookings overtake. */
const ATTEMPTS = 3;

/** The Slots that have not ended, are not marked yet and that a search finds, page by page. */
async function* pages(
  medplum: MedplumClient,
  query: Readonly<Record<string, string>>,
  now: number,
  config: BookingConfig,
) {
  const mark = artefactUri(config, 'LocalOffered');
  // Versions before wrote the period alone, as its value.
  const isMarked = ({ extension = [] }: Slot): boolean =>
    extension.some(({ url, extension: parts }) => url === mark && parts !== undefined);
  let after = '';
  for (let isLast = false; !isLast; ) {
    const filter = [`end gt "${formatInstant(now)}"`, ...(after ? [`_lastUpdated ge "${after}"`] : [])].join(' and ');
    const search = { ...query, _filter: filter, _sort: '_lastUpdated', _count: String(PAGE) };
    const slots: Slot[] = await medplum.searchResources('Slot', search, { cache: 'reload' });
    const last = slots.at(-1)?.meta?.lastUpdated ?? '';
    isLast = slots.length < PAGE || last === after;
    after = last;
    yield slots.filter((slot) => !isMarked(slot)).flatMap(({ id }) => id ?? []);
  }
}

async function markByBot(medplum: MedplumClient, ids: readonly string[], config: BookingConfig): Promise<number> {
  const input: Parameters = {
    resourceType: 'Parameters',
    parameter: ids.map((valueId) => ({ name: 'slot', valueId })),
  };
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await callBot(medplum, 'reconcile', input, config);
      return isResource(answer, 'Parameters') ? (answer.parameter?.[0]?.valueInteger ?? 0) : 0;
    } catch (error) {
      if (attempt === ATTEMPTS) {
        throw error;
      }
    }
  }
}

/**
 * Gives every Slot that has not ended, and that the version before wrote, the marks that say what it is. A Bot of the
 * service writes them, each on condition of the version that was read: portals go on booking meanwhile. It can be broken
 * off and run again at any time; a run over marked Slots writes nothing.
 *
 * @param now - milliseconds since 1970 UTC
 * @param log - receives how far it is
 * @returns how many Slots were written
 * @throws Error when the Bot does not answer
 */
export async function markSlots(
  medplum: MedplumClient,
  config: BookingConfig,
  now: number,
  log: (line: string) => void,
): Promise<number> {
  const taken = { status: 'busy,busy-tentative,busy-unavailable' };
  const parts = { identifier: `${artefactUri(config, 'LocalSlotOrigin')}|`, status: 'free' };
  let [seen, written] = [0, 0];
  for (const query of [taken, parts]) {
    for await (const ids of pages(medplum, query, now, config)) {
      const counts = await mapConcurrently(portions(ids, PORTION), AT_ONCE, (one) => markByBot(medplum, one, config));
      seen += ids.length;
      written += counts.reduce((sum, count) => sum + count, 0);
      log(`marked     ${written} of ${seen} Slots without a mark that are taken or parts of others`);
    }
  }
  return written;
}
