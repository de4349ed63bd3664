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
import { config, stored } from '../stored.ts';
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
const by = (reference: string): AppointmentParticipant => ({ actor: { reference }, status: 'accepted' });
const channel = { url: 'https://portal.example/channel', valueCode: 'app' };
const room = { url: 'https://clinic.example/room', valueString: '5' };
const [kim, huber] = [by('Patient/1'), by('Practitioner/1')];

type Change = readonly [who: string, more: Partial<Appointment>];

const portal = (more: Partial<Appointment>): Change => [PORTAL, { participant: [kim], ...more }];
const clinic = (more: Partial<Appointment>): Change => ['clinic', more];

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

const nothing: Submitted = { elements: new Set(), participants: new Set(), extensions: new Set() };

/** What of an appointment the clinic has set. */
function clinics(appointment: Appointment = stored, submitted = submittedOf(appointment, config) ?? nothing): string[] {
  const { elements, participants, extensions } = clinicPartOf(appointment, submitted);
  return [...elements, ...participants, ...extensions].sort();
}

const interpreter: AppointmentParticipant = { actor: { display: 'Interpreter' }, status: 'accepted' };

const scenes: readonly (readonly [string, readonly Change[], readonly string[]])[] = [
  [
    'nothing of what the portal has booked',
    [portal({ comment: 'a', participant: [kim, huber], extension: [channel] })],
    [],
  ],
  [
    'what it has added or changed',
    [
      portal({ comment: 'a', description: 'a', extension: [channel] }),
      clinic({ comment: 'b', patientInstruction: 'b', participant: [kim, huber], extension: [channel, room] }),
    ],
    ['Practitioner/1', 'comment', room.url, 'patientInstruction'],
  ],
  [
    'not what the portal has changed since',
    [portal({ comment: 'a' }), clinic({ comment: 'b' }), portal({ comment: 'c' })],
    [],
  ],
  [
    'what the portal has only repeated',
    [portal({}), clinic({ comment: 'b' }), portal({ comment: 'b', description: 'c' })],
    ['comment'],
  ],
  ['no patient: the requestor decides who it is for', [portal({}), clinic({ participant: [by('Patient/2')] })], []],
  [
    'whoever has no reference',
    [portal({}), clinic({ participant: [kim, interpreter] })],
    [JSON.stringify(interpreter)],
  ],
];

describe('the clinic has set', () => {
  it.each(scenes)('%s', (_, changes, expected) => {
    expect(clinics(versionsOf(changes).at(-1))).toEqual(expected);
  });

  it.each(scenes)('%s, as the history tells of an appointment that has no note', (_, changes, expected) => {
    const versions = versionsOf(changes).map((version, index): Appointment => {
      const { extension: _note, ...meta } = version.meta ?? {};
      const replaced = index === 0 ? undefined : `${index - 1}`;
      const marked = markChange(meta, changes[index]?.[0] ?? '', replaced, config);
      return { ...version, meta: { ...marked, versionId: `${index}` } };
    });
    expect(clinics(versions.at(-1), submittedIn(versions, config))).toEqual(expected);
  });
});

it('the note has names and no content, and only of what is there', () => {
  const extension = [{ ...channel, valueCode: 'private' }];
  const sent = portal({ comment: 'private', participant: [kim, by('RelatedPerson/1')], extension });
  const [note, ...others] = versionsOf([sent, portal({})]).at(-1)?.meta?.extension ?? [];
  expect(others).toEqual([]);
  expect(note).toEqual({
    url: artefactUri(config, 'LocalSubmitted'),
    extension: [
      ...['start', 'serviceType', 'comment'].map((valueString) => ({ url: 'element', valueString })),
      { url: 'extension', valueUri: channel.url },
    ],
  });
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
