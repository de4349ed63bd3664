import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { aClinic, aPatient, appointmentsOn, aSlot, book, parameters, proposed, slotsOf, stored } from '../fixtures.ts';
import { hold } from '../holds/fixtures.ts';
import { issuesOf, resourceIn } from '../http.ts';
import { aBooking } from '../patch/fixtures.ts';
import { aPolicedClinic, count, whole } from '../policy/fixtures.ts';
import { timesIn } from './fixtures.ts';

const dryRun = { name: 'dry-run', valueBoolean: true };

const dry = (appointment: Appointment) => {
  const body = parameters(appointment);
  return { ...body, parameter: [...body.parameter, dryRun] };
};

/** The severities and codes of an outcome. */
const informed = (answer: Parameters<typeof issuesOf>[0]) =>
  resourceIn('OperationOutcome', answer).issue.map(({ severity, code }) => `${severity} ${code}`);

describe('$book with dry-run', () => {
  it('of what would be booked: 200, informational, and nothing is written', async () => {
    const { schedule, slot, patient } = await aClinic();
    const answer = await book(dry(proposed(patient, [slot])));
    expect([answer.status, informed(answer)]).toEqual([200, ['information informational']]);
    expect(answer.headers.get('location')).toBeNull();
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
    expect(await appointmentsOn(slot)).toEqual([]);
    expect((await book(proposed(patient, [slot]))).status).toBe(201);
  });

  it('of what would be refused: the very refusal', async () => {
    const { schedule, slot, patient } = await aBooking();
    await aSlot(schedule, 60, 90);
    const stranger = await aPatient('portal-b');
    for (const body of [proposed(patient, [slot]), proposed(stranger, [slot], { start: 'today' })]) {
      const [judged, booked] = [await book(dry(body)), await book(parameters(body))];
      expect([judged.status, issuesOf(judged), timesIn(judged)]).toEqual([
        booked.status,
        issuesOf(booked),
        timesIn(booked),
      ]);
      expect(judged.status).toBeGreaterThanOrEqual(400);
    }
  });

  it('of a move and of a request that was carried out: 200, and the appointment stays as it is', async () => {
    const { schedule, booked, patient, id } = await aBooking({ identifier: [{ system: 'urn:dry', value: '1' }] });
    const later = await aSlot(schedule, 60, 90);
    expect((await book(dry(proposed(patient, [later], { id, from: 60, to: 90 })))).status).toBe(200);
    const [now] = await stored('Appointment', `_id=${id}`);
    expect(now?.meta?.versionId).toBe(booked.meta?.versionId);
    expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'free 60-90']);
  });

  it('uses up no quota, and makes no row for one', async () => {
    const { slot, patient } = await aPolicedClinic(5, count('maxOpenPerPatient', 1));
    const rows = async () => (await stored('Task', `_sort=-_lastUpdated&code=quota`)).length;
    const before = await rows();
    expect((await book(dry(whole(slot, patient)))).status).toBe(200);
    expect((await book(dry(whole(slot, patient)))).status).toBe(200);
    expect(await rows()).toBe(before);
    expect((await book(whole(slot, patient))).status).toBe(201);
  });

  it('with respond-async is answered at once', async () => {
    const { slot, patient } = await aClinic();
    const answer = await book(dry(proposed(patient, [slot])), 'portal-a', { prefer: 'respond-async' });
    expect([answer.status, answer.headers.get('content-location')]).toEqual([200, null]);
  });

  it('that is false books, and that is no boolean is refused: 400', async () => {
    const { slot, patient } = await aClinic();
    const body = parameters(proposed(patient, [slot]));
    const wrong = await book({ ...body, parameter: [...body.parameter, { name: 'dry-run', valueString: 'yes' }] });
    expect([wrong.status, issuesOf(wrong)]).toEqual([400, ['malformed-request Parameters.parameter[1]']]);
    const twice = await book({ ...body, parameter: [...body.parameter, dryRun, dryRun] });
    expect([twice.status, issuesOf(twice)]).toEqual([400, ['malformed-request Parameters.parameter[2].valueBoolean']]);
    const books = await book({ ...body, parameter: [...body.parameter, { ...dryRun, valueBoolean: false }] });
    expect(books.status).toBe(201);
  });
});

it('$hold with dry-run holds nothing', async () => {
  const { schedule, slot, patient } = await aClinic();
  const answer = await hold(dry(proposed(patient, [slot])));
  expect([answer.status, informed(answer)]).toEqual([200, ['information informational']]);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});
