import { describe, expect, it } from '@jest/globals';
import type { Appointment, AppointmentParticipant } from '@medplum/fhirtypes';
import {
  clinicPartOf,
  type Submitted,
  submittedIn,
  submittedOf,
  withSubmitted,
} from '../../../../core/booking/appointment/submitted.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { markChange, requestorTag } from '../../../../core/fhir/tags.ts';
import { config, stored } from '../change.cases.ts';
import {
  appointment,
  at,
  config as own,
  patient,
  plan as planWith,
  requestor,
  schedule,
  slot,
  stateOf,
} from '../support.ts';

const PORTAL = 'portal';
const CLINIC = 'clinic';
const by = (reference: string): AppointmentParticipant => ({ actor: { reference }, status: 'accepted' });
const channel = { url: 'https://portal.example/channel', valueCode: 'app' };
const room = { url: 'https://clinic.example/room', valueString: '5' };
const kim = by('Patient/1');

/** A change: who makes it, and what it sets. */
type Change = readonly [who: string, more: Partial<Appointment>];

/** The versions of an appointment that changes make, each noted as it is written. */
function versionsOf(changes: readonly Change[]): Appointment[] {
  const versions: Appointment[] = [];
  for (const [who, more] of changes) {
    const before = versions.at(-1);
    const { meta } = before ?? stored;
    versions.push(withSubmitted({ ...(before ?? stored), ...more, meta }, before, who, config));
  }
  return versions;
}

const after = (...changes: readonly Change[]): Appointment => versionsOf(changes).at(-1) ?? stored;

const nothing: Submitted = { elements: new Set(), participants: new Set(), extensions: new Set() };

/** What of it the clinic has set, as lists. */
function clinics(appointment: Appointment, submitted = submittedOf(appointment, config) ?? nothing) {
  const { elements, participants, extensions } = clinicPartOf(appointment, submitted);
  return [[...elements].sort(), [...participants], [...extensions]];
}

const scenes: readonly (readonly [string, readonly Change[], readonly (readonly string[])[]])[] = [
  [
    'nothing of what the portal has booked',
    [[PORTAL, { comment: 'a', participant: [kim, by('Practitioner/1')], extension: [channel] }]],
    [[], [], []],
  ],
  [
    'what it has added or changed',
    [
      [PORTAL, { comment: 'a', description: 'a', participant: [kim], extension: [channel] }],
      [CLINIC, { comment: 'b', patientInstruction: 'b' }],
      [CLINIC, { participant: [kim, by('Practitioner/1')], extension: [channel, room] }],
    ],
    [['comment', 'patientInstruction'], ['Practitioner/1'], [room.url]],
  ],
  [
    'not what the portal has changed since',
    [
      [PORTAL, { comment: 'a', participant: [kim] }],
      [CLINIC, { comment: 'b' }],
      [PORTAL, { comment: 'c' }],
    ],
    [[], [], []],
  ],
  [
    'what the portal has only repeated',
    [
      [PORTAL, { participant: [kim] }],
      [CLINIC, { comment: 'b' }],
      [PORTAL, { comment: 'b', description: 'c' }],
    ],
    [['comment'], [], []],
  ],
  [
    'no patient: the requestor decides who it is for',
    [
      [PORTAL, { participant: [kim] }],
      [CLINIC, { participant: [by('Patient/survivor')] }],
    ],
    [[], [], []],
  ],
  [
    'whoever has no reference',
    [
      [PORTAL, { participant: [kim] }],
      [CLINIC, { participant: [kim, { actor: { display: 'An interpreter' }, status: 'accepted' }] }],
    ],
    [[], ['{"actor":{"display":"An interpreter"},"status":"accepted"}'], []],
  ],
];

describe('the clinic has set', () => {
  it.each(scenes)('%s', (_, changes, expected) => {
    expect(clinics(after(...changes))).toEqual(expected);
  });

  it.each(scenes)('%s, as the history tells of an appointment that has no note', (_, changes, expected) => {
    const versions = versionsOf(changes).map((version, index): Appointment => {
      const { extension: _note, ...meta } = version.meta ?? {};
      const replaced = index === 0 ? undefined : `${index - 1}`;
      return {
        ...version,
        meta: { ...markChange(meta, changes[index]?.[0] ?? '', replaced, config), versionId: `${index}` },
      };
    });
    const newest = versions.at(-1) ?? stored;
    expect(submittedOf(newest, config)).toBeUndefined();
    expect(clinics(newest, submittedIn(versions, config))).toEqual(expected);
  });

  it('everything that the oldest known version has, if there are older ones', () => {
    const meta = markChange(stored.meta, PORTAL, 'older', config);
    expect(submittedIn([{ ...stored, meta }], config)).toEqual(nothing);
  });
});

it('nothing is noted where nothing is known', () => {
  expect(withSubmitted({ ...stored, comment: 'x' }, stored, PORTAL, config)).toEqual({ ...stored, comment: 'x' });
});

it('the note has names and no content, and only of what is there', () => {
  const secret = 'something private';
  const noted = after(
    [PORTAL, {}],
    [
      PORTAL,
      {
        comment: secret,
        participant: [kim, by('RelatedPerson/1')],
        extension: [{ ...channel, valueCode: secret }],
      },
    ],
    [PORTAL, { participant: [kim] }],
  );
  const url = artefactUri(config, 'LocalSubmitted');
  const note = noted.meta?.extension?.filter((one) => one.url === url);
  expect(note).toHaveLength(1);
  expect(JSON.stringify(note)).not.toMatch(/private|RelatedPerson|Patient/);
  expect(note?.[0]?.extension).toEqual([
    { url: 'element', valueString: 'start' },
    { url: 'element', valueString: 'serviceType' },
    { url: 'element', valueString: 'comment' },
    { url: 'extension', valueUri: channel.url },
  ]);
});

it.each([
  ['needs no history of what has a note', true, 'write'],
  ['reads the history of what has none', false, { histories: ['a'] }],
])('a re-submission %s', (_, isNoted, expected) => {
  const before: Appointment = {
    ...appointment({ id: 'a', status: 'booked' }),
    meta: { versionId: '1', tag: [requestorTag(requestor, own)] },
  };
  const noted = isNoted ? withSubmitted(before, undefined, requestor, own) : before;
  const taken = slot('nine', '09:00', '09:30', { status: 'busy' });
  const state = stateOf(schedule, patient, taken, slot('ten', '10:00', '10:30'), noted);
  const moved = appointment({ id: 'a', slot: [{ reference: 'Slot/ten' }], start: at('10:00'), end: at('10:30') });
  const plan = planWith(moved, state, {}, undefined, 'requestor', { histories: undefined });
  expect(plan.kind === 'read' ? plan.wanted : plan.kind).toEqual(expected);
});
