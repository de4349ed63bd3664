import { describe, expect, test } from '@jest/globals';
import { validateResource } from '@medplum/core';
import type { Artefact } from '../../core/fhir/artefacts.ts';
import { artefacts, example, faults, type Json } from './validator.ts';

const coded = { coding: [{ system: 'urn:s', code: 'c' }] };
const priority = 'https://example.org/fhir/StructureDefinition/LocalTerminPriorityExtension';
const confirmation = 'https://example.org/fhir/StructureDefinition/LocalConfirmation';
const external = { system: 'https://example.org/fhir/CodeSystem/meta-tag', code: 'external' };
const otherTag = { system: 'urn:other', code: 'external' };
const withPriority = (...values: Json[]): Json => ({
  _priority: { extension: values.map((value) => ({ url: priority, ...value })) },
});

const payloadContent = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/backport-payload-content';
const channel = (changes: Json): Json => ({
  channel: { ...Object(example('LocalSubscriptionTermin').channel), ...changes },
});
const contentOf = (...values: string[]): Json =>
  channel({ _payload: { extension: values.map((valueCode) => ({ url: payloadContent, valueCode })) } });

/** Changes to the good example: what is broken, the change, the element that the failure must name. */
const broken: Partial<Record<Artefact, [rule: string, change: Json, element: string][]>> = {
  LocalTermin: [
    ['start', { start: undefined }, 'Appointment.start'],
    ['end', { end: undefined }, 'Appointment.end'],
    ['a status', { status: undefined }, 'Appointment.status'],
    ['one slot at least', { slot: undefined }, 'Appointment.slot'],
    ['one participant at least', { participant: undefined }, 'Appointment.participant'],
    ['participant.actor', { participant: [{ status: 'accepted', type: [coded] }] }, 'Appointment.participant[0].actor'],
    [
      'participant.actor.reference',
      { participant: [{ status: 'accepted', actor: { display: 'Robin' } }] },
      'Appointment.participant[0].actor.reference',
    ],
    [
      'participant.status',
      { participant: [{ actor: { reference: 'Patient/1' } }] },
      'Appointment.participant[0].status',
    ],
    ['a coded service type', { serviceType: [{ text: 'CT' }] }, 'Appointment.serviceType[0].coding'],
    [
      'a system in the service type',
      { serviceType: [coded, { coding: [{ code: 'CT' }] }] },
      'Appointment.serviceType[1].coding[0].system',
    ],
    [
      'a code in the service type',
      { serviceType: [{ coding: [{ system: 'urn:s' }] }] },
      'Appointment.serviceType[0].coding[0].code',
    ],
    [
      'a system in the specialty',
      { specialty: [{ coding: [{ code: 'x' }] }] },
      'Appointment.specialty[0].coding[0].system',
    ],
    [
      'a code in the specialty',
      { specialty: [{ coding: [{ system: 'urn:s' }] }] },
      'Appointment.specialty[0].coding[0].code',
    ],
    [
      'the priority once',
      withPriority({ valueCodeableConcept: coded }, { valueCodeableConcept: coded }),
      'Appointment.priority',
    ],
    ['the priority as a concept', withPriority({ valueString: 'urgent' }), 'Appointment.priority'],
    ['a coded priority', withPriority({ valueCodeableConcept: { text: 'urgent' } }), 'Appointment.priority'],
    [
      'system and code in each coding of the priority',
      withPriority({ valueCodeableConcept: { coding: [...coded.coding, { code: 'c' }] } }),
      'Appointment.priority',
    ],
    [
      'the priority extension',
      { _priority: { extension: [{ url: 'urn:x', valueCode: 'c' }] } },
      'Appointment.priority',
    ],
    ['the tag external once', { meta: { tag: [external, external] } }, 'Appointment.meta.tag'],
  ],
  LocalTerminPriorityExtension: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['a value', { valueCodeableConcept: undefined }, 'Extension.value[x]'],
    ['a concept', { valueCodeableConcept: undefined, valueString: 'urgent' }, 'Extension.value[x].coding'],
    ['a coding', { valueCodeableConcept: { text: 'urgent' } }, 'Extension.value[x].coding'],
    ['a system', { valueCodeableConcept: { coding: [{ code: 'c' }] } }, 'Extension.value[x].coding[0].system'],
    ['a code', { valueCodeableConcept: { coding: [{ system: 'urn:s' }] } }, 'Extension.value[x].coding[0].code'],
  ],
  LocalConfirmation: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['a value', { valueCode: undefined }, 'Extension.value[x]'],
    ['a code', { valueCode: undefined, valueString: 'manual' }, 'Extension.value[x]'],
    ['a known code', { valueCode: 'perhaps' }, 'Extension.value[x]'],
  ],
  LocalPublishing: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['a value', { valueBoolean: undefined }, 'Extension.value[x]'],
  ],
  LocalOverbooking: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['a value', { valueBoolean: undefined }, 'Extension.value[x]'],
  ],
  LocalPortal: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['parts', { extension: undefined }, 'Extension.extension'],
  ],
  LocalSlotOffer: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['parts', { extension: undefined }, 'Extension.extension'],
  ],
  LocalReservation: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['parts', { extension: undefined }, 'Extension.extension'],
  ],
  LocalBookingPolicy: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['parts', { extension: undefined }, 'Extension.extension'],
  ],
  LocalHeldUntil: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['a value', { valueInstant: undefined }, 'Extension.value[x]'],
  ],
  LocalConfirmationDeadline: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['a value', { valueInstant: undefined }, 'Extension.value[x]'],
  ],
  LocalHoldProlonged: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['a value', { valueBoolean: undefined }, 'Extension.value[x]'],
  ],
  LocalReplacedBy: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['a value', { valueReference: undefined }, 'Extension.value[x]'],
  ],
  LocalSubmittedElements: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['its parts', { extension: undefined }, 'Extension.extension'],
  ],
  LocalOffer: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['its parts', { extension: undefined }, 'Extension.extension'],
  ],
  LocalPosition: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['a value', { valuePositiveInt: undefined }, 'Extension.value[x]'],
  ],
  LocalAlternative: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['its parts', { extension: undefined }, 'Extension.extension'],
  ],
  LocalVisit: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['its parts', { extension: undefined }, 'Extension.extension'],
  ],
  LocalVisitStep: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['its parts', { extension: undefined }, 'Extension.extension'],
  ],
  LocalSchedule: [
    ['an actor', { actor: undefined }, 'Schedule.actor'],
    ['actor.reference', { actor: [{ display: 'CT' }] }, 'Schedule.actor[0].reference'],
    ['a coded service type', { serviceType: [{ text: 'CT' }] }, 'Schedule.serviceType[0].coding'],
    ['a known confirmation', { extension: [{ url: confirmation, valueCode: 'perhaps' }] }, 'Schedule'],
    ['the confirmation as a code', { extension: [{ url: confirmation, valueString: 'manual' }] }, 'Schedule'],
    [
      'the confirmation once',
      {
        extension: [
          { url: confirmation, valueCode: 'manual' },
          { url: confirmation, valueCode: 'manual' },
        ],
      },
      'Schedule.extension',
    ],
  ],
  LocalSlot: [
    ['a schedule', { schedule: undefined }, 'Slot.schedule'],
    ['schedule.reference', { schedule: { display: 'CT' } }, 'Slot.schedule.reference'],
    ['a status', { status: undefined }, 'Slot.status'],
    ['start', { start: undefined }, 'Slot.start'],
    ['end', { end: undefined }, 'Slot.end'],
  ],
  LocalOwnChanges: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['a value', { valueBoolean: undefined }, 'Extension.value[x]'],
  ],
  LocalMessages: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['a value', { valueBoolean: undefined }, 'Extension.value[x]'],
  ],
  LocalPayerKind: [
    ['its own url', { url: 'urn:x' }, 'Extension.url'],
    ['a coding', { valueCoding: undefined }, 'Extension.value[x]'],
    ['a code', { valueCoding: { system: 'urn:x' } }, 'Extension.value[x].code'],
  ],
  LocalSubscriptionTermin: [
    ['a status', { status: undefined }, 'Subscription.status'],
    ['a reason', { reason: undefined }, 'Subscription.reason'],
    ['the address of a topic', { criteria: 'Appointment?status=booked' }, 'Subscription.criteria'],
    ['a channel of the service', channel({ type: 'email' }), 'Subscription.channel.type'],
    ['a payload', channel({ payload: undefined, _payload: undefined }), 'Subscription.channel.payload'],
    ['a known content', contentOf('everything'), 'Subscription.channel.payload'],
    ['the content once', contentOf('empty', 'id-only'), 'Subscription.channel.payload'],
    ['an endpoint', { channel: { type: 'rest-hook', payload: 'application/fhir+json' } }, 'Subscription.channel'],
  ],
  LocalPatient: [['the tag external once', { meta: { tag: [external, external] } }, 'Patient.meta.tag']],
  LocalQuestionnaireResponse: [
    ['text', { text: undefined }, 'QuestionnaireResponse.text'],
    ['items', { item: undefined }, 'QuestionnaireResponse.item'],
    ['the question', { item: [{ linkId: '1' }] }, 'QuestionnaireResponse.item[0].text'],
    [
      'the question of an item within an item',
      { item: [{ linkId: '1', text: 'Group', item: [{ linkId: '2' }] }] },
      'QuestionnaireResponse.item[0]',
    ],
    [
      'the question of an item within an answer',
      { item: [{ linkId: '1', text: 'A?', answer: [{ valueBoolean: true, item: [{ linkId: '2' }] }] }] },
      'QuestionnaireResponse.item[0]',
    ],
  ],
};

/** Changes to the good example that the profile allows. */
const allowed: Partial<Record<Artefact, [what: string, change: Json][]>> = {
  LocalTermin: [
    [
      'no service type, no specialty, no priority',
      { serviceType: undefined, specialty: undefined, _priority: undefined },
    ],
    ['a priority as a plain number', { _priority: undefined, priority: 3 }],
    ['a number and the extension', { priority: 3 }],
    ['other tags', { meta: { tag: [external, otherTag] } }],
    ['other elements of Appointment', { status: 'booked', comment: 'by phone', minutesDuration: 30 }],
  ],
  LocalSchedule: [
    ['no confirmation', { extension: undefined }],
    ['other extensions', { extension: [{ url: 'urn:x', valueString: 'y' }] }],
  ],
  LocalSlot: [['instants with offsets', { start: '2027-01-11T10:00:00+01:00', end: '2027-01-11T09:30:00Z' }]],
  LocalPatient: [['no tag', { meta: undefined }]],
  LocalQuestionnaireResponse: [['no questionnaire', { questionnaire: undefined }]],
};

const names = artefacts.structureDefinitions.map(({ name }) => name as Artefact);

describe.each(names)('%s', (name) => {
  test('is itself a valid StructureDefinition', () => {
    const definition = artefacts.structureDefinitions.find((candidate) => candidate.name === name);
    expect(definition && validateResource(definition)).toEqual([]);
    expect(definition?.snapshot?.element.map(({ id }) => id)).toHaveLength(
      new Set(definition?.snapshot?.element.map(({ id }) => id)).size,
    );
  });

  test('accepts its example', () => {
    expect(faults(name, example(name))).toEqual([]);
  });

  for (const [what, change] of allowed[name] ?? []) {
    test(`allows ${what}`, () => {
      expect(faults(name, { ...example(name), ...change })).toEqual([]);
    });
  }

  test.each(broken[name] ?? [])('demands %s', (_, change, element) => {
    expect(faults(name, { ...example(name), ...change })).toContain(element);
  });
});
