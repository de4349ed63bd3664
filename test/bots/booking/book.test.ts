import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { handler as book } from '../../../bots/booking/book.ts';
import { handler as hold } from '../../../bots/booking/hold.ts';
import {
  ANSWER_HEADER,
  AS_PARAMETERS,
  askForTurn,
  OFFERING_A_TURN,
  VERSION_HEADER,
  wouldBeCarriedOut,
} from '../../../core/booking/book/answer.ts';
import { withMedplum } from '../medplum.ts';
import {
  aPortal,
  aSlot,
  asks,
  bookable,
  booked,
  eventOf,
  only,
  overtaken,
  parameters,
  policy,
  problems,
  proposed,
} from './fixtures.ts';

const medplum = withMedplum();

const setting = (schedule = {}) => bookable(medplum(), schedule);

const asParameters = { [ANSWER_HEADER]: AS_PARAMETERS };
const dry = (resource: Appointment) =>
  parameters({ name: 'appt-resource', resource }, { name: 'dry-run', valueBoolean: true });

describe.each([
  ['$book', book, 'booked'],
  ['$hold', hold, 'proposed'],
] as const)('%s', (_, bot, status) => {
  it('answers with the appointment', async () => {
    const { portal, patient, slot } = await setting();
    const answer = await bot(medplum().medplum, eventOf(proposed(patient, [slot]), portal));
    expect(answer).toMatchObject({ resourceType: 'Appointment', status, slot: [{ reference: `Slot/${slot.id}` }] });
  });

  it('tells the gateway whether it had carried the request out before', async () => {
    const { portal, patient, slot } = await setting();
    const event = eventOf(proposed(patient, [slot], { identifier: [{ value: 'one' }] }), portal, asParameters);
    const answers = [await bot(medplum().medplum, event), await bot(medplum().medplum, event)];
    expect(answers).toMatchObject(
      [false, true].map((valueBoolean) => ({
        parameter: [
          { name: 'return', resource: { status } },
          { name: 'existing', valueBoolean },
        ],
      })),
    );
  });

  it('answers a dry run with what would come of it', async () => {
    const { portal, patient, slot } = await setting();
    const body = dry(proposed(patient, [slot]));
    expect(await bot(medplum().medplum, eventOf(body, portal))).toEqual(wouldBeCarriedOut);
    expect(await bot(medplum().medplum, eventOf(body, portal, asParameters))).toEqual({
      resourceType: 'Parameters',
      parameter: [{ name: 'dry-run', resource: wouldBeCarriedOut }],
    });
  });

  it('refuses what is taken or cannot be read', async () => {
    const portal = await aPortal(medplum());
    const { patient, slot } = await booked(medplum(), portal);
    const answer = await bot(medplum().medplum, eventOf(proposed(patient, [slot]), portal));
    expect([answer.id, ...problems(answer)]).toEqual(['conflict', 'slot-not-free Appointment.slot[0]']);
    const malformed = await bot(medplum().medplum, eventOf({ resourceType: 'Parameters' }, portal));
    expect([malformed.id, ...problems(malformed)]).toEqual(['bad-request', 'malformed-request Parameters.parameter']);
  });

  it('does nothing for nobody', async () => {
    const { patient, slot } = await setting();
    await expect(bot(medplum().medplum, eventOf(proposed(patient, [slot])))).rejects.toThrow('does not identify');
  });
});

it('a hold needs no patient', async () => {
  const { portal, patient, slot } = await setting();
  const { participant: _, ...body } = proposed(patient, [slot]);
  expect(await hold(medplum().medplum, eventOf(body, portal))).toMatchObject({ status: 'proposed' });
});

it('an appointment is moved only from the version that the caller knows', async () => {
  const portal = await aPortal(medplum());
  const { appointment, patient, schedule } = await booked(medplum(), portal);
  const next = await aSlot(medplum(), schedule, '10:00', '10:30');
  const body = proposed(patient, [next], { id: appointment.id });
  const refused = await book(medplum().medplum, eventOf(body, portal, { [VERSION_HEADER]: 'older' }));
  expect([refused.id, ...problems(refused)]).toEqual(['precondition-failed', 'version-conflict Appointment.id']);
  const headers = { [VERSION_HEADER]: appointment.meta?.versionId ?? '' };
  const moved = await book(medplum().medplum, eventOf(body, portal, headers));
  expect(moved).toMatchObject({ id: appointment.id, start: next.start });
});

it.each([
  [OFFERING_A_TURN, askForTurn],
  [AS_PARAMETERS, { parameter: [{ name: 'return' }, { name: 'existing' }] }],
])('a booking that a quota counts asks for a turn if the gateway offers one (%s)', async (header, expected) => {
  const { portal, patient, slot } = await setting({ extension: [policy({ maxPerPortalAndDay: 5 })] });
  medplum().interfere(only(asks(/^POST Appointment/), overtaken));
  const event = eventOf(proposed(patient, [slot]), portal, { [ANSWER_HEADER]: header });
  expect(await book(medplum().medplum, event)).toMatchObject(expected);
});
