import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Encounter } from '@medplum/fhirtypes';
import { shareEncounter } from '../lib/booking/encounter-owner.ts';

/**
 * Makes an encounter that clinic staff have created or changed visible to the requestor of its appointment, and to no
 * other.
 * @param event - input: the Encounter
 */
export async function handler(medplum: MedplumClient, { input }: BotEvent<Encounter>): Promise<void> {
  await shareEncounter(medplum, input.id ?? '');
}
