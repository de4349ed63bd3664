import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig, EXTERNAL_TAG } from '../../core/config/config.ts';
import { RESOURCE_USAGE } from '../../profiles/terminology.ts';

/** What the first steps use. */
interface FirstSteps {
  readonly config: BookingConfig;
  /** The credentials of the requestor that takes them. */
  readonly client: { readonly id: string; readonly secret: string };
  /** A free slot: its reference, start and end. */
  readonly slot: { readonly reference: string; readonly start: string; readonly end: string };
  /** The service that the slot offers: a code of LocalServiceType. */
  readonly service: string;
  /** References to the slot's schedule and to a patient of the requestor. */
  readonly schedule: string;
  readonly patient: string;
}

/** A step: what it does, and the command for it. */
interface Step {
  readonly title: string;
  readonly command: string;
}

/** A word as a POSIX shell reads it back. */
function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** The header with the token that the first step has put into a variable of the shell. */
const AUTHORIZATION = '-H "Authorization: Bearer $TOKEN"';

function get(url: string, parameters: Readonly<Record<string, string>>): string {
  const query = Object.entries(parameters).map(([name, value]) => `--data-urlencode ${quote(`${name}=${value}`)}`);
  return ['curl -sG', quote(url), AUTHORIZATION, ...query].join(' ');
}

function logIn({ config, client }: FirstSteps): string {
  const url = `${new URL(config.baseUrl).origin}/oauth2/token`;
  const form = { grant_type: 'client_credentials', client_id: client.id, client_secret: client.secret };
  const parameters = Object.entries(form).map(([name, value]) => `-d ${quote(`${name}=${value}`)}`);
  const pick = `sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/'`;
  return `TOKEN=$(curl -s ${quote(url)} ${parameters.join(' ')} | ${pick})`;
}

function proposed({ config, slot, service, patient }: FirstSteps): Appointment {
  return {
    resourceType: 'Appointment',
    meta: {
      profile: [artefactUri(config, 'LocalTermin')],
      tag: [{ system: config.metaTagSystem, code: EXTERNAL_TAG }],
    },
    status: 'proposed',
    start: slot.start,
    end: slot.end,
    slot: [{ reference: slot.reference }],
    serviceType: [{ coding: [{ system: artefactUri(config, 'LocalServiceType'), code: service }] }],
    participant: [{ actor: { reference: patient }, status: 'accepted' }],
  };
}

function book(steps: FirstSteps): string {
  const url = quote(`${steps.config.baseUrl}/Appointment/$book`);
  const body = quote(JSON.stringify(proposed(steps)));
  return `curl -si ${url} ${AUTHORIZATION} -H 'Content-Type: application/fhir+json' -d ${body}`;
}

/**
 * A portal's way to a booking, as commands to copy: access token, code systems, free slots, book, read back.
 *
 * @see specification section 4
 */
export function firstSteps(steps: FirstSteps): Step[] {
  const { config, schedule, patient } = steps;
  const { baseUrl, contextTypeSystem, resourceTypesSystem } = config;
  const usage = `${contextTypeSystem}|${RESOURCE_USAGE}$${resourceTypesSystem}|HealthcareService`;
  const ct = `${artefactUri(config, 'LocalServiceType')}|CT`;
  return [
    { title: 'Get an access token; it is valid for an hour', command: logIn(steps) },
    {
      title: 'Find the code systems of the services',
      command: get(`${baseUrl}/CodeSystem`, { 'context-type-value': usage }),
    },
    {
      title: 'Find free slots of a schedule',
      command: get(`${baseUrl}/Slot`, { schedule, status: 'free', _sort: 'start', _count: '5' }),
    },
    {
      title: 'Find free slots for a CT, whatever the schedule',
      command: get(`${baseUrl}/Slot`, {
        'schedule.actor:HealthcareService.type': ct,
        status: 'free',
        _count: '5',
      }),
    },
    { title: 'Book a slot', command: book(steps) },
    { title: 'Read the booking back', command: get(`${baseUrl}/Appointment`, { patient }) },
  ];
}
