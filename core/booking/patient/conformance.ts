import type { Patient } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';

/**
 * Whether a patient has what the profile LocalPatient demands. A provisional patient may lack it: it is accepted
 * nevertheless, but does not claim the profile.
 *
 * @param patient - as submitted
 */
export function conformsToProfile(
  patient: Patient,
  { patientRules: rules }: Pick<BookingConfig, 'patientRules'>,
): boolean {
  if (!rules) {
    return true;
  }
  const { system, code } = rules.identifierType;
  const isNumber = patient.identifier?.some(
    ({ type, system: issuer, value }) =>
      issuer && value && type?.coding?.some((one) => one.system === system && one.code === code),
  );
  const isNamed = patient.name?.some(({ use, family, given }) => use === 'official' && family && given?.length);
  return Boolean(isNumber && isNamed && patient.gender && patient.birthDate);
}
