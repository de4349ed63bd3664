import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { request } from '../http.ts';
import { config, type Role } from '../installation.ts';

/** `$hold` as a requestor. */
export const hold = (body: unknown, role: Role = 'portal-a') => request(role, 'POST', '/Appointment/$hold', { body });

/** Until when an appointment is held. */
export const heldUntil = ({ extension }: Appointment): string | undefined =>
  extension?.find(({ url }) => url === artefactUri(config, 'LocalHeldUntil'))?.valueInstant;
