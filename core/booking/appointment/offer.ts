import type { Appointment, Extension } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { idIn } from '../../fhir/reference/reference.ts';
import type { Medium } from '../../messages/recipient.ts';

/** What an offer to one person says. */
export interface Offer {
  readonly reason: 'waitlist' | 'absence' | 'visit' | 'consent';
  /** Ids of the waitlist entry, and of the appointments that it would replace: one, or those of a visit. */
  readonly for: readonly string[];
  /** Until when it stands, in milliseconds since 1970 UTC. */
  readonly until: number;
  /** How the clinic can reach people, where the person must be asked (`consent`). */
  readonly media?: readonly Medium[];
}

/** The extensions that make an appointment an offer. What it was for stays in what it becomes. */
export function offerExtensions({ reason, for: ids, until }: Offer, config: PublicConfig): Extension[] {
  const said = ids.map((id) => ({ url: 'for', valueReference: { reference: `Appointment/${id}` } }));
  return [
    { url: artefactUri(config, 'LocalHeldUntil'), valueInstant: formatInstant(until) },
    { url: artefactUri(config, 'LocalOffer'), extension: [{ url: 'reason', valueCode: reason }, ...said] },
  ];
}

const partsOf = ({ extension }: Appointment, config: PublicConfig): readonly Extension[] => {
  const all: readonly (Extension | null)[] = Array.isArray(extension) ? extension : [];
  return all.find((one) => one?.url === artefactUri(config, 'LocalOffer'))?.extension ?? [];
};

/** Why a time is, or was, offered; `undefined` if it was not. */
export const offerReason = (appointment: Appointment, config: PublicConfig): string | undefined =>
  partsOf(appointment, config).find(({ url }) => url === 'reason')?.valueCode;

/** Whether an appointment waits, or waited, for its person to agree to what an assistant has asked for. */
export const asksForConsent = (appointment: Appointment, config: PublicConfig): boolean =>
  offerReason(appointment, config) === 'consent';

/** Whether an appointment is, or was, freed time that was offered to somebody who waits. */
export const isFromWaitlist = (appointment: Appointment, config: PublicConfig): boolean =>
  partsOf(appointment, config).some(({ url, valueCode }) => url === 'reason' && valueCode === 'waitlist');

/** Ids of what an appointment is, or was, offered for: a waitlist entry, and the appointments that it would replace. */
export function offeredFor(appointment: Appointment, config: PublicConfig): string[] {
  return partsOf(appointment, config).flatMap(
    ({ url, valueReference }) => (url === 'for' && idIn(valueReference, 'Appointment')) || [],
  );
}
