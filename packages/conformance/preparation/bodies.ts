import { backport } from '../../../core/fhir/backport.ts';

/** Bodies of requests. Their placeholders are filled in when they are sent. */

const serviceType = [
  { coding: [{ system: '{serviceType.system}', code: '{serviceType.code}' }], text: 'Consultation' },
];

const specialty = [{ coding: [{ system: '{specialty.system}', code: '{specialty.code}' }] }];

const tag = [{ system: '{config.metaTagSystem}', code: 'external' }];

const priority = {
  extension: [
    {
      url: '{uri.LocalTerminPriorityExtension}',
      valueCodeableConcept: { coding: [{ system: '{config.terminologySystem}', code: '394848005' }] },
    },
  ],
};

const anyActor = { reference: '{practitioner}', display: 'Conformance test' };

const admission = (value: string) => [
  {
    type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'VN' }] },
    system: 'urn:appointment-booking:conformance',
    value,
  },
];

const inpatient = {
  resourceType: 'Encounter',
  class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'IMP', display: 'inpatient encounter' },
  type: [
    { coding: [{ system: 'http://fhir.de/CodeSystem/Kontaktebene', code: 'einrichtungskontakt' }] },
    { coding: [{ system: 'http://fhir.de/CodeSystem/kontaktart-de', code: 'normalstationaer' }] },
  ],
  serviceType: { coding: [{ system: 'http://fhir.de/CodeSystem/dkgev/Fachabteilungsschluessel', code: '1500' }] },
  subject: { reference: '{patient}' },
  appointment: [{ reference: '{endedAppointment}' }],
  hospitalization: {
    admitSource: { coding: [{ system: 'http://fhir.de/CodeSystem/dgkev/Aufnahmeanlass', code: 'E' }] },
  },
  serviceProvider: {
    identifier: { system: 'urn:appointment-booking:conformance', value: '{run}' },
    display: 'Hospital',
  },
} as const;

const schedule = (more: object): object => ({
  resourceType: 'Schedule',
  active: true,
  serviceType,
  specialty,
  actor: [anyActor],
  ...more,
});

/** The clinic's resources, which staff create. */
export const clinic = {
  practitioner: { resourceType: 'Practitioner', active: true, name: [{ family: 'Test', given: ['Conformance'] }] },
  healthcareService: {
    resourceType: 'HealthcareService',
    active: true,
    name: 'Conformance test {run}',
    type: serviceType,
    specialty,
  },
  schedule: schedule({
    extension: [
      { url: 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Schedule.name', valueString: 'Conformance test' },
    ],
  }),
  serviceSchedule: schedule({ actor: [{ reference: '{healthcareService}', display: 'Conformance test' }] }),
  inactiveSchedule: schedule({ active: false }),
  manualSchedule: schedule({ extension: [{ url: '{uri.LocalConfirmation}', valueCode: 'manual' }] }),
  encounter: { ...inpatient, status: 'planned', identifier: admission('{run}') },
  stay: {
    ...inpatient,
    status: 'finished',
    identifier: admission('{run}-stay'),
    period: { start: '2026-01-06T10:00:00+01:00', end: '2026-01-08T18:00:00+01:00' },
    account: [
      {
        reference: 'Account/{run}',
        identifier: { system: 'urn:appointment-booking:conformance', value: '{run}-account' },
      },
    ],
  },
} as const;

/** The extension with the payer kind of an Appointment or a Slot. */
export const payerKind = (code: string): object => ({
  url: '{uri.LocalPayerKind}',
  valueCoding: { system: '{uri.LocalPayerKinds}', code },
});

/** A free Slot of a Schedule at `{time}`; `more` overrides elements. */
export const slotOn = (schedule: string, more: object = {}): object => ({
  resourceType: 'Slot',
  schedule: { reference: schedule },
  status: 'free',
  start: '{time.start}',
  end: '{time.end}',
  ...more,
});

export const patient = (more: object = {}): object => ({
  resourceType: 'Patient',
  meta: { tag },
  identifier: [{ system: 'urn:appointment-booking:conformance', value: '{run}' }],
  active: true,
  name: [{ use: 'official', family: 'Test', given: ['Conformance'] }],
  gender: 'unknown',
  birthDate: '1980-05-17',
  ...more,
});

export const participant = (reference: string): object => ({
  actor: { reference, display: 'Conformance Test' },
  status: 'accepted',
});

/** A proposed Appointment, by default for the patient and the whole Slot. `undefined` in `more` removes an element. */
export const proposal = (more: object = {}): object => ({
  resourceType: 'Appointment',
  meta: { profile: ['{uri.LocalTermin}'], tag },
  status: 'proposed',
  start: '{slot.start}',
  end: '{slot.end}',
  slot: [{ reference: '{slot}' }],
  serviceType,
  specialty,
  comment: 'Conformance test',
  patientInstruction: 'Please bring your referral.',
  _priority: priority,
  participant: [participant('{patient}')],
  ...more,
});

/** A Subscription to a topic, filtered by the patient. */
export const subscription = (topic: string, more: object = {}): object => ({
  resourceType: 'Subscription',
  meta: { profile: ['{uri.LocalSubscriptionTermin}'] },
  status: 'requested',
  reason: 'Conformance test',
  criteria: `{uri.${topic}}`,
  _criteria: { extension: [{ url: backport.filterCriteria, valueString: 'Appointment?patient={patient}' }] },
  channel: {
    type: 'rest-hook',
    endpoint: '{listener.url}',
    payload: 'application/fhir+json',
    _payload: { extension: [{ url: backport.payloadContent, valueCode: 'id-only' }] },
  },
  ...more,
});

export const parameters = (appointment: object, ...more: readonly object[]): object => ({
  resourceType: 'Parameters',
  parameter: [{ name: 'appt-resource', resource: appointment }, ...more],
});

type PatchOperation =
  | { readonly type: 'replace'; readonly path: string; readonly value: object }
  | { readonly type: 'add'; readonly path: string; readonly name: string; readonly value: object };

/** A FHIRPath Patch; `value` is the part's value as FHIR's JSON has it: `{ valueCode: 'cancelled' }`. */
export const patch = (...operations: readonly PatchOperation[]): object => ({
  resourceType: 'Parameters',
  parameter: operations.map(({ value, ...texts }) => ({
    name: 'operation',
    part: [
      { name: 'type', valueCode: texts.type },
      { name: 'path', valueString: texts.path },
      ...('name' in texts ? [{ name: 'name', valueString: texts.name }] : []),
      { name: 'value', ...value },
    ],
  })),
});

const cancelled: PatchOperation = { type: 'replace', path: 'Appointment.status', value: { valueCode: 'cancelled' } };

/** The FHIRPath Patch that cancels an appointment. */
export const cancellation = patch(cancelled);

const CANCELLATION_REASON = 'http://terminology.hl7.org/CodeSystem/appointment-cancellation-reason';

/** The FHIRPath Patch of a cancellation with the reason that the patient cancels. */
export const cancelledByPatient = patch(cancelled, {
  type: 'add',
  path: 'Appointment',
  name: 'cancelationReason',
  value: { valueCodeableConcept: { coding: [{ system: CANCELLATION_REASON, code: 'pat' }] } },
});

/** A JSON Patch of one operation, by staff. */
export const staffPatch = (op: 'replace' | 'add', path: string, value: unknown) => ({
  headers: { 'content-type': 'application/json-patch+json' },
  body: [{ op, path, value }],
});
