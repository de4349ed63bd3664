import type { MedplumClient } from '@medplum/core';
import type { CodeableConcept, HealthcareService, Practitioner, Schedule } from '@medplum/fhirtypes';
import { specialtyIssues } from '../../core/booking/appointment/profile.ts';
import { checkOpeningHours } from '../../core/calendar/parameters/check-opening-hours.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { serviceTypeOf } from '../../core/fhir/reference.ts';
import { changeService, type HoursChange } from '../../core/fhir/scheduling/change-hours.ts';
import { doubtsIn, rowsOf } from '../../core/time/weekly-rows.ts';
import type { CredentialArguments } from '../cli/credentials.ts';
import { parseHours } from './hours-text.ts';
import { type Calendars, nameOf, openCalendars } from './read.ts';

function readHours(text: string): NonNullable<HoursChange['hours']> {
  const hours = parseHours(text);
  for (const doubt of doubtsIn(rowsOf(hours))) {
    console.log(
      doubt.kind === 'overnight'
        ? `Hours ${doubt.line} run until ${doubt.end} on the next day: ${doubt.hours} hours. Is that right?`
        : `Hours ${doubt.line} and ${doubt.other} overlap. Is that right?`,
    );
  }
  return hours;
}

/** Throws for invalid opening hours, even where Medplum does not call the service before it stores them. */
function requireUsable(holder: HealthcareService, config: BookingConfig): void {
  const found = checkOpeningHours(holder, config);
  const problems = found.map(({ diagnostics, expression }) => `${expression}: ${diagnostics}`);
  if (problems.length > 0) {
    throw new Error(`${problems.join('\n')}\nNothing was changed.`);
  }
}

const isSame = (one: string | undefined, other: string): boolean => one?.toLowerCase() === other.toLowerCase();

function isService({ id, name, type = [] }: HealthcareService, text: string): boolean {
  const codes = type.flatMap(({ coding = [] }) => coding.map(({ code }) => code));
  return [id, `HealthcareService/${id}`, name, ...codes].some((one) => isSame(one, text));
}

/**
 * The service with a reference, id, name or code.
 *
 * @throws Error that names the candidates, if none or more than one has this name
 */
function findService(text: string, { services }: Calendars): HealthcareService & { readonly id: string } {
  const [service, ...more] = services.filter((one) => isService(one, text));
  if (!service) {
    throw new Error(`There is no service '${text}'. npm run calendar -- list names all of them.`);
  }
  if (more.length > 0) {
    const names = [service, ...more].map(({ id }) => `HealthcareService/${id}`);
    throw new Error(`'${text}' is ambiguous: ${names.join(', ')}. Name one of these.`);
  }
  return { ...service, id: service.id ?? '' };
}

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

interface ServiceArguments extends CredentialArguments {
  readonly code: string;
  readonly hours: string;
  readonly duration: number;
  readonly timeZone: string;
  readonly specialty?: readonly string[];
}

/** Adds a bookable service. */
export async function addService(name: string, given: ServiceArguments): Promise<void> {
  const { duration, timeZone } = given;
  const hours = readHours(given.hours);
  const { medplum, calendars, config } = await openCalendars(given);
  if (calendars.services.some((service) => service.name === name)) {
    throw new Error(`There is a service '${name}' already. Its hours are changed at the front desk.`);
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
  const resource = changeService(service, { hours, duration, timeZone });
  requireUsable(resource, config);
  const { id } = await medplum.createResource(resource);
  console.log(`HealthcareService/${id} is added. Next: npm run calendar -- add "Dr. …" --service "${name}"`);
}

async function practitioner(medplum: MedplumClient, name: string): Promise<string> {
  const [family = '', ...others] = name.trim().split(/\s+/).reverse();
  const prefix = others.filter((word) => word.endsWith('.')).reverse();
  const first = others.filter((word) => !word.endsWith('.')).reverse();
  const resource: Practitioner = {
    resourceType: 'Practitioner',
    active: true,
    name: [{ family, ...(first.length > 0 && { given: first }), ...(prefix.length > 0 && { prefix }) }],
  };
  const { id } = await medplum.createResource(resource);
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
  const { medplum, calendars, config } = await openCalendars(given);
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
    actor: [{ reference: actor ?? (await practitioner(medplum, name)), display: name }],
  };
  const { id } = await medplum.createResource(resource);
  console.log(`Schedule/${id} is added. How far it is published: npm run calendar -- list`);
}
