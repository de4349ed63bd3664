import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import type { Reach } from '../../../core/booking/absence/rows.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { ownerOf } from '../../../core/fhir/tags.ts';
import { isOfClinic, recipientOf } from '../../../core/messages/recipient.ts';
import { topicUrl } from '../../../core/notifications/subscription/topics.ts';
import { config } from '../config.ts';
import { mediaOf } from '../messages/send.ts';
import { ofType, readByIds, readInTransaction } from '../read.ts';

/** Whose Subscriptions are told of offers. */
async function readListeners(medplum: MedplumClient): Promise<Set<string>> {
  const profile = encodeURIComponent(artefactUri(config, 'LocalSubscriptionTermin'));
  const [found] = await readInTransaction(medplum, [`Subscription?status=active&_profile=${profile}&_count=1000`]);
  const topic = topicUrl('appointment-offer', config);
  return new Set(
    ofType('Subscription', found).flatMap((one) => (one.criteria === topic ? (ownerOf(one, config) ?? []) : [])),
  );
}

/** How the people of some appointments hear of an offer. */
export async function readReaches(
  medplum: MedplumClient,
  appointments: readonly Appointment[],
  secrets: BotEvent['secrets'],
): Promise<Reach[]> {
  const now = Date.now();
  const listeners = await readListeners(medplum);
  const idsOf = (type: 'Patient' | 'RelatedPerson') =>
    appointments.flatMap(({ participant }) => participant.flatMap(({ actor }) => idIn(actor, type) ?? []));
  const people = [
    ...(await readByIds(medplum, 'Patient', idsOf('Patient'))),
    ...(await readByIds(medplum, 'RelatedPerson', idsOf('RelatedPerson'))),
  ];
  const byReference = new Map(people.map((one) => [`${one.resourceType}/${one.id}`, one]));
  const media = config.messages.from ? mediaOf(secrets) : [];
  return appointments.map((one): Reach => {
    if (listeners.has(ownerOf(one, config) ?? '')) {
      return 'portal';
    }
    const own = one.participant.flatMap(({ actor }) => byReference.get(actor?.reference ?? '') ?? []);
    return isOfClinic(one, config) && recipientOf(one, own, media, now, config) ? 'message' : 'call';
  });
}
