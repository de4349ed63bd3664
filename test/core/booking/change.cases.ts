import type { Appointment, Patient } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { REPLACES } from '../../../core/fhir/reserved.ts';

/** The installation of these tests. */
export const config = resolveConfig({ baseUrl: 'https://clinic.example/fhir/R4' });

const id = (digit: number): string => `${digit}0000000-0000-4000-8000-000000000000`;

/** The appointment that the cases start from. */
export const stored: Appointment = {
  resourceType: 'Appointment',
  id: id(1),
  meta: {
    versionId: id(9),
    profile: [artefactUri(config, 'LocalTermin')],
    tag: [
      { system: config.metaTagSystem, code: 'external' },
      { system: artefactUri(config, 'LocalRequestor'), code: 'portal' },
    ],
  },
  status: 'booked',
  start: '2031-01-06T08:00:00.000Z',
  end: '2031-01-06T09:00:00.000Z',
  slot: [{ reference: `Slot/${id(2)}` }, { reference: `Slot/${id(3)}` }],
  serviceType: [{ coding: [{ system: 'https://clinic.example/services', code: 'ct' }] }],
  participant: [
    { actor: { reference: 'Practitioner/1', display: 'Dr. Huber' }, status: 'accepted' },
    { actor: { reference: `Patient/${id(4)}`, display: 'Kim Muster' }, status: 'accepted' },
  ],
};

/** The patient of the appointment, active. */
export const patient: Patient = { resourceType: 'Patient', id: id(4) };

/** What an update would make of the stored appointment, and what speaks against it: `code expression`. */
export interface ChangeCase {
  readonly name: string;
  readonly result: Readonly<Record<string, unknown>>;
  readonly patient?: Patient | undefined;
  readonly issues: readonly string[];
  /** The issues for the guard, if they are others: Medplum stores no empty elements, so that it judges the rest. */
  readonly guarded?: readonly string[];
}

const [practitioner, kim] = stored.participant;
const actor = (reference: string) => [practitioner, { ...kim, actor: { ...kim?.actor, reference } }];
const kept = (name: string, result: object): ChangeCase => ({ name, result: { ...stored, ...result }, issues: [] });
const refused = (name: string, result: object, ...issues: readonly string[]): ChangeCase => ({
  name,
  result: { ...stored, ...result },
  issues,
});

/** Cases for whoever decides about changes; made by the repository, unless the status says otherwise. */
export const cases: readonly ChangeCase[] = [
  kept('nothing', {}),
  kept('a comment', { comment: 'Room 5' }),
  kept('the start with another offset', { start: '2031-01-06T09:00:00+01:00' }),
  kept('the start without fractions', { start: '2031-01-06T08:00:00Z' }),
  kept('absolute references', {
    slot: stored.slot?.map(({ reference }) => ({ reference: `${config.baseUrl}/${reference}` })),
    participant: actor(`${config.baseUrl}/Patient/${id(4)}/_history/3`),
  }),
  kept('another practitioner', { participant: [{ ...practitioner, actor: { reference: 'Practitioner/2' } }, kim] }),
  kept('another order of the participants', { participant: [kim, practitioner] }),
  kept('cancelled', { status: 'cancelled' }),
  refused('later', { start: '2031-01-06T08:00:00.001Z' }, 'immutable-element Appointment.start'),
  refused('no end', { end: undefined }, 'immutable-element Appointment.end'),
  refused('an end that is no moment', { end: '2031-02-30T09:00:00Z' }, 'immutable-element Appointment.end'),
  refused('a note on the start', { _start: { extension: [{ url: 'x' }] } }, 'immutable-element Appointment.start'),
  refused('slots in another order', { slot: stored.slot?.toReversed() }, 'immutable-element Appointment.slot'),
  refused('one slot less', { slot: stored.slot?.slice(1) }, 'immutable-element Appointment.slot'),
  refused('no slots', { slot: undefined }, 'immutable-element Appointment.slot'),
  refused(
    "another server's slot",
    { slot: [{ reference: `https://other.example/fhir/Slot/${id(2)}` }, stored.slot?.[1]] },
    'immutable-element Appointment.slot',
  ),
  refused(
    'another patient',
    { participant: actor(`Patient/${id(5)}`) },
    'immutable-element Appointment.participant[1].actor',
  ),
  refused(
    "another server's patient",
    { participant: actor(`https://other.example/Patient/${id(4)}`) },
    'immutable-element Appointment.participant[1].actor',
  ),
  refused(
    'the patient by search',
    { participant: actor('Patient?identifier=1') },
    'immutable-element Appointment.participant[1].actor',
  ),
  refused(
    'the patient by identifier',
    { participant: [practitioner, { ...kim, actor: { type: 'Patient', identifier: { value: '1' } } }] },
    'immutable-element Appointment.participant[1].actor',
  ),
  ...[{ display: 'Kim M.' }, { display: undefined }, { identifier: { value: '1' } }, { type: 'Patient' }].map(
    (change) =>
      refused(
        `the patient with ${JSON.stringify(change)}`,
        { participant: [practitioner, { ...kim, actor: { ...kim?.actor, ...change } }] },
        'immutable-element Appointment.participant[1].actor',
      ),
  ),
  refused(
    'an owner besides, in another letter case',
    {
      meta: {
        ...stored.meta,
        tag: [...(stored.meta?.tag ?? []), { system: artefactUri(config, 'LocalRequestor').toLowerCase(), code: 'b' }],
      },
    },
    'immutable-element Appointment.meta.tag',
  ),
  refused(
    'no tag external',
    { meta: { ...stored.meta, tag: stored.meta?.tag?.slice(1) } },
    'immutable-element Appointment.meta.tag',
  ),
  refused(
    'another appointment replaced',
    { extension: [{ url: REPLACES, valueReference: { reference: 'Appointment/1' } }] },
    'immutable-element Appointment.extension',
  ),
  refused(
    'an identifier of the service',
    { identifier: [{ system: artefactUri(config, 'LocalSlotOrigin'), value: '1' }] },
    'immutable-element Appointment.identifier',
  ),
  refused(
    'another participant of type Patient',
    { participant: [practitioner, kim, { actor: { type: 'Patient', reference: 'Basic/1' }, status: 'accepted' }] },
    'immutable-element Appointment.participant[2].actor',
  ),
  refused(
    'another participant who could be a patient',
    { participant: [practitioner, kim, { actor: { reference: `urn:uuid:${id(6)}` }, status: 'accepted' }] },
    'immutable-element Appointment.participant[2].actor',
  ),
  refused('a mistake', { status: 'entered-in-error' }, 'transition-not-allowed Appointment.status'),
  refused('no patient', { participant: [practitioner] }, 'immutable-element Appointment.participant[1].actor'),
  refused(
    'the patient twice',
    { participant: [practitioner, kim, kim] },
    'immutable-element Appointment.participant[2].actor',
  ),
  ...[{ type: 'Patient', identifier: { value: '1' } }, { reference: 'urn:uuid:1' }].map((besides) =>
    refused(
      `besides, ${JSON.stringify(besides)}`,
      { participant: [practitioner, kim, { ...kim, actor: besides }] },
      'immutable-element Appointment.participant[2].actor',
    ),
  ),
  refused(
    'a contained patient besides',
    {
      contained: [{ resourceType: 'Patient', id: 'p' }],
      participant: [practitioner, kim, { ...kim, actor: { reference: '#p' } }],
    },
    'immutable-element Appointment.participant[2].actor',
  ),
  refused(
    'the practitioner becomes a patient',
    { participant: [kim, { ...kim, actor: { reference: `Patient/${id(5)}` } }] },
    'immutable-element Appointment.participant[1].actor',
  ),
  refused(
    "another requestor's tag",
    { meta: { ...stored.meta, tag: stored.meta?.tag?.slice(0, 1) } },
    'immutable-element Appointment.meta.tag',
  ),
  refused('no profile', { meta: { ...stored.meta, profile: undefined } }, 'immutable-element Appointment.meta.profile'),
  refused('pending again', { status: 'pending' }, 'transition-not-allowed Appointment.status'),
  refused('an unknown status', { status: 'gone' }, 'malformed-request Appointment.status'),
  {
    ...refused('no list', { slot: {} }, 'malformed-request Appointment.slot'),
    guarded: ['immutable-element Appointment.slot'],
  },
  { ...refused('an empty list', { serviceType: [] }, 'malformed-request Appointment.serviceType'), guarded: [] },
  refused(
    'a coding without system',
    { serviceType: [{ coding: [{ code: 'ct' }] }] },
    'profile-violation Appointment.serviceType[0].coding[0]',
  ),
  {
    name: 'the patient is gone',
    result: { ...stored, comment: 'x' },
    patient: undefined,
    issues: ['patient-not-found Appointment.participant[1].actor'],
  },
  {
    name: 'the patient is inactive',
    result: { ...stored, comment: 'x' },
    patient: { ...patient, active: false },
    issues: ['patient-inactive Appointment.participant[1].actor'],
  },
  {
    name: 'cancelled, the patient is gone',
    result: { ...stored, status: 'cancelled' },
    patient: undefined,
    issues: [],
  },
];
