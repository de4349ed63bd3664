import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { planBooking } from '../../../../core/booking/book/plan.ts';
import { parseBookRequest } from '../../../../core/booking/book/request/request.ts';
import type { Fragments } from '../../../../core/booking/slots/fragments.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import {
  appointment,
  at,
  config,
  issuesOf,
  now,
  parameters,
  patient,
  plan,
  requestor,
  resourceParameter,
  schedule,
  slot,
  stateOf,
  unchanged,
  written,
} from '../support.ts';

const busy = slot('nine', '09:00', '09:30', { status: 'busy' });
const ten = slot('ten', '10:00', '10:30');
const booked: Appointment = {
  ...appointment({ id: 'known', status: 'booked', identifier: [{ system: 'urn:portal', value: '1' }] }),
  meta: { versionId: 'known-1', tag: [requestorTag(requestor, config)] },
};
const origin = [{ system: artefactUri(config, 'LocalSlotOrigin'), value: 'nine' }];
const ofNine = (id: string, start: string, end: string) => slot(id, start, end, { identifier: origin });
const on = (...ids: string[]) => ({ slot: ids.map((id) => ({ reference: `Slot/${id}` })) });
const pieces = (...slots: Fragments['slots']): Fragments => ({ slots, uses: new Map() });
const slots = (result: ReturnType<typeof plan>) =>
  written(result, 'Slot').map(
    ({ id, status, start, end }) => `${id} ${status} ${start?.slice(11, 16)}-${end?.slice(11, 16)}`,
  );

describe('re-submission under a known id', () => {
  it('moves the appointment, gives its slot back, and keeps the id', () => {
    const body = appointment({ id: 'known', start: at('10:00'), end: at('10:30'), ...on('ten') });
    const result = plan(body, stateOf(schedule, patient, busy, ten, booked));
    expect(slots(result)).toEqual(['nine free 09:00-09:30', 'ten busy 10:00-10:30']);
    expect(result.kind === 'write' && result.transaction.entry?.[0]?.request).toEqual({
      method: 'PUT',
      url: 'Appointment/known',
      ifMatch: 'W/"known-1"',
    });
    expect(written(result, 'Appointment')).toMatchObject([{ id: 'known', status: 'booked', ...on('ten') }]);
  });

  it('shortens it, and offers the rest', () => {
    const result = plan(appointment({ id: 'known', end: at('09:10') }), stateOf(schedule, patient, busy, booked));
    expect(slots(result)).toEqual(['nine busy 09:00-09:10', 'undefined free 09:10-09:30']);
  });

  it('lengthens it over the free rest of its own slot', () => {
    const state = stateOf(schedule, patient, busy, booked);
    const rest = ofNine('rest', '09:30', '12:00');
    const body = appointment({ id: 'known', end: at('10:00') });
    expect(slots(plan(body, state, {}, pieces(busy, rest)))).toEqual([
      'nine busy 09:00-10:00',
      'rest free 10:00-12:00',
    ]);
  });

  it('makes a slot that was split whole again when it moves elsewhere', () => {
    const state = stateOf(schedule, patient, busy, ten, booked);
    const body = appointment({ id: 'known', start: at('10:00'), end: at('10:30'), ...on('ten') });
    const around = [ofNine('before', '08:00', '09:00'), ofNine('after', '09:30', '10:00')];
    expect(slots(plan(body, state, {}, pieces(busy, ...around)))).toEqual([
      'nine free 08:00-10:00',
      'ten busy 10:00-10:30',
      'before entered-in-error 08:00-09:00',
      'after entered-in-error 09:30-10:00',
    ]);
  });

  it('asks for the pieces of its slots before it decides', () => {
    const body = appointment({ id: 'known', end: at('09:10') });
    const state = stateOf(schedule, patient, busy, booked);
    const context = { now, requestor, config, newId: () => 'urn:uuid:1' };
    expect(planBooking(parseBookRequest(body, config), state, context)).toEqual({
      kind: 'read',
      wanted: { fragments: { origins: ['nine'], rewritten: ['known'] }, role: true, histories: ['known'] },
    });
  });

  it('is refused when the new time is taken', () => {
    const body = appointment({ id: 'known', start: at('10:00'), end: at('10:30'), ...on('ten') });
    const result = plan(body, stateOf(schedule, patient, busy, { ...ten, status: 'busy' }, booked));
    expect(issuesOf(result)).toEqual(['slot-not-free Appointment.slot[0]']);
  });

  it.each(['cancelled', 'fulfilled', 'noshow', 'arrived', 'checked-in', 'entered-in-error'] as const)(
    'is refused when the appointment is %s',
    (status) => {
      const body = appointment({ id: 'known', start: at('10:00'), end: at('10:30'), ...on('ten') });
      const result = plan(body, stateOf(schedule, patient, busy, ten, { ...booked, status }));
      expect(issuesOf(result)).toEqual(['appointment-closed Appointment.id']);
    },
  );

  it("keeps the requestor that it belongs to when the clinic's staff send it", () => {
    const result = plan(
      appointment({ id: 'known' }),
      stateOf(schedule, patient, busy, booked),
      { requestor: 'staff' },
      undefined,
      'repository',
    );
    const codes = written(result, 'Appointment')[0]?.meta?.tag?.map(({ code }) => code);
    expect(codes).toEqual(['external', requestor, 'staff']);
  });

  it('keeps its tags beside those that are sent, each once', () => {
    const red = { system: 'urn:colour', code: 'red' };
    const blue = { system: 'urn:colour', code: 'blue' };
    const other = { system: 'urn:other', code: 'blue' };
    const before = { ...booked, meta: { ...booked.meta, tag: [...(booked.meta?.tag ?? []), red, blue, other] } };
    const body = appointment({ id: 'known', comment: 'Another', meta: { tag: [blue] } });
    const [changed] = written(plan(body, stateOf(schedule, patient, busy, before)), 'Appointment');
    const colours = changed?.meta?.tag?.filter(({ code }) => code === 'red' || code === 'blue');
    expect(colours).toEqual([blue, red, other]);
  });

  it('is refused when the policy of the schedule that it leaves does not let it be cancelled any more', () => {
    const valueDuration = { value: 30, code: 'd', system: 'http://unitsofmeasure.org' };
    const extension = [
      { url: artefactUri(config, 'LocalBookingPolicy'), extension: [{ url: 'cancelUntil', valueDuration }] },
    ];
    const strict = { ...schedule, extension };
    const open = { ...schedule, id: 'open' };
    const there = { ...ten, schedule: { reference: 'Schedule/open' } };
    const body = appointment({ id: 'known', start: at('10:00'), end: at('10:30'), ...on('ten') });
    expect(issuesOf(plan(body, stateOf(strict, open, patient, busy, there, booked)))).toEqual([
      'cancellation-closed Appointment.id',
    ]);
    expect(plan(body, stateOf(schedule, open, patient, busy, there, booked)).kind).toBe('write');
  });

  it('says who changed which version', () => {
    const [changed] = written(
      plan(appointment({ id: 'known', comment: 'Another' }), stateOf(schedule, patient, busy, booked)),
      'Appointment',
    );
    const mark = changed?.meta?.tag?.find(({ system }) => system === artefactUri(config, 'LocalChangedBy'));
    expect(mark).toMatchObject({ code: requestor, version: booked.meta?.versionId });
  });
});

describe('a request that says which version it has seen', () => {
  const moving = (ifMatch: string | undefined, id = 'known', state = stateOf(schedule, patient, busy, ten, booked)) => {
    const read = parseBookRequest(appointment({ id, start: at('10:00'), end: at('10:30'), ...on('ten') }), config);
    return planBooking(
      { ...read, request: read.request && { ...read.request, ifMatch } },
      state,
      { now, requestor, config, newId: () => 'urn:uuid:1' },
      { fragments: pieces(), returning: [], role: 'requestor', histories: unchanged(state) },
    );
  };

  it('moves that version, and no other', () => {
    expect(slots(moving('known-1'))).toEqual(['nine free 09:00-09:30', 'ten busy 10:00-10:30']);
    expect(issuesOf(moving('known-0'))).toEqual(['version-conflict Appointment.id']);
    expect(issuesOf(moving('known-1', 'unknown'))).toEqual(['version-conflict Appointment.id']);
  });
});

describe('replacement by cancelled-appt-id', () => {
  const replacing = (reference: object, more: Partial<Appointment> = {}) =>
    parameters(
      resourceParameter('appt-resource', appointment({ start: at('10:00'), end: at('10:30'), ...on('ten'), ...more })),
      { name: 'cancelled-appt-id', ...reference },
    );
  const state = stateOf(schedule, patient, busy, ten, booked);

  it.each([
    [{ valueUri: 'known' }],
    [{ valueUri: 'Appointment/known' }],
    [{ valueUri: `${config.baseUrl}/Appointment/known` }],
    [{ valueReference: { reference: 'Appointment/known' } }],
  ])('cancels the old, frees its slot, and points from the new to it (%j)', (reference) => {
    const result = plan(replacing(reference), state);
    expect(slots(result)).toEqual(['nine free 09:00-09:30', 'ten busy 10:00-10:30']);
    expect(written(result, 'Appointment')).toMatchObject([
      {
        status: 'booked',
        extension: [
          {
            url: 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Appointment.replaces',
            valueReference: { reference: 'Appointment/known' },
          },
        ],
      },
      { id: 'known', status: 'cancelled' },
    ]);
  });

  it('keeps the extensions of the request, and of those that name an earlier appointment its own alone', () => {
    const url = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Appointment.replaces';
    const own = { url: 'urn:portal:note', valueString: 'By the lift' };
    const forged = { url, valueReference: { reference: 'Appointment/other' } };
    const result = plan(replacing({ valueUri: 'known' }, { extension: [own, forged] }), state);
    expect(written(result, 'Appointment')[0]?.extension).toEqual([
      own,
      { url, valueReference: { reference: 'Appointment/known' } },
    ]);
  });

  it('may use the very slot of the old one', () => {
    const result = plan(
      replacing({ valueUri: 'known' }, { start: at('09:00'), end: at('09:30'), ...on('nine') }),
      state,
    );
    expect(result.kind).toBe('write');
    expect(slots(result)).toEqual([]);
  });

  it.each<[string, Appointment[], object, string]>([
    ['is unknown', [], { valueUri: 'known' }, 'replaced-appointment-not-found Parameters.parameter[1].valueUri'],
    [
      'is over',
      [{ ...booked, status: 'cancelled' }],
      { valueUri: 'known' },
      'appointment-closed Parameters.parameter[1].valueUri',
    ],
    [
      'is elsewhere',
      [booked],
      { valueUri: 'https://other.example/Appointment/known' },
      'malformed-request Parameters.parameter[1].valueUri',
    ],
  ])('is refused when the old one %s', (_, appointments, reference, issue) => {
    expect(issuesOf(plan(replacing(reference), stateOf(schedule, patient, busy, ten, ...appointments)))).toEqual([
      issue,
    ]);
  });

  it('is refused when the appointment would replace itself', () => {
    expect(issuesOf(plan(replacing({ valueUri: 'known' }, { id: 'known' }), state))).toEqual([
      'malformed-request Parameters.parameter[1].valueUri',
    ]);
  });
});

describe('a retry of what is booked already', () => {
  const again = appointment({ identifier: booked.identifier ?? [] });
  const state = stateOf(schedule, patient, busy, booked);

  it('returns the existing appointment, however the time is written', () => {
    const spelt = { ...again, start: '2027-01-04T10:00:00+01:00' };
    expect(plan(spelt, state)).toEqual({ kind: 'existing', appointment: booked });
  });

  it('gives it also when the schedule alone is named', () => {
    const { slot: _, ...without } = again;
    const body = parameters(resourceParameter('appt-resource', without), {
      name: 'schedule',
      valueReference: { reference: 'Schedule/calendar' },
    });
    expect(plan(body, state).kind).toBe('existing');
  });

  it('is none when another schedule is named', () => {
    const { slot: _, ...without } = again;
    const body = parameters(resourceParameter('appt-resource', without), {
      name: 'schedule',
      valueReference: { reference: 'Schedule/room' },
    });
    const result = plan(body, stateOf(schedule, { ...schedule, id: 'room' }, patient, busy, booked));
    expect(issuesOf(result)).toEqual(['slot-not-free Parameters.parameter[1].valueReference']);
  });

  it('is refused when it is malformed', () => {
    const malformed = { ...again, participant: [{ actor: { reference: 'Patient/anna' } }] };
    expect(issuesOf(plan(malformed, state))[0]).toBe('element-missing Appointment.participant[0].status');
  });

  it('knows a slot that was split meanwhile by its origin', () => {
    const onPiece = { ...booked, ...on('piece') };
    const piece = { ...ofNine('piece', '09:00', '09:30'), status: 'busy' as const };
    const narrowed = slot('nine', '08:00', '09:00');
    expect(plan(again, stateOf(schedule, patient, narrowed, piece, onPiece)).kind).toBe('existing');
  });

  it('recognizes a submitted patient by its elements', () => {
    const { identifier: _, ...anna } = { ...patient, name: [{ family: 'Muster' }] };
    const submitted = { resourceType: 'Patient', id: 'x', name: [{ family: 'Muster' }] };
    const body = (family: string) =>
      parameters(
        resourceParameter('appt-resource', { ...again, participant: undefined }),
        resourceParameter('patient', { ...submitted, name: [{ family }] }),
      );
    expect(plan(body('Muster'), stateOf(schedule, anna, busy, booked)).kind).toBe('existing');
    expect(plan(body('Mustermann'), stateOf(schedule, anna, busy, booked)).kind).toBe('refuse');
  });

  it.each<[string, Partial<Appointment>]>([
    ['at another time', { end: at('09:20') }],
    ['with another identifier', { identifier: [{ system: 'urn:portal', value: '2' }] }],
    ['in another slot', on('ten')],
  ])('is none %s', (_, more) => {
    expect(plan({ ...again, ...more }, stateOf(schedule, patient, busy, ten, booked)).kind).toBe('refuse');
  });

  it.each<[string, Partial<Appointment>]>([
    ['was cancelled', { status: 'cancelled' }],
    ["is another requestor's", { meta: { tag: [requestorTag('other', config)] } }],
  ])('is none when the other %s', (_, more) => {
    expect(plan(again, stateOf(schedule, patient, busy, { ...booked, ...more })).kind).toBe('refuse');
  });
});

describe("another requestor's appointment, whoever may read it", () => {
  const others = { ...booked, meta: { versionId: 'known-1', tag: [requestorTag('another', config)] } };
  const state = stateOf(schedule, patient, busy, ten, others);
  const elsewhere = appointment({ id: 'known', start: at('10:00'), end: at('10:30'), ...on('ten') });

  it('is not moved: the booking is a new one', () => {
    const result = plan(elsewhere, state);
    expect(result.kind === 'write' && result.transaction.entry?.[0]?.request).toEqual({
      method: 'POST',
      url: 'Appointment',
    });
    expect(slots(result)).toEqual(['ten busy 10:00-10:30']);
  });

  it('is not replaced', () => {
    const { id: _, ...body } = elsewhere;
    const replacing = parameters(resourceParameter('appt-resource', body), {
      name: 'cancelled-appt-id',
      valueUri: 'Appointment/known',
    });
    expect(issuesOf(plan(replacing, state))).toEqual([
      'replaced-appointment-not-found Parameters.parameter[1].valueUri',
    ]);
  });

  it('is moved by staff; before it is known who asks, that is asked', () => {
    const moved = plan(elsewhere, state, {}, undefined, 'repository');
    expect(moved.kind === 'write' && moved.transaction.entry?.[0]?.request?.url).toBe('Appointment/known');
    const asked = planBooking(parseBookRequest(elsewhere, config), state, { now, requestor, config, newId: () => 'x' });
    expect(asked).toMatchObject({ kind: 'read', wanted: { role: true } });
  });
});

describe('what a re-submission adds', () => {
  const state = stateOf(schedule, patient, busy, booked);
  const tags = (count: number) => Array.from({ length: count }, (_, index) => ({ system: 'urn:x', code: `${index}` }));
  const again = (more: Partial<Appointment>, known = state) =>
    issuesOf(plan(appointment({ id: 'known', priority: 5, ...more }), known));

  it('is so much at most, with what is stored', () => {
    expect(again({ meta: { tag: tags(98) } })).toEqual([]);
    expect(again({ meta: { tag: tags(100) } })).toEqual(['malformed-request Appointment.meta.tag']);
    expect(again({ comment: 'x'.repeat(1024 * 1024) })).toEqual(['malformed-request http.body']);
    const told = stateOf(schedule, patient, busy, { ...booked, patientInstruction: 'x'.repeat(200_000) });
    expect(again({ comment: 'x'.repeat(100_000) }, told)).toEqual(['malformed-request Appointment']);
    const codes = tags(1_000);
    const many = { ...booked, specialty: [{ coding: codes }] };
    const larger = stateOf(schedule, patient, busy, many);
    expect(again({ comment: 'x' }, larger)).toEqual([]);
    expect(again({ serviceCategory: [{ coding: codes }] }, larger)).toEqual(['malformed-request Appointment']);
  });

  it('leaves alone what was larger before', () => {
    const large = {
      ...booked,
      comment: 'x'.repeat(2_000_000),
      meta: { ...booked.meta, tag: [...tags(150), ...(booked.meta?.tag ?? [])] },
    };
    expect(again({}, stateOf(schedule, patient, busy, large))).toEqual([]);
  });
});

describe('a history that is not known to its beginning', () => {
  const nurse = { actor: { reference: 'Practitioner/joy' }, status: 'accepted' as const };
  const oldest = { ...booked, comment: 'Of the clinic', participant: [...booked.participant, nurse] };
  const histories = { versions: new Map([['known', [oldest, { ...oldest, priority: 5 }]]]), slots: [] };
  const resent = (cut: readonly string[]) => {
    const body = appointment({ id: 'known', end: at('09:10'), comment: 'Mine' });
    const known = { histories: { ...histories, cut: new Set(cut) } };
    return written(
      plan(body, stateOf(schedule, patient, busy, oldest), {}, undefined, undefined, known),
      'Appointment',
    )[0];
  };

  it('counts its oldest version as the clinic’s, but for the patients', () => {
    expect(resent(['known'])).toMatchObject({ comment: 'Of the clinic', participant: [{}, nurse] });
    expect(resent(['known'])?.participant).toHaveLength(2);
  });

  it('counts the first version as the requestor’s where it is known', () => {
    expect(resent([])).toMatchObject({ comment: 'Mine' });
    expect(resent([])?.participant).toHaveLength(1);
  });
});
