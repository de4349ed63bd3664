import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { until } from '../../lib/until.ts';
import {
  aClinic,
  aPatient,
  appointmentsOn,
  aSlot,
  book,
  parameters,
  proposed,
  simultaneously,
  stored,
} from '../fixtures.ts';
import { request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';
import { byHand, edit } from '../status/fixtures.ts';

const identifier = () => [{ system: 'urn:portal-a', value: randomUUID() }];

describe('retry by Appointment.identifier', () => {
  it('the same slots, time and patient: 200 with the existing appointment, unchanged', async () => {
    const { slot, patient } = await aClinic();
    const body = proposed(patient, [slot], { identifier: identifier() });
    const first = await book(body);
    const second = await book({ ...body, start: '2031-01-06T09:00:00+01:00' });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('etag')).toBe(first.headers.get('etag'));
    expect((await request('portal-a', 'GET', `/Appointment/${resourceIn('Appointment', first).id}`)).body).toEqual(
      first.body,
    );
    expect(await appointmentsOn(slot)).toHaveLength(1);
  });

  it('a new booking is answered 201 whatever tags it carries', async () => {
    const { slot, patient } = await aClinic();
    const tag = [{ system: `${config.profileBase}/CodeSystem/LocalBookingAnswer`, code: 'existing' }];
    expect((await book(proposed(patient, [slot], { meta: { tag } }))).status).toBe(201);
  });

  it('of a move, after the clinic has confirmed it: 200, still confirmed', async () => {
    const { schedule, slot, patient } = await aClinic(byHand);
    const later = await aSlot(schedule, 60, 90);
    const { id } = resourceIn('Appointment', await book(proposed(patient, [slot])));
    const move = proposed(patient, [later], { ...(id && { id }), from: 60, to: 90, identifier: identifier() });
    expect((await book(move)).status).toBe(202);
    expect((await edit(id ?? '', { status: 'booked' })).status).toBe(200);
    const again = await book(move);
    expect([again.status, resourceIn('Appointment', again).status]).toEqual([200, 'booked']);
    const changed = await book({ ...move, comment: 'By the lift, please' });
    expect([changed.status, resourceIn('Appointment', changed).status]).toEqual([202, 'pending']);
  });

  it('many at the same moment: one booking, and all responses name it', async () => {
    const { slot, patient } = await aClinic();
    const body = proposed(patient, [slot], { identifier: identifier() });
    const answers = await simultaneously(12, () => book(body));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array.from({ length: 11 }, () => 200), 201]);
    expect(new Set(answers.map((answer) => resourceIn('Appointment', answer).id)).size).toBe(1);
    expect(await appointmentsOn(slot)).toHaveLength(1);
  });

  it('while it is pending: 202 with the existing appointment', async () => {
    const extension = [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: 'manual' }];
    const { slot, patient } = await aClinic({ extension });
    const body = proposed(patient, [slot], { identifier: identifier() });
    const [first, second] = [await book(body), await book(body)];
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body).toEqual(first.body);
  });

  it('with the patient handed over again: no second patient', async () => {
    const { slot } = await aClinic();
    const value = randomUUID();
    const patient = { resourceType: 'Patient', name: [{ family: 'Retry', given: [value] }] };
    const body = parameters(
      { ...proposed({ resourceType: 'Patient' }, [slot], { identifier: identifier() }), participant: undefined },
      ['patient', patient],
    );
    const [first, second] = [await book(body), await book(body)];
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(await stored('Patient', `given=${value}`)).toHaveLength(1);
  });

  it('of what was cancelled meanwhile is another booking', async () => {
    const { slot, patient } = await aClinic();
    const body = proposed(patient, [slot], { identifier: identifier() });
    const { id = '' } = resourceIn('Appointment', await book(body));
    expect((await edit(id, { status: 'cancelled' })).status).toBe(200);
    const again = await until(
      () => book(body),
      ({ status }) => status !== 409,
    );
    expect([again.status, resourceIn('Appointment', again).id === id]).toEqual([201, false]);
  });

  it('for another time or by another requestor it is another booking', async () => {
    const { slot, patient } = await aClinic({}, { end: '2031-01-06T12:00:00Z' });
    const body = proposed(patient, [slot], { identifier: identifier() });
    expect((await book(body)).status).toBe(201);
    const mine = await aPatient('portal-b');
    const byOther = await book({ ...proposed(mine, [slot], { identifier: body.identifier ?? [] }) }, 'portal-b');
    expect(byOther.status).toBe(409);
    expect((await book({ ...body, start: '2031-01-06T09:00:00Z', end: '2031-01-06T09:30:00Z' })).status).toBe(201);
  });
});
