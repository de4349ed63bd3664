import type { CodeableConcept, HealthcareService, Practitioner, Schedule } from '@medplum/fhirtypes';
import { specialtyIssues } from '../../core/booking/appointment/profile.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { serviceTypeOf } from '../../core/fhir/reference.ts';
import { changeService } from '../../core/fhir/scheduling/change-hours.ts';
import type { CredentialArguments } from '../cli/credentials.ts';
import { type HoursArguments, hoursChange } from './change.ts';
import { findService } from './find.ts';
import { nameOf } from './read.ts';
import { openCalendars, requireUsable, type Session, save } from './session.ts';

/** The code system of a specialty without a system: the publisher's, if its profiles demand one. */
const usualSystem = (config: BookingConfig): string =>
  config.appointmentRules?.specialty[0]?.systems[0] ?? artefactUri(config, 'LocalSpecialty');

function concept(text: string, config: BookingConfig): CodeableConcept {
  const at = text.lastIndexOf('|');
  const system = at < 0 ? usualSystem(config) : text.slice(0, at);
  const code = text.slice(at + 1);
  if (!system || !code) {
    throw new Error(`Write --specialty as a code or as system|code, not '${text}'.`);
  }
  return { coding: [{ system, code }] };
}

/**
 * The specialties in the option `--specialty`.
 *
 * @throws Error that explains the syntax
 */
const specialtiesFrom = (texts: readonly string[] | undefined, config: BookingConfig): CodeableConcept[] =>
  (texts ?? []).map((text) => concept(text, config));

/**
 * Throws if the publisher's profiles do not allow these specialties in a schedule or service.
 *
 * @throws Error that says how to give a specialty
 */
function requireSpecialty(
  specialties: readonly CodeableConcept[],
  type: 'HealthcareService' | 'Schedule',
  { appointmentRules: rules }: BookingConfig,
): void {
  if (!rules) {
    return;
  }
  const problems = specialtyIssues(specialties, type, rules.specialty).map(({ diagnostics }) => diagnostics);
  if (specialties.length === 0 || problems.length > 0) {
    const hint = `Give --specialty: a code from ${rules.specialty[0]?.systems.join(' or ')}, such as ALLG, or system|code.`;
    throw new Error([`The profiles of this installation demand a specialty. ${hint}`, ...problems].join('\n'));
  }
}

/** Adds a bookable service. */
export async function addService(
  name: string,
  given: CredentialArguments & HoursArguments & { code: string; specialty?: string[] },
): Promise<void> {
  const change = hoursChange(given);
  if (!change.hours || change.duration === undefined || change.timeZone === undefined) {
    throw new Error('A service needs --hours, --duration and --time-zone: without them nothing can be published.');
  }
  const session = await openCalendars(given);
  const { calendars, config } = session;
  if (calendars.services.some((service) => service.name === name)) {
    throw new Error(`There is a service '${name}' already. npm run calendar -- hours "${name}" changes its hours.`);
  }
  const specialty = specialtiesFrom(given.specialty, config);
  requireSpecialty(specialty, 'HealthcareService', config);
  const coding = [{ system: artefactUri(config, 'LocalServiceType'), code: given.code, display: name }];
  const service: HealthcareService = {
    resourceType: 'HealthcareService',
    active: true,
    name,
    type: [{ coding }],
    ...(specialty.length > 0 && { specialty }),
  };
  const resource = changeService(service, change);
  requireUsable(resource, config);
  const { id } = await save(session, resource);
  console.log(`HealthcareService/${id} is added. Next: npm run calendar -- add "Dr. …" --service "${name}"`);
}

async function practitioner(session: Session, name: string): Promise<string> {
  const [family = '', ...others] = name.trim().split(/\s+/).reverse();
  const prefix = others.filter((word) => word.endsWith('.')).reverse();
  const first = others.filter((word) => !word.endsWith('.')).reverse();
  const resource: Practitioner = {
    resourceType: 'Practitioner',
    active: true,
    name: [{ family, ...(first.length > 0 && { given: first }), ...(prefix.length > 0 && { prefix }) }],
  };
  const { id } = await save(session, resource);
  return `Practitioner/${id}`;
}

const specialtiesOf = (services: readonly HealthcareService[]): CodeableConcept[] => [
  ...new Map(services.flatMap(({ specialty = [] }) => specialty.map((one) => [JSON.stringify(one), one]))).values(),
];

/** Adds a practitioner with a schedule, or a schedule for an actor that already exists. */
export async function addSchedule(
  name: string,
  given: CredentialArguments & { service: string[]; specialty?: string[]; actor?: string; confirmation?: string },
): Promise<void> {
  const { confirmation, actor } = given;
  if (confirmation !== undefined && confirmation !== 'automatic' && confirmation !== 'manual') {
    throw new Error(`--confirmation is automatic or manual, not '${confirmation}'.`);
  }
  const session = await openCalendars(given);
  const { calendars, config } = session;
  const services = given.service.map((one) => findService(one, calendars));
  if (
    actor !== undefined &&
    calendars.schedules.some((one) => one.actor.some(({ reference }) => reference === actor))
  ) {
    throw new Error(`${actor} has a schedule already. Two schedules of one actor are not protected from each other.`);
  }
  const namesake = calendars.schedules.find((one) => nameOf(one, calendars) === name);
  if (actor === undefined && namesake) {
    throw new Error(
      `${name} has Schedule/${namesake.id} already: patients would see two. If this is somebody else, make a Practitioner in Medplum and name it with --actor.`,
    );
  }
  const specialty = given.specialty ? specialtiesFrom(given.specialty, config) : specialtiesOf(services);
  requireSpecialty(specialty, 'Schedule', config);
  const resource: Schedule = {
    resourceType: 'Schedule',
    meta: { profile: [artefactUri(config, 'LocalSchedule')] },
    active: true,
    ...(confirmation && { extension: [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: confirmation }] }),
    serviceType: services.flatMap(serviceTypeOf),
    ...(specialty.length > 0 && { specialty }),
    actor: [{ reference: actor ?? (await practitioner(session, name)), display: name }],
  };
  const { id } = await save(session, resource);
  console.log(`Schedule/${id} is added. How far it is published: npm run calendar -- show Schedule/${id}`);
}
