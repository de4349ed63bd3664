import type { Appointment, CodeableConcept, Element } from '@medplum/fhirtypes';
import { type AppointmentRules, artefactUri, type BookingConfig, type CodingSlice } from '../../config/config.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import type { Located } from '../book/request/parameters.ts';

type WithPriority = Appointment & { readonly _priority?: Element };

const violation = (diagnostics: string, expression: string): Issue => ({
  code: 'profile-violation',
  diagnostics,
  expression,
});

/** How many codings of a concept come from one of these code systems. */
const codingsFrom = (systems: readonly string[], { coding = [] }: CodeableConcept): number =>
  coding.filter(({ system, code }) => code && systems.includes(system ?? '')).length;

function serviceTypeIssues({ value, path }: Located<Appointment>, { needsServiceType }: AppointmentRules): Issue[] {
  return needsServiceType && !value.serviceType?.length
    ? [violation('An appointment must name its service type.', `${path}.serviceType`)]
    : [];
}

/**
 * Checks specialties, of an appointment or of what is offered.
 *
 * @param path - FHIRPath of the resource
 * @returns a `profile-violation` for each specialty and slice
 */
export function specialtyIssues(
  concepts: readonly CodeableConcept[] | undefined,
  path: string,
  slices: readonly CodingSlice[],
): Issue[] {
  return (concepts ?? []).flatMap((concept, index) => {
    const own = `${path}.specialty[${index}]`;
    if (!concept.coding?.length) {
      return [violation('A specialty must be coded; words alone are not enough.', own)];
    }
    return slices.flatMap(({ systems, isRequired }) => {
      const count = codingsFrom(systems, concept);
      const isRight = count === 1 || (count === 0 && !isRequired);
      const wanted = `A specialty must have ${isRequired ? 'exactly' : 'at most'} one coding from ${systems.join(' or ')}.`;
      return isRight ? [] : [violation(wanted, own)];
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

function priorityIssues(
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
  const isBound = reason?.coding?.some((one) => one.system === system && codes.includes(one.code ?? ''));
  return !reason || isBound
    ? []
    : [violation(`The reason must be one of ${codes.join(', ')} from ${system}.`, `${path}.cancelationReason`)];
}

/**
 * Checks an appointment against what the publisher of its profile demands beyond the specification; the project's own
 * profile demands nothing more. For a bound element the code system is compared, and the code only where the preset lists
 * the codes: larger code systems are not looked up.
 *
 * @returns a `profile-violation` for each element at fault
 */
export function publisherIssues(appointment: Located<Appointment>, config: BookingConfig): Issue[] {
  const { appointmentRules: rules } = config;
  return rules
    ? [
        ...serviceTypeIssues(appointment, rules),
        ...specialtyIssues(appointment.value.specialty, appointment.path, rules.specialty),
        ...extensionIssues(appointment, rules),
        ...priorityIssues(appointment, config, rules),
        ...cancelationReasonIssues(appointment, rules),
      ]
    : [];
}
