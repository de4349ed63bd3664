import type { Appointment, BundleEntry, Provenance, Reference } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../config/config.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { isObject, isResource } from '../../fhir/resource.ts';

/**
 * Request header by which the gateway says of an assistant's request what there is of consent: `asked`, the person is asked
 * for it, and nothing is booked before; `given`, the clinic trusts this assistant to have it.
 */
export const CONSENT_HEADER = 'x-booking-consent';

/** How it is known that a person has agreed: by the link that was sent to them, or by an assistant that the clinic trusts. */
export type ConsentBy = 'link' | 'assistant';

const said: Readonly<Record<ConsentBy, string>> = {
  link: 'Agreed by the link that was sent to the person.',
  assistant: 'Agreed, as the assistant says, which the clinic trusts for it.',
};

/**
 * What the header says.
 *
 * @param headers - of the request, by name in lower case
 */
export function consentIn(headers: unknown): 'asked' | 'given' | undefined {
  const value = isObject(headers) ? headers[CONSENT_HEADER] : undefined;
  return value === 'asked' || value === 'given' ? value : undefined;
}

const participantType = (code: 'enterer' | 'attester') => ({
  coding: [{ system: 'http://terminology.hl7.org/CodeSystem/provenance-participant-type', code }],
});

/** Who asked for an appointment, and how it is known that its person has agreed. */
interface Consent {
  /** The client of the assistant. */
  readonly assistant: Pick<Reference, 'display'> & { readonly id: string };
  readonly by: ConsentBy;
  /** When, in milliseconds since 1970 UTC. */
  readonly agreed: number;
}

function provenance(
  target: string,
  { participant }: Appointment,
  { assistant: { id, display }, by, agreed }: Consent,
  config: PublicConfig,
): Provenance {
  const references = participant.map(({ actor }) => actor?.reference ?? '');
  const patient = references.find((one) => one.startsWith('Patient/') || one.startsWith('urn:uuid:'));
  const client = {
    identifier: { system: artefactUri(config, 'LocalRequestor'), value: id },
    ...(display && { display }),
  };
  return {
    resourceType: 'Provenance',
    target: [{ reference: target }],
    occurredDateTime: formatInstant(agreed),
    recorded: formatInstant(agreed),
    reason: [
      { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-ActReason', code: 'PATRQT' }], text: said[by] },
    ],
    agent: [
      { type: participantType('enterer'), who: client, ...(patient && { onBehalfOf: { reference: patient } }) },
      ...(patient && by === 'link' ? [{ type: participantType('attester'), who: { reference: patient } }] : []),
    ],
  };
}

/**
 * Adds to the transaction of a booking, whose first entry is the appointment, who booked it, for whom, and when that person
 * agreed.
 *
 * @param newId - gives a fresh `urn:uuid:`
 */
export function withConsent(
  [first, ...others]: readonly BundleEntry[],
  consent: Consent,
  newId: () => string,
  config: PublicConfig,
): BundleEntry[] {
  if (first?.resource?.resourceType !== 'Appointment') {
    return [...(first ? [first] : []), ...others];
  }
  const { resource } = first;
  const isNew = resource.id === undefined;
  const target = isNew ? (first.fullUrl ?? newId()) : `Appointment/${resource.id}`;
  const kept = provenance(target, resource, consent, config);
  return [
    isNew ? { ...first, fullUrl: target } : first,
    ...others,
    { request: { method: 'POST', url: 'Provenance' }, resource: kept },
  ];
}

/** How and when a person has agreed, as it was kept; `undefined` if that is something else. */
export function consentKept(kept: unknown): { readonly by: ConsentBy; readonly at: number | undefined } | undefined {
  if (!isResource(kept, 'Provenance')) {
    return undefined;
  }
  const isAttested = kept.agent.some(({ type }) => type?.coding?.some(({ code }) => code === 'attester'));
  return { by: isAttested ? 'link' : 'assistant', at: parseInstant(kept.occurredDateTime) };
}
