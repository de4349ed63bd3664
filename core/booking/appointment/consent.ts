import type { Appointment, BundleEntry, Provenance } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant } from '../../fhir/instant.ts';

const participantType = (code: 'enterer' | 'attester') => ({
  coding: [{ system: 'http://terminology.hl7.org/CodeSystem/provenance-participant-type', code }],
});

interface Consent {
  readonly assistant: string;
  /** Milliseconds since 1970 UTC. */
  readonly agreed: number;
}

/** The Provenance of a booking: entered by the assistant on behalf of the patient, attested by the patient. */
function provenanceOf(
  target: string,
  { participant }: Appointment,
  { assistant, agreed }: Consent,
  config: PublicConfig,
): Provenance {
  const references = participant.map(({ actor }) => actor?.reference ?? '');
  const patient = references.find((one) => one.startsWith('Patient/') || one.startsWith('urn:uuid:'));
  const client = { identifier: { system: artefactUri(config, 'LocalRequestor'), value: assistant } };
  return {
    resourceType: 'Provenance',
    target: [{ reference: target }],
    occurredDateTime: formatInstant(agreed),
    recorded: formatInstant(agreed),
    reason: [
      {
        coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-ActReason', code: 'PATRQT' }],
        text: 'Agreed by the link that was sent to the person.',
      },
    ],
    agent: [
      { type: participantType('enterer'), who: client, ...(patient && { onBehalfOf: { reference: patient } }) },
      ...(patient ? [{ type: participantType('attester'), who: { reference: patient } }] : []),
    ],
  };
}

/**
 * Adds a Provenance to the transaction of a booking: the assistant that booked, the patient, and the time of consent.
 * The first entry must be the appointment.
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
  const kept = provenanceOf(target, resource, consent, config);
  return [
    isNew ? { ...first, fullUrl: target } : first,
    ...others,
    { request: { method: 'POST', url: 'Provenance' }, resource: kept },
  ];
}
