import { describe, expect, it } from '@jest/globals';
import type { Appointment, AppointmentParticipant, Extension } from '@medplum/fhirtypes';
import { clinicPartOf } from '../../../../core/booking/book/resubmission/clinic-part.ts';
import { keptParticipants, resubmitted } from '../../../../core/booking/book/resubmission/resubmit.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { markChange, requestorTag } from '../../../../core/fhir/tags.ts';
import { appointment, at, config, requestor } from '../support.ts';

const by = (reference: string): AppointmentParticipant => ({ actor: { reference }, status: 'accepted' });

/** Who has made a version, and what is new in it. */
type Made = readonly [who: string, change: object];

/** The versions that somebody has made, one after the other. */
function versionsOf(...changes: readonly Made[]): Appointment[] {
  return changes.map(([who, change], index) => {
    const before = index === 0 ? undefined : String(index);
    const meta = markChange({ tag: [requestorTag(requestor, config)] }, who, before, config);
    return { ...appointment(), id: 'one', meta: { ...meta, versionId: String(index + 1) }, ...change };
  });
}

const partOf = (...changes: readonly Made[]) => {
  const { elements, participants, extensions } = clinicPartOf(versionsOf(...changes), config);
  return [[...elements].filter((name) => name !== 'meta').sort(), [...participants], [...extensions]];
};

const room = { url: 'urn:room', valueString: '5' };

describe('what the clinic has set of an appointment', () => {
  it('are the elements, participants and extensions that its versions add or change', () => {
    const participant = [...appointment().participant, by('Practitioner/p')];
    expect(
      partOf([requestor, { comment: 'Knee' }], ['staff', { comment: 'Left knee', participant, extension: [room] }]),
    ).toEqual([['comment', 'extension', 'participant'], ['Practitioner/p'], ['urn:room']]);
  });

  it('is nothing of the first version, whoever made it', () => {
    expect(partOf(['staff', { comment: 'Knee', extension: [room] }])).toEqual([[], [], []]);
  });

  it('is not what the requestor has changed since', () => {
    expect(
      partOf(
        [requestor, {}],
        ['staff', { comment: 'One', description: 'One', extension: [room] }],
        [requestor, { comment: 'Two', description: 'One', extension: [{ ...room, valueString: '6' }] }],
      ),
    ).toEqual([['description'], [], []]);
  });

  it('is that of the last version, and stays although the requestor changes something else', () => {
    expect(
      partOf([requestor, {}], ['staff', { comment: 'One' }], [requestor, { comment: 'One', description: 'Mine' }]),
    ).toEqual([['comment'], [], []]);
  });

  it('counts the extensions of a primitive element as the element', () => {
    expect(partOf([requestor, {}], ['staff', { _comment: { extension: [room] } }])).toEqual([['comment'], [], []]);
  });

  it('is no patient who takes the place of another one', () => {
    const merged = { participant: [by('Patient/survivor')] };
    expect(partOf([requestor, {}], ['service', merged])).toEqual([['participant'], [], []]);
    const second = { participant: [...appointment().participant, by('Patient/second')] };
    expect(partOf([requestor, {}], ['staff', second])).toEqual([['participant'], ['Patient/second'], []]);
  });

  it('knows a participant without a reference by all of it', () => {
    const unnamed: AppointmentParticipant = { type: [{ text: 'Interpreter' }], status: 'needs-action' };
    const versions = versionsOf([requestor, {}], ['staff', { participant: [...appointment().participant, unnamed] }]);
    const part = clinicPartOf(versions, config);
    expect(keptParticipants(appointment().participant, versions[1] as Appointment, part)).toEqual([unnamed]);
    expect(keptParticipants([unnamed], versions[1] as Appointment, part)).toEqual([]);
  });
});

describe('an appointment that is sent again', () => {
  const nothing = { elements: new Set<string>(), participants: new Set<string>(), extensions: new Set<string>() };
  const stored: Appointment = {
    ...appointment({ status: 'booked', comment: 'Knee', minutesDuration: 30 }),
    id: 'one',
    text: { status: 'generated', div: '<div>Old</div>' },
    cancelationReason: { text: 'Old' },
    identifier: [{ system: 'urn:a', value: '1' }],
    supportingInformation: [{ reference: 'QuestionnaireResponse/1' }],
    contained: [{ resourceType: 'Practitioner', id: 'p' }],
    extension: [room],
  };
  const again = (sent: object, clinic = nothing) =>
    resubmitted({ resourceType: 'Appointment', status: 'proposed', participant: [], ...sent }, stored, clinic, config);

  it('keeps what it does not name, but for what every request says anew', () => {
    expect(again({ start: stored.start, end: stored.end })).toEqual({
      resourceType: 'Appointment',
      status: 'proposed',
      participant: [],
      start: stored.start,
      end: stored.end,
      comment: 'Knee',
      minutesDuration: 30,
      serviceType: stored.serviceType,
      identifier: stored.identifier,
      supportingInformation: stored.supportingInformation,
      contained: stored.contained,
      extension: stored.extension,
    });
  });

  it('has what it names, unless the clinic has set it', () => {
    const time = { start: stored.start, end: stored.end };
    expect(again({ ...time, comment: 'Hip' }).comment).toBe('Hip');
    expect(again({ ...time, comment: 'Hip' }, { ...nothing, elements: new Set(['comment']) }).comment).toBe('Knee');
    expect(again({ ...time, _comment: { id: 'x' } })).not.toHaveProperty('comment');
  });

  it('of another length does not keep the old one', () => {
    expect(again({ start: at('10:00'), end: at('10:30') }).minutesDuration).toBe(30);
    expect(again({ start: at('09:00'), end: at('09:20') })).not.toHaveProperty('minutesDuration');
  });

  it('adds to identifiers, answers, contained resources and extensions', () => {
    const sent = {
      identifier: [
        { system: 'urn:a', value: '1', use: 'official' },
        { system: 'urn:a', value: '2' },
      ],
      supportingInformation: [
        { reference: `${config.baseUrl}/QuestionnaireResponse/1` },
        { reference: 'QuestionnaireResponse/2' },
      ],
      contained: [{ resourceType: 'Practitioner', id: 'q' }],
      extension: [{ url: 'urn:other', valueString: 'x' }],
    };
    const { identifier, supportingInformation, contained, extension } = again(sent);
    expect(identifier).toEqual(sent.identifier);
    expect(supportingInformation).toEqual(sent.supportingInformation);
    expect(contained?.map(({ id }) => id)).toEqual(['q', 'p']);
    expect(extension?.map(({ url }) => url)).toEqual(['urn:other', 'urn:room']);
  });

  it('replaces an extension of its own, and none of the clinic', () => {
    const sent = { extension: [{ ...room, valueString: '6' }] };
    expect(again(sent).extension).toEqual(sent.extension);
    expect(again(sent, { ...nothing, extensions: new Set(['urn:room']) }).extension).toEqual([room]);
  });

  it.each(['LocalHeldUntil', 'LocalHoldProlonged', 'LocalConfirmationDeadline'] as const)(
    'does not keep %s',
    (name) => {
      const passing: Extension = { url: artefactUri(config, name), valueInstant: at('08:00') };
      const sent: Appointment = { resourceType: 'Appointment', status: 'proposed', participant: [] };
      expect(resubmitted(sent, { ...stored, extension: [passing] }, nothing, config)).not.toHaveProperty('extension');
    },
  );
});
