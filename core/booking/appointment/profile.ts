import type { Appointment, CodeableConcept, Element } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../config/config.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import type { Located } from '../book/request/parameters.ts';

/** FHIR's JSON keeps the extensions of a primitive element in a separate property. */
type WithPriority = Appointment & { readonly _priority?: Element };

const violation = (diagnostics: string, expression: string): Issue => ({
  code: 'profile-violation',
  diagnostics,
  expression,
});

function codingIssues(
  concepts: readonly CodeableConcept[] | undefined,
  path: string,
  allowsText: boolean | undefined = false,
): Issue[] {
  return (concepts ?? []).flatMap(({ coding, text }, index) => {
    const conceptPath = `${path}[${index}]`;
    if (!coding && allowsText && text) {
      return [];
    }
    if (!coding) {
      return [violation('A coding with system and code is required.', `${conceptPath}.coding`)];
    }
    return coding.flatMap(({ system, code }, position) =>
      system && code ? [] : [violation('A coding must have system and code.', `${conceptPath}.coding[${position}]`)],
    );
  });
}

function participantIssues({ value, path }: Located<Appointment>): Issue[] {
  return (value.participant ?? []).flatMap(({ actor }, index) =>
    actor ? [] : [violation('Every participant must name its actor.', `${path}.participant[${index}].actor`)],
  );
}

function priorityIssues({ value, path }: Located<Appointment>, config: BookingConfig): Issue[] {
  const { _priority: priority }: WithPriority = value;
  if (!priority) {
    return [];
  }
  const url = artefactUri(config, 'LocalTerminPriorityExtension');
  const extensions = (priority.extension ?? []).flatMap((extension, index) => (extension.url === url ? [index] : []));
  const [position, second] = extensions;
  const extensionPath = `${path}.priority.extension`;
  if (position === undefined || second !== undefined) {
    return [violation(`The priority must have exactly one extension ${url}.`, extensionPath)];
  }
  const concept = priority.extension?.[position]?.valueCodeableConcept;
  const conceptPath = `${extensionPath}[${position}].value`;
  if (!concept) {
    return [violation('The priority extension must have a valueCodeableConcept.', conceptPath)];
  }
  return codingIssues([concept], conceptPath).map((issue) => ({
    ...issue,
    expression: issue.expression?.replace(`${conceptPath}[0]`, conceptPath) ?? conceptPath,
  }));
}

function payerKindIssues({ value, path }: Located<Appointment>, config: BookingConfig): Issue[] {
  const url = artefactUri(config, 'LocalPayerKind');
  const found = (value.extension ?? []).filter((one) => one.url === url);
  const isCoded = found.every(({ valueCoding }) => valueCoding?.system && valueCoding.code);
  return found.length > 1 || !isCoded
    ? [violation(`The extension ${url} is given once, with a valueCoding of system and code.`, `${path}.extension`)]
    : [];
}

/**
 * Checks an appointment against the profile LocalTermin. Its StructureDefinition, against which Medplum checks every write,
 * has the same rules; here violations are found before anything is written, together with all other problems.
 *
 * @returns a `profile-violation` for each element at fault
 * @see specification 2.1
 */
export function profileIssues(appointment: Located<Appointment>, config: BookingConfig): Issue[] {
  const { value, path } = appointment;
  const { allowsText } = config.appointmentRules ?? {};
  return [
    ...codingIssues(value.serviceType, `${path}.serviceType`, allowsText),
    ...codingIssues(value.specialty, `${path}.specialty`, allowsText),
    ...participantIssues(appointment),
    ...priorityIssues(appointment, config),
    ...payerKindIssues(appointment, config),
  ];
}
