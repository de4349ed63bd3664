import { describe, expect, it } from '@jest/globals';
import type { Appointment, AppointmentParticipant } from '@medplum/fhirtypes';
import {
  clinicPartOf,
  type Submitted,
  submittedOf,
  withSubmitted,
} from '../../../../core/booking/appointment/elements.ts';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { config, stored } from '../stored.ts';

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
});

it('the note has names and no content, and only of what is there', () => {
  const extension = [{ ...channel, valueCode: 'private' }];
  const sent = portal({ comment: 'private', participant: [kim, by('RelatedPerson/1')], extension });
  const [note, ...others] = versionsOf([sent, portal({})]).at(-1)?.meta?.extension ?? [];
  expect(others).toEqual([]);
  expect(note).toEqual({
    url: artefactUri(config, 'LocalSubmittedElements'),
    extension: [
      ...['start', 'serviceType', 'comment'].map((valueString) => ({ url: 'element', valueString })),
      { url: 'extension', valueUri: channel.url },
    ],
  });
});
