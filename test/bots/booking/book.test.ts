import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import { handler as book } from '../../../bots/booking/book.ts';
import { handler as hold } from '../../../bots/booking/hold.ts';
import { ANSWER_HEADER, AS_PARAMETERS, askForTurn, OFFERING_A_TURN } from '../../../core/booking/book/answer.ts';
import { withMedplum } from '../medplum.ts';
import { asks, bookable, eventOf, only, overtaken, policy, proposed } from './fixtures.ts';

const medplum = withMedplum();

const setting = (schedule = {}) => bookable(medplum(), schedule);

const asParameters = { [ANSWER_HEADER]: AS_PARAMETERS };

describe.each([
  ['$book', book, 'booked'],
  ['$hold', hold, 'proposed'],
] as const)('%s', (_, bot, status) => {
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

  it('does nothing for nobody', async () => {
    const { patient, slot } = await setting();
    await expect(bot(medplum().medplum, eventOf(proposed(patient, [slot])))).rejects.toThrow('does not identify');
  });
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
