import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient, Slot } from '@medplum/fhirtypes';
import { bookAppointment } from '../../../bots/lib/booking/book.ts';
import type { Unanswered } from '../../../bots/lib/medplum.ts';
import { parseBookRequest } from '../../../core/booking/book/request/request.ts';
import { timeLimits } from '../../../core/config/time-limits.ts';
import { told } from '../../lib/told.ts';
import { config } from '../config.ts';
import { type Asked, withMedplum } from '../medplum.ts';
import { asks, bookable, only, overtaken, type Portal, policy, proposed, requestorOf, writes } from './fixtures.ts';

const medplum = withMedplum();

describe('book', () => {
  const setting = (schedule = {}) => bookable(medplum(), schedule);

  /** What a booking is made of. */
  interface Setting {
    readonly portal: Portal;
    readonly patient: Patient;
    readonly slot: Slot;
  }

  const identifier = [{ system: 'urn:portal', value: 'one' }];

  const book = (
    { portal, patient, slot }: Setting,
    more: Partial<Appointment> = {},
    options: Parameters<typeof bookAppointment>[3] = {},
  ) => {
    const request = parseBookRequest(proposed(patient, [slot], more), config);
    return bookAppointment(medplum().medplum, request, requestorOf(portal), options);
  };

  const issuesIn = (result: Awaited<ReturnType<typeof book>>) => (result.kind === 'refused' ? told(result.issues) : []);

  describe('a write that fails', () => {
    it('is not tried again when the gateway does not wait any more', async () => {
      const given = await setting();
      const { now } = Date;
      medplum().interfere((asked) => {
        if (!writes(asked)) {
          return undefined;
        }
        Date.now = () => now() + timeLimits(config).decide + 1;
        return overtaken();
      });
      try {
        expect(issuesIn(await book(given))).toEqual(['booking-conflict']);
      } finally {
        Date.now = now;
      }
    });

    it('because the slot was just taken is refused as such', async () => {
      const given = await setting();
      medplum().interfere(
        only(writes, async () => {
          await medplum().change(given.slot, { status: 'busy' });
          return undefined;
        }),
      );
      expect(issuesIn(await book(given))).toEqual(['slot-not-free Appointment.slot[0]']);
    });

    it.each([[undefined], [[]]])('without showing the appointment may have been carried out (%j)', async (entry) => {
      const given = await setting();
      medplum().interfere((asked) =>
        writes(asked)
          ? { status: 200, body: { resourceType: 'Bundle', type: 'transaction-response', entry } }
          : undefined,
      );
      const result = await book(given);
      expect(issuesIn(result)).toEqual(['upstream-unavailable']);
      expect(result).toMatchObject({ issues: [{ diagnostics: expect.stringContaining('Appointment.identifier') }] });
    });
  });

  describe('an answer that is lost', () => {
    const lost = async ({ bundle }: Asked): Promise<Unanswered> => {
      // It is carried out all the same.
      const { entry = [] } = bundle ?? {};
      await medplum().transaction(entry);
      return 'no-answer';
    };

    it.each([
      ['an identifier', identifier],
      ['one identifier that has a value', [{ system: 'urn:portal' }, ...identifier]],
    ])('leads to the appointment if it has %s', async (_, identifiers) => {
      const given = await setting();
      medplum().interfere(only(writes, lost));
      expect(await book(given, { identifier: identifiers })).toMatchObject({
        kind: 'existing',
        appointments: [{ status: 'booked' }],
      });
    });

    it.each([
      ['no identifier', {}],
      ['an identifier without a value', { identifier: [{ system: 'urn:portal' }] }],
    ])('of a booking with %s is told: sent again, it could book twice', async (_, more) => {
      const given = await setting();
      medplum().interfere(only(writes, () => 'no-answer'));
      const result = await book(given, more);
      expect(result).toMatchObject({ issues: [{ diagnostics: expect.stringContaining('may have been stored') }] });
    });

    it('is told in the end, too, if others were faster afterwards', async () => {
      const given = await setting();
      let attempts = 0;
      medplum().interfere((asked) => {
        attempts += writes(asked) ? 1 : 0;
        return writes(asked) ? (attempts === 1 ? 'too-late' : overtaken()) : undefined;
      });
      const result = await book(given, { identifier });
      expect(result).toMatchObject({ issues: [{ diagnostics: expect.stringContaining('may have been stored') }] });
      expect(issuesIn(result)).toEqual(['upstream-timeout']);
    });

    it('is of no interest any more once another reason speaks against the booking', async () => {
      const given = await setting();
      medplum().interfere(
        only(writes, async (): Promise<Unanswered> => {
          await medplum().change(given.slot, { status: 'busy' });
          return 'no-answer';
        }),
      );
      expect(issuesIn(await book(given, { identifier }))).toEqual(['slot-not-free Appointment.slot[0]']);
    });
  });

  describe('turns', () => {
    const counted = { extension: [policy({ maxPerPortalAndDay: 5 })] };
    const once = () => medplum().interfere(only((asked) => asks(/^P.* Appointment/)(asked), overtaken));

    it('are asked for where a quota counts the bookings and they are offered', async () => {
      const given = await setting(counted);
      once();
      const result = await book(given, {}, { isTurnOffered: true });
      expect(result).toMatchObject({ kind: 'refused', isOutOfTurn: true });
      expect(issuesIn(result)).toEqual(['booking-conflict']);
    });

    it.each([
      ['that are not offered', counted, {}],
      ['where no quota counts', {}, { isTurnOffered: true }],
    ])('%s are not asked for', async (_, schedule, options) => {
      const given = await setting(schedule);
      once();
      expect(await book(given, {}, options)).toMatchObject({ kind: 'booked' });
    });

    it('are not asked for when an answer is lost', async () => {
      const given = await setting(counted);
      medplum().interfere(only(asks(/^POST Appointment/), () => 'no-answer'));
      expect(await book(given, { identifier }, { isTurnOffered: true })).toMatchObject({ kind: 'booked' });
    });
  });
});
