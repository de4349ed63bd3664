import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Element } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { until } from '../lib/until.ts';
import { aClinic, aSlot, book, minutes, parameters, proposed, simultaneously, slotsOf, succeeded } from './fixtures.ts';
import { isActionable, medplum, refusalOf, resourceIn } from './http.ts';
import { base, config } from './installation.ts';
import { aBooking, cancellation, fhirPathPatch, patch, read, replacing } from './patch/fixtures.ts';

describe('PATCH that cancels', () => {
  it.each<[string, unknown]>([
    ['FHIRPath Patch', cancellation],
    ['JSON Patch', [{ op: 'replace', path: '/status', value: 'cancelled' }]],
  ])('%s: 200, a new version, the slot is free in the same moment', async (_, body) => {
    const { schedule, slot, patient, booked, id } = await aBooking();
    const response = await patch(id, body);
    const cancelled = resourceIn('Appointment', response);
    expect(response.status).toBe(200);
    expect(cancelled).toMatchObject({ id, status: 'cancelled', start: booked.start, slot: booked.slot });
    expect(cancelled.meta?.versionId).not.toBe(booked.meta?.versionId);
    expect(response.headers.get('etag')).toBe(`W/"${cancelled.meta?.versionId}"`);
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
    expect(await read(id)).toEqual(cancelled);
    expect((await book(proposed(patient, [slot]))).status).toBe(201);
  });

  it('a part of a slot is whole free time again', async () => {
    const { schedule, slot, patient } = await aClinic({}, { end: minutes(240) });
    const booked = succeeded('Appointment', await book(proposed(patient, [slot], { from: 60, to: 90 })));
    expect((await patch(booked.id ?? '', cancellation)).status).toBe(200);
    expect(await slotsOf(schedule)).toEqual(['free 0-240']);
  });

  it('leaves the neighbour of a split slot alone', async () => {
    const { schedule, slot, patient } = await aClinic({}, { end: minutes(60) });
    const first = succeeded('Appointment', await book(proposed(patient, [slot], { from: 0, to: 30 })));
    const other = await aSlot(schedule, 100, 130);
    const second = succeeded('Appointment', await book(proposed(patient, [slot], { from: 30, to: 60 })));
    expect((await patch(first.id ?? '', cancellation)).status).toBe(200);
    expect(await slotsOf(schedule)).toEqual(['free 0-30', 'busy 30-60', 'free 100-130']);
    expect((await read(second.id ?? '')).status).toBe('booked');
    expect(other.status).toBe('free');
  });

  it('twice: the second one changes nothing', async () => {
    const { id } = await aBooking();
    const first = resourceIn('Appointment', await patch(id, cancellation));
    const again = await patch(id, cancellation);
    expect([again.status, again.body]).toEqual([200, first]);
  });
});

const at = (type: string, path: string) => ({ type: { valueCode: type }, path: { valueString: path } });
const named = (name: string) => ({ name: { valueString: name } });

it('what has ended is neither cancelled, moved nor replaced by its portal: 422; the clinic cancels it', async () => {
  const { schedule, patient, slot: later } = await aClinic();
  const time = { start: new Date(Date.now() + 1_500).toISOString(), end: new Date(Date.now() + 2_500).toISOString() };
  const slot = await aSlot(schedule, 0, 30, time);
  const { id = '' } = succeeded('Appointment', await book({ ...proposed(patient, [slot]), ...time }));
  const next = proposed(patient, [later]);
  const replacement = { name: 'cancelled-appt-id', valueUri: `Appointment/${id}` };
  const { parameter } = parameters(next);
  await until(() => Date.now() > Date.parse(time.end));
  expect(refusalOf(await patch(id, cancellation))).toEqual([422, 'cancellation-closed Appointment.status']);
  expect(refusalOf(await book({ ...next, id }))).toEqual([422, 'cancellation-closed Appointment.id']);
  expect(refusalOf(await book({ resourceType: 'Parameters', parameter: [...parameter, replacement] }))).toEqual([
    422,
    'cancellation-closed Parameters.parameter[1].valueUri',
  ]);
  expect((await read(id)).status).toBe('booked');
  expect((await patch(id, cancellation, 'front-desk')).status).toBe(200);
});

describe('a patch of what may be changed', () => {
  it('FHIRPath Patch: add, insert, replace, move and delete, one after the other', async () => {
    const { id, booked } = await aBooking();
    const note = (text: string) => ({ valueCodeableConcept: { text } });
    const response = await patch(
      id,
      fhirPathPatch(
        { ...at('add', 'Appointment'), ...named('comment'), value: { valueString: 'first' } },
        replacing('Appointment.comment', { valueString: 'Please ring twice' }),
        { ...at('add', 'Appointment'), ...named('reasonCode'), value: note('b') },
        { ...at('add', 'Appointment'), ...named('reasonCode'), value: note('c') },
        { ...at('insert', 'Appointment.reasonCode'), index: { valueInteger: 0 }, value: note('a') },
        { ...at('move', 'Appointment.reasonCode'), source: { valueInteger: 2 }, destination: { valueInteger: 0 } },
        at('delete', "Appointment.reasonCode.where(text = 'b')"),
      ),
    );
    const changed = resourceIn('Appointment', response);
    expect(response.status).toBe(200);
    expect(changed).toMatchObject({ comment: 'Please ring twice', reasonCode: [{ text: 'c' }, { text: 'a' }] });
    expect(changed.meta?.versionId).not.toBe(booked.meta?.versionId);
  });

  it('an element without a type of its own is given by its parts', async () => {
    const { id } = await aBooking();
    const value = {
      part: [
        { name: 'actor', valueReference: { reference: 'Practitioner/interpreter' } },
        { name: 'required', valueCode: 'optional' },
        { name: 'status', valueCode: 'needs-action' },
      ],
    };
    const response = await patch(id, fhirPathPatch({ ...at('add', 'Appointment'), ...named('participant'), value }));
    expect(response.status).toBe(200);
    expect(resourceIn('Appointment', response).participant[1]).toEqual({
      actor: { reference: 'Practitioner/interpreter' },
      required: 'optional',
      status: 'needs-action',
    });
  });

  it('the priority, an extension of a primitive element', async () => {
    const extension = (code: string) => ({
      url: artefactUri(config, 'LocalTerminPriorityExtension'),
      valueCodeableConcept: { coding: [{ system: config.terminologySystem, code }] },
    });
    const given: Partial<Appointment> & { _priority: Element } = {
      resourceType: 'Appointment',
      _priority: { extension: [extension('25876001')] },
    };
    const { id } = await aBooking(given);
    const response = await patch(
      id,
      fhirPathPatch(
        replacing('Appointment.priority.extension[0].value', {
          valueCodeableConcept: extension('394849002').valueCodeableConcept,
        }),
      ),
    );
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ _priority: { extension: [extension('394849002')] } });
  });

  it('JSON Patch: add, copy, move, remove and test', async () => {
    const { id } = await aBooking();
    const response = await patch(id, [
      { op: 'add', path: '/comment', value: 'Please ring twice' },
      { op: 'copy', from: '/comment', path: '/description' },
      { op: 'add', path: '/reasonCode', value: [{ text: 'a' }] },
      { op: 'add', path: '/reasonCode/-', value: { text: 'b' } },
      { op: 'move', from: '/reasonCode/1', path: '/reasonCode/0' },
      { op: 'remove', path: '/comment' },
      { op: 'test', path: '/reasonCode', value: [{ text: 'b' }, { text: 'a' }] },
    ]);
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({
      description: 'Please ring twice',
      reasonCode: [{ text: 'b' }, { text: 'a' }],
    });
    expect(response.body).not.toHaveProperty('comment');
  });
});

it('one of the service takes part or is referred to, stored without its address', async () => {
  const { id } = await aBooking();
  const place = { reference: `${base}/Location/1` };
  const changes = [
    { op: 'add', path: '/participant/-', value: { actor: place, status: 'accepted' } },
    { op: 'add', path: '/supportingInformation', value: [place] },
  ];
  expect((await patch(id, changes)).status).toBe(200);
  const { participant, supportingInformation } = await read(id);
  expect([participant.at(-1)?.actor, supportingInformation]).toEqual([
    { reference: 'Location/1' },
    [{ reference: 'Location/1' }],
  ]);
});

it('what the clinic refers to stays as the clinic has written it', async () => {
  const { id } = await aBooking();
  const supportingInformation = [{ reference: 'Location/1/_history/2' }];
  const body = { ...(await read(id)), supportingInformation };
  expect((await medplum('front-desk', 'PUT', `/Appointment/${id}`, { body })).status).toBe(200);
  expect((await patch(id, [{ op: 'add', path: '/comment', value: 'later' }])).status).toBe(200);
  expect(await read(id)).toMatchObject({ comment: 'later', supportingInformation });
});

it('another order of the slots is a change: 400 immutable-element', async () => {
  const { schedule, patient } = await aClinic();
  const [first, second] = [await aSlot(schedule, 60, 90), await aSlot(schedule, 90, 120)];
  const booked = succeeded('Appointment', await book(proposed(patient, [first, second], { from: 60, to: 120 })));
  const move = { ...at('move', 'Appointment.slot'), source: { valueInteger: 1 }, destination: { valueInteger: 0 } };
  const response = await patch(booked.id ?? '', fhirPathPatch(move));
  expect(refusalOf(response)).toEqual([400, 'immutable-element Appointment.slot']);
  expect(await read(booked.id ?? '')).toEqual(booked);
});

const inBerlin = (instant: string) =>
  new Date(Date.parse(instant) + 3_600_000).toISOString().replace('.000Z', '+01:00');

it.each<[string, (slot: string, patient: string) => unknown]>([
  ['the same status', () => fhirPathPatch(replacing('Appointment.status', { valueCode: 'booked' }))],
  ['the same start', () => fhirPathPatch(replacing('Appointment.start', { valueInstant: minutes(0) }))],
  ['the same start, other offset', () => fhirPathPatch(replacing('start', { valueInstant: inBerlin(minutes(0)) }))],
  [
    'the same slot, absolute',
    (slot) => fhirPathPatch(replacing('Appointment.slot[0].reference', { valueString: `${base}/${slot}` })),
  ],
  [
    'the same patient, with a version',
    (_, patient) =>
      fhirPathPatch(replacing('Appointment.participant[0].actor.reference', { valueString: `${patient}/_history/1` })),
  ],
  [
    'changed and changed back',
    (slot) =>
      fhirPathPatch(
        replacing('Appointment.slot[0].reference', { valueString: 'Slot/another' }),
        replacing('Appointment.slot[0].reference', { valueString: slot }),
      ),
  ],
  ['a JSON Patch that only tests', () => [{ op: 'test', path: '/status', value: 'booked' }]],
])('a patch whose result is what is stored: %s: 200, the same version', async (_, body) => {
  const { slot, patient, id, booked } = await aBooking();
  const response = await patch(id, body(`Slot/${slot.id}`, `Patient/${patient.id}`));
  expect([response.status, response.body]).toEqual([200, booked]);
  expect(await read(id)).toEqual(booked);
});

describe('PATCH of an appointment', () => {
  it("unknown, and another requestor's: 404", async () => {
    const { id, booked } = await aBooking();
    for (const response of [await patch(randomUUID(), cancellation), await patch(id, cancellation, 'portal-b')]) {
      expect(response.status).toBe(404);
      expect(isActionable(response)).toBe(true);
    }
    expect(await read(id)).toEqual(booked);
  });

  it('deleted: 410', async () => {
    const { id } = await aBooking();
    expect((await patch(id, cancellation)).status).toBe(200);
    expect((await medplum('front-desk', 'DELETE', `/Appointment/${id}`)).status).toBe(200);
    expect((await patch(id, cancellation)).status).toBe(410);
  });

  it('If-Match with the current version: 200', async () => {
    const { id, booked } = await aBooking();
    const current = `W/"${booked.meta?.versionId}"`;
    expect((await patch(id, cancellation, 'portal-a', { 'if-match': current })).status).toBe(200);
  });

  it.each<[string, string, number, string]>([
    ['another version', 'W/"1"', 412, 'version-conflict http.If-Match'],
    ['an unquoted one', '1', 400, 'malformed-request http.If-Match'],
  ])('If-Match with %s: refused, nothing changed', async (_, ifMatch, status, issue) => {
    const { id, booked } = await aBooking();
    expect(refusalOf(await patch(id, cancellation, 'portal-a', { 'if-match': ifMatch }))).toEqual([status, issue]);
    expect(await read(id)).toEqual(booked);
  });

  it('of ten with the same If-Match at once one succeeds', async () => {
    const { id, booked } = await aBooking();
    const headers = { 'if-match': `W/"${booked.meta?.versionId}"` };
    const add = (text: string) => [{ op: 'add', path: '/comment', value: text }];
    const responses = await simultaneously(10, (index) => patch(id, add(`comment ${index}`), 'portal-a', headers));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(412)]);
  });

  it('without If-Match ten changes at once all come to be', async () => {
    const { id } = await aBooking({ reasonCode: [{ text: 'start' }] });
    const add = (text: string) => [{ op: 'add', path: '/reasonCode/-', value: { text } }];
    const responses = await simultaneously(4, (index) => patch(id, add(`reason ${index}`)));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await read(id)).reasonCode).toHaveLength(5);
  });
});
