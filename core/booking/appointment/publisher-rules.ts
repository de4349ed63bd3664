import type { Appointment, CodeableConcept, Element } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri, type BookingConfig } from '../../config/config.ts';
import type { AppointmentRules } from '../../config/profile-rules.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import type { Located } from '../book/request/parameters.ts';

/** The part of the configuration that the rules of a publisher depend on. */
export type PublisherConfig = ArtefactConfig & Pick<BookingConfig, 'appointmentRules'>;

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

function specialtyIssues({ value, path }: Located<Appointment>, { specialty }: AppointmentRules): Issue[] {
  const concepts = value.specialty ?? [];
  if (!specialty || concepts.length === 0) {
    return [];
  }
  const { systems, within } = specialty;
  const named = systems.join(' or ');
  if (within === 'each') {
    return concepts.flatMap((concept, index) =>
      codingsFrom(systems, concept) === 1
        ? []
        : [violation(`A specialty must have exactly one coding from ${named}.`, `${path}.specialty[${index}]`)],
    );
  }
  const coded = concepts.filter((concept) => codingsFrom(systems, concept) > 0).length;
  const isRight = coded === 1 || (coded === 0 && within === 'at-most-one');
  const wanted = within === 'one' ? 'Exactly one specialty' : 'At most one specialty';
  return isRight ? [] : [violation(`${wanted} must be coded in ${named}.`, `${path}.specialty`)];
}

function priorityIssues(
  { value, path }: Located<Appointment>,
  config: PublisherConfig,
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
export function publisherIssues(appointment: Located<Appointment>, config: PublisherConfig): Issue[] {
  const { appointmentRules: rules } = config;
  return rules
    ? [
        ...serviceTypeIssues(appointment, rules),
        ...specialtyIssues(appointment, rules),
        ...priorityIssues(appointment, config, rules),
        ...cancelationReasonIssues(appointment, rules),
      ]
    : [];
}
