import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import type { Reach } from '../../../core/absence/rows.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { ownerOf } from '../../../core/fhir/tags.ts';
import { isOfClinic, recipientsOf } from '../../../core/messages/recipient.ts';
import { matchesFilter } from '../../../core/notifications/subscription/filter.ts';
import { storedParameters } from '../../../core/notifications/subscription/subscription-parameters.ts';
import { config } from '../config.ts';
import { chooseAddressees } from '../messages/address.ts';
import { mediaOf } from '../messages/send.ts';
import { ofType, readByIds, readInTransaction } from '../read.ts';

/** Only patients and related persons: staff and location of an offered time may differ from the appointment's. */
const peopleOf = ({ participant }: Appointment) =>
  participant.filter(({ actor }) => idIn(actor, 'Patient') ?? idIn(actor, 'RelatedPerson'));

/** Returns whether the portal of an appointment subscribes to times that are offered in its place. */
async function readListening(medplum: MedplumClient): Promise<(appointment: Appointment) => boolean> {
  const profile = encodeURIComponent(artefactUri(config, 'LocalSubscriptionTermin'));
  const [found] = await readInTransaction(medplum, [`Subscription?status=active&_profile=${profile}&_count=1000`]);
  const subscriptions = ofType('Subscription', found).flatMap((stored) => {
    const { topic, conditions = [] } = storedParameters(stored, config) ?? {};
    return topic === 'appointment-offer' ? [{ owner: ownerOf(stored, config), conditions }] : [];
  });
  return (appointment) =>
    subscriptions.some(
      ({ owner, conditions }) =>
        owner !== undefined &&
        owner === ownerOf(appointment, config) &&
        matchesFilter({ ...appointment, status: 'proposed', participant: peopleOf(appointment) }, conditions),
    );
}

/** Returns, per appointment, how its people are notified of an offered time: by portal, by message or by a call. */
export async function readReaches(
  medplum: MedplumClient,
  appointments: readonly Appointment[],
  secrets: BotEvent['secrets'],
): Promise<Reach[]> {
  const now = Date.now();
  const isListening = await readListening(medplum);
  const idsOf = (type: 'Patient' | 'RelatedPerson') =>
    appointments.flatMap(({ participant }) => participant.flatMap(({ actor }) => idIn(actor, type) ?? []));
  const people = [
    ...(await readByIds(medplum, 'Patient', idsOf('Patient'))),
    ...(await readByIds(medplum, 'RelatedPerson', idsOf('RelatedPerson'))),
  ];
  const byReference = new Map(people.map((resource) => [`${resource.resourceType}/${resource.id}`, resource]));
  const media = config.messages.from ? mediaOf(secrets) : [];
  const notified = appointments.map((appointment) => {
    const own = appointment.participant.flatMap(({ actor }) => byReference.get(actor?.reference ?? '') ?? []);
    const isWritten = !isListening(appointment) && isOfClinic(appointment, config);
    return { appointment, candidates: isWritten ? recipientsOf(appointment, own, media, now, config) : [] };
  });
  const addressees = await chooseAddressees(medplum, notified);
  return appointments.map((appointment, index): Reach => {
    const isWritten = addressees[index]?.isTrusted ? 'message' : 'call';
    return isListening(appointment) ? 'portal' : isWritten;
  });
}
