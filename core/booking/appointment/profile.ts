import type { Appointment, CodeableConcept, Element } from '@medplum/fhirtypes';
import type { AppointmentRules, BookingConfig, CodingSlice } from '../../config/config.ts';
import { artefactUri } from '../../fhir/artefacts.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import type { Located } from '../request/parameters.ts';

/** FHIR's JSON keeps the extensions of a primitive element in a separate property. */
type WithPriority = Appointment & { readonly _priority?: Element };

const violation = (diagnostics: string, expression: string): Issue => ({
  code: 'profile-violation',
  diagnostics,
  expression,
});

/** Each concept needs codings with system and code; where `allowsText`, a text without codings is enough. */
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

/** Checks the extensions of `priority`. Without any (in `_priority`), there is nothing to check. */
function priorityIssues({ value, path }: Located<Appointment>, config: BookingConfig): Issue[] {
  const { _priority: priority }: WithPriority = value;
  if (!priority) {
    return [];
  }
  const url = artefactUri(config, 'LocalTerminPriorityExtension');
  const extensions = (priority.extension ?? []).flatMap((extension, index) => (extension.url === url ? [index] : []));
  const [position, secondPosition] = extensions;
  const extensionPath = `${path}.priority.extension`;
  if (position === undefined || secondPosition !== undefined) {
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
  const found = (value.extension ?? []).filter((extension) => extension.url === url);
  const isCoded = found.every(({ valueCoding }) => valueCoding?.system && valueCoding.code);
  return found.length > 1 || !isCoded
    ? [violation(`The extension ${url} is given once, with a valueCoding of system and code.`, `${path}.extension`)]
    : [];
}

/**
 * Checks an appointment against the profile LocalTermin. Medplum checks every write against its StructureDefinition,
 * with the same rules. This check runs before anything is written and reports violations together with all other
 * problems.
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

const codingsFrom = (systems: readonly string[], { coding = [] }: CodeableConcept): number =>
  coding.filter(({ system, code }) => code && systems.includes(system ?? '')).length;

function serviceTypeIssues({ value, path }: Located<Appointment>, { needsServiceType }: AppointmentRules): Issue[] {
  return needsServiceType && !value.serviceType?.length
    ? [violation('An appointment must name its service type.', `${path}.serviceType`)]
    : [];
}

/**
 * Checks the specialties of an appointment or a catalogue resource.
 * @param path - FHIRPath of the resource
 * @returns a `profile-violation` for each specialty and slice
 */
export function specialtyIssues(
  concepts: readonly CodeableConcept[] | undefined,
  path: string,
  slices: readonly CodingSlice[],
): Issue[] {
  return (concepts ?? []).flatMap((concept, index) => {
    const specialtyPath = `${path}.specialty[${index}]`;
    if (!concept.coding?.length) {
      return [violation('A specialty must be coded; words alone are not enough.', specialtyPath)];
    }
    return slices.flatMap(({ systems, isRequired }) => {
      const count = codingsFrom(systems, concept);
      const isRight = count === 1 || (count === 0 && !isRequired);
      const wanted = `A specialty must have ${isRequired ? 'exactly' : 'at most'} one coding from ${systems.join(' or ')}.`;
      return isRight ? [] : [violation(wanted, specialtyPath)];
    });
  });
}

function extensionIssues({ value, path }: Located<Appointment>, { referenceExtensions }: AppointmentRules): Issue[] {
  return (value.extension ?? []).flatMap(({ url = '', valueReference }, index) =>
    valueReference || !referenceExtensions.includes(url)
      ? []
      : [violation(`The value of the extension ${url} must be a Reference.`, `${path}.extension[${index}].value`)],
  );
}

function prioritySystemIssues(
  { value, path }: Located<Appointment>,
  config: BookingConfig,
  rules: AppointmentRules,
): Issue[] {
  const { _priority: priority }: WithPriority = value;
  const url = artefactUri(config, 'LocalTerminPriorityExtension');
  return (priority?.extension ?? []).flatMap((extension, index) => {
    const concept = extension.url === url ? extension.valueCodeableConcept : undefined;
    return !concept || codingsFrom([rules.prioritySystem], concept) > 0
      ? []
      : [
          violation(
            `The priority must be coded in ${rules.prioritySystem}.`,
            `${path}.priority.extension[${index}].value`,
          ),
        ];
  });
}

function cancelationReasonIssues(
  { value, path }: Located<Appointment>,
  { cancelationReason }: AppointmentRules,
): Issue[] {
  const { system, codes } = cancelationReason;
  const { cancelationReason: reason } = value;
  const isBound = reason?.coding?.some((coding) => coding.system === system && codes.includes(coding.code ?? ''));
  return !reason || isBound
    ? []
    : [violation(`The reason must be one of ${codes.join(', ')} from ${system}.`, `${path}.cancelationReason`)];
}

/**
 * Checks an appointment against the publisher's rules beyond the specification. The project's own profile has none. For
 * a bound element the code system is compared; the code is compared only where the preset lists the codes. Larger code
 * systems are not looked up.
 * @returns a `profile-violation` for each element at fault
 */
export function publisherIssues(appointment: Located<Appointment>, config: BookingConfig): Issue[] {
  const { appointmentRules: rules } = config;
  return rules
    ? [
        ...serviceTypeIssues(appointment, rules),
        ...specialtyIssues(appointment.value.specialty, appointment.path, rules.specialty),
        ...extensionIssues(appointment, rules),
        ...prioritySystemIssues(appointment, config, rules),
        ...cancelationReasonIssues(appointment, rules),
      ]
    : [];
}
