import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../../../../core/fhir/resource.ts';
import type { Client } from '../../client.ts';
import { cancelledByPatient, clinic, parameters, patient, proposal } from '../../preparation/bodies.ts';
import { fill } from '../../template.ts';
import type { Service } from '../service.ts';

/** Stages of which gematik's suite has features, and where. */
export const folders = { isik3: 'Stufe3', isik5: 'Stufe5' } as const;

export type FeatureStage = keyof typeof folders;

type Values = Readonly<Record<string, string>>;

/** The values that the suite is shipped with: flat YAML, a name and a value a line. */
export function shippedValues(suite: string, stage: FeatureStage): Values {
  const lines = readFileSync(join(suite, 'testdata', folders[stage], 'terminplanung.yaml'), 'utf8').split('\n');
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value = ''] = /^([\w-]+): *"?([^"]*)"? *$/.exec(line) ?? [];
      return name ? [[name, value.trim()]] : [];
    }),
  );
}

const SERVICE_TYPE = { system: 'http://terminology.hl7.org/CodeSystem/service-type', code: '177' };
const SPECIALTY = { system: 'http://ihe-d.de/CodeSystems/AerztlicheFachrichtungen', code: 'NEUR' };

/** What the preconditions of the features ask for, made by staff and a portal; the values that name it. */
export async function prepare({ config, requestor, staff }: Service, shipped: Values): Promise<Values> {
  const constants = { config, uri: config.uris, serviceType: SERVICE_TYPE, specialty: SPECIALTY, run: 'gematik' };

  async function make(client: Client, path: string, body: unknown, data: object = {}) {
    const { status, text, resource } = await client.send({
      method: 'POST',
      path,
      body: fill(body, { ...constants, ...data }),
    });
    if (status >= 300 || !isObject(resource) || typeof resource.id !== 'string') {
      throw new Error(`POST ${path}: ${status} ${text.slice(0, 500)}`);
    }
    return { ...resource, id: resource.id };
  }

  const practitioner = await make(staff, '/Practitioner', {
    ...clinic.practitioner,
    name: [{ use: 'official', family: 'Test', given: ['Gematik'] }],
    gender: 'unknown',
  });
  const schedule = await make(staff, '/Schedule', clinic.schedule, { practitioner: `Practitioner/${practitioner.id}` });
  const other = await make(staff, '/Schedule', clinic.schedule, { practitioner: `Practitioner/${practitioner.id}` });
  const name = shipped['healthcareservice-read-name'] ?? 'Allgemeine Beratungsstelle der Fachabteilung Neurologie';
  const service = await make(staff, '/HealthcareService', { ...clinic.healthcareService, name });
  const person = await make(requestor, '/Patient', patient());
  const slotIn = (calendar: { id: string }, status: string, day: string, from: string, to: string) =>
    make(staff, '/Slot', {
      resourceType: 'Slot',
      status,
      schedule: { reference: `Schedule/${calendar.id}` },
      start: `2027-${day}T${from}:00Z`,
      end: `2027-${day}T${to}:00Z`,
    });
  const replaced = await slotIn(schedule, 'free', '01-02', '06:00', '06:30');
  const read = await slotIn(schedule, 'free', '01-01', '06:00', '06:30');
  const free = await slotIn(other, 'free', '01-01', '09:00', '20:00');
  // The features book by the Schedule on one of these days.
  await slotIn(schedule, 'free', '01-01', '09:00', '20:00');
  await slotIn(schedule, 'free', '01-31', '09:00', '20:00');

  const edition = shipped['snomed-ct-version'];
  const normal = {
    system: 'http://snomed.info/sct',
    code: '394848005',
    ...(edition && { version: `http://snomed.info/sct/11000274103/version/${edition}` }),
  };
  const priority = {
    _priority: {
      extension: [{ url: config.uris.LocalTerminPriorityExtension, valueCodeableConcept: { coding: [normal] } }],
    },
  };
  const book = (slot: object, ...more: object[]) =>
    make(
      requestor,
      '/Appointment/$book',
      parameters(proposal({ patientInstruction: 'Bitte nüchtern erscheinen', ...priority }), ...more),
      {
        slot,
        patient: person,
      },
    );
  const first = await book(replaced);
  const appointment = await book(read, { name: 'cancelled-appt-id', valueUri: `Appointment/${first.id}` });
  await requestor.send({ method: 'PATCH', path: `/Appointment/${appointment.id}`, body: cancelledByPatient });
  const current = await staff.send({ method: 'GET', path: `/Slot/${read.id}` });
  await staff.send({ method: 'PUT', path: `/Slot/${read.id}`, body: { ...Object(current.resource), status: 'busy' } });
  const encounter = await make(staff, '/Encounter', clinic.encounter, {
    patient: person,
    endedAppointment: appointment,
  });
  const identifier = Object(encounter).identifier?.[0] ?? {};
  return {
    ...shipped,
    'schedule-read-id': schedule.id,
    'healthcareservice-read-id': service.id,
    'slot-read-id': read.id,
    'appointment-read-id': appointment.id,
    'appointment-book-slot-id': free.id,
    'encounter-read-appointment-id': encounter.id,
    'encounter-read-appointment-identifier-system': identifier.system,
    'encounter-read-appointment-identifier-value': identifier.value,
    'encounter-read-appointment-serviceprovider-identifier-value': constants.run,
    'terminplanung-patient-id': person.id,
    'appointment-patient-id': person.id,
    'terminplanung-practitioner-id': practitioner.id,
    'appointment-practitioner-id': practitioner.id,
  };
}
