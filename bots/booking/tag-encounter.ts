import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Encounter } from '@medplum/fhirtypes';
import { shareEncounter } from '../lib/booking/encounter-owner.ts';

/**
 * Shows an encounter that clinic staff have made or changed to the requestor of its appointment, and to nobody else.
 *
 * @param event - input: the Encounter
 * @throws Error when it could not be done
 */
export async function handler(medplum: MedplumClient, { input }: BotEvent<Encounter>): Promise<void> {
  await shareEncounter(medplum, input.id ?? '');
}
