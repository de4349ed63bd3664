import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { MedplumClient } from '@medplum/core';
import type { Extension, HealthcareService, OperationOutcome, Schedule, Slot } from '@medplum/fhirtypes';
import { handler as publishSlotsBot } from '../../../bots/calendar/publish-slots.ts';
import { handler as validatePolicyBot } from '../../../bots/calendar/validate-policy.ts';
import { handler as validateSlotBot } from '../../../bots/calendar/validate-slot.ts';
import type { Answer } from '../../../bots/lib/medplum.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { originOf } from '../booking/fixtures.ts';
import { later, withClock } from '../clock.ts';
import { config } from '../config.ts';
import { at, DAY, date, offering, open, type Stored, visit, withCalendars } from './fixtures.ts';

describe('validate slot', () => {
  const medplum = withCalendars();
  const outcome = { resourceType: 'OperationOutcome', issue: [] };
  const overtaken: Answer = { status: 412, body: outcome };

  /** A Slot that is about to be stored. */
  function aSlot({ id }: Stored<Schedule>, from: string, to: string, more: Partial<Slot> = {}): Slot {
    return {
      resourceType: 'Slot',
      schedule: { reference: `Schedule/${id}` },
      status: 'busy',
      start: from.length > 5 ? from : at(from),
      end: to.length > 5 ? to : at(to),
      ...more,
    };
  }

  const answerTo = (input: Slot, headers: Record<string, string> = {}) =>
    validateSlotBot(medplum().medplum, { input, headers } as Parameters<typeof validateSlotBot>[1]);

  /** What the guard answers: `true` if it allows the write, or codes with what they are about. */
  async function validate(input: Slot, headers?: Record<string, string>): Promise<true | string[]> {
    const answer = await answerTo(input, headers);
    return answer === true || answer.resourceType === 'Slot' ? true : codesIn(answer);
  }

  const codesIn = ({ issue }: OperationOutcome): string[] =>
    issue.map(({ details, expression }) => `${details?.coding?.[0]?.code} ${expression?.[0] ?? ''}`);

  const withheldUrl = artefactUri(config, 'LocalWithheld');

  /** The free Slots of a Schedule that are withheld: `09:00`. */
  async function withheld({ id }: Stored<Schedule>): Promise<string[]> {
    const slots = await medplum().find<Slot>(`Slot?schedule=Schedule/${id}&_count=100`);
    return slots
      .filter(({ extension = [] }) => extension.some(({ url }: Extension) => url === withheldUrl))
      .map(({ start }) => start.slice(11, 16))
      .sort();
  }

  /** A Schedule with free Slots of half an hour from 9 to 12. */
  async function offered(services: readonly HealthcareService[] = []): Promise<Stored<Schedule>> {
    const stored = await Promise.all(services.map((service) => medplum().create(service)));
    const schedule = await medplum().schedule({ serviceType: stored.map(offering) });
    for (const hour of ['09', '10', '11']) {
      await medplum().slot(schedule, 'free', `${hour}:00`, `${hour}:30`);
      await medplum().slot(schedule, 'free', `${hour}:30`, hour === '11' ? '12:00' : hour === '10' ? '11:00' : '10:00');
    }
    return schedule;
  }

  describe('a Slot that takes time', () => {
    it.each(['busy', 'busy-tentative', 'busy-unavailable'] as const)(
      'withholds the free Slots under it (%s)',
      async (status) => {
        const schedule = await offered();
        expect(await validate(aSlot(schedule, '09:45', '10:15', { status }))).toBe(true);
        expect(await withheld(schedule)).toEqual(['09:30', '10:00']);
      },
    );

    it.each(['deleted', 'lifted'] as const)('withholds nothing any more once it is %s', async (how) => {
      const schedule = await offered();
      const before = await medplum().slot(schedule, 'busy-unavailable', '14:00', '14:30');
      const block = { ...before, start: at('09:45'), end: at('10:15') };
      expect(await validate(block)).toBe(true);
      const other = aSlot(schedule, '11:00', '11:30', { status: 'busy-unavailable', id: 'other' });
      expect(await validate(other)).toBe(true);
      expect(await withheld(schedule)).toEqual(['09:30', '10:00', '11:00']);
      const stored = await medplum().change<Slot>(before, block);
      await (how === 'deleted' && medplum().fhir('DELETE', `Slot/${block.id}`));
      const input =
        how === 'deleted' ? { deletedResource: stored } : await medplum().change<Slot>(stored, { status: 'free' });
      await publishSlotsBot(medplum().medplum, { input } as Parameters<typeof publishSlotsBot>[1]);
      expect(await withheld(schedule)).toEqual(['11:00']);
    });

    it('withholds nothing of another Schedule', async () => {
      const [schedule, other] = [await offered(), await offered()];
      await validate(aSlot(schedule, '09:00', '12:00'));
      expect(await withheld(schedule)).toHaveLength(6);
      expect(await withheld(other)).toEqual([]);
    });

    it.each([
      ['the time after it, in which another one would prepare', { before: 30 }, ['10:00', '10:30']],
      ['the time before it, in which another one would tidy up', { after: 30 }, ['09:30', '10:00']],
      ['no more', {}, ['10:00']],
    ])('withholds what its buffers need: %s', async (_, buffers, expected) => {
      const schedule = await offered([visit(open('09:00', '12:00'), buffers)]);
      await validate(aSlot(schedule, '10:00', '10:30'));
      expect(await withheld(schedule)).toEqual(expected);
    });

    it('needs the longest buffers of all services', async () => {
      const hours = open('09:00', '12:00');
      const schedule = await offered([visit(hours, { before: 60 }), visit(hours, { before: 15, after: 30 })]);
      await validate(aSlot(schedule, '10:00', '10:30'));
      expect(await withheld(schedule)).toEqual(['09:30', '10:00', '10:30', '11:00']);
    });
  });

  describe('a Slot over booked time', () => {
    async function bookedOver(): Promise<Stored<Schedule>> {
      const schedule = await offered();
      await medplum().slot(schedule, 'busy', '09:00', '09:30');
      return schedule;
    }

    it.each(['busy', 'busy-tentative'] as const)('is refused, and nothing is withheld (%s)', async (status) => {
      const schedule = await bookedOver();
      const input = aSlot(schedule, '09:00', '10:00', { status });
      expect(await later(600_000, () => validate(input))).toEqual(['schedule-overbooked Slot']);
      expect(await withheld(schedule)).toEqual([]);
    });

    it.each<[string, Partial<Slot>]>([
      ['blocks it', { status: 'busy-unavailable' }],
      ['says that it overbooks', { extension: [{ url: artefactUri(config, 'LocalOverbooking'), valueBoolean: true }] }],
    ])('is allowed if it %s', async (_, more) => {
      const schedule = await bookedOver();
      expect(await validate(aSlot(schedule, '09:00', '10:00', more))).toBe(true);
      expect(await withheld(schedule)).toEqual(['09:00', '09:30']);
    });
  });

  describe('the marks of a Slot', () => {
    it('say that an offer was taken', async () => {
      const free = await medplum().slot(await medplum().schedule(), 'free', '09:00', '09:30');
      expect(await answerTo({ ...free, status: 'busy' })).toMatchObject({ identifier: [originOf(free)] });
    });
  });

  describe('a Slot that an appointment holds', () => {
    /** A Slot that is held, as it is stored. */
    async function held(status: 'booked' | 'cancelled' | 'proposed' = 'booked', extension: Extension[] = []) {
      const schedule = await medplum().schedule();
      const slot = await medplum().slot(schedule, 'busy', '09:00', '09:30');
      await medplum().appointment(status, [slot], { extension });
      return slot;
    }

    it.each<[string, Partial<Slot>, string[]]>([
      ['be free', { status: 'free' }, ['transition-not-allowed Slot.status']],
      ['begin at another time', { start: at('08:30') }, ['immutable-element Slot']],
    ])('cannot %s', async (_, changes, expected) => {
      const slot = await held();
      expect(await validate({ ...slot, ...changes })).toEqual(expected);
    });

    it('cannot be free beside another one of the same appointment', async () => {
      const [first, second] = [await held(), await held('cancelled')];
      await medplum().appointment('booked', [first, second]);
      for (const slot of [first, second]) {
        expect(await validate({ ...slot, status: 'free' })).toEqual(['transition-not-allowed Slot.status']);
      }
    });

    it('can be blocked', async () => {
      const slot = await held();
      expect(await validate({ ...slot, status: 'busy-unavailable' })).toBe(true);
    });

    it.each<[string, Parameters<typeof held>]>([
      ['was cancelled', ['cancelled']],
      [
        'is a hold that is over',
        [
          'proposed',
          [{ url: artefactUri(config, 'LocalHeldUntil'), valueInstant: date(-40).concat('T00:00:00.000Z') }],
        ],
      ],
    ])('can be free if it %s', async (_, given) => {
      const slot = await held(...given);
      expect(await validate({ ...slot, status: 'free' })).toBe(true);
    });

    it('can be deleted', async () => {
      const slot = await held();
      expect(await validate(slot, { 'X-Medplum-Deleted-Resource': 'true' })).toBe(true);
    });
  });

  describe('a Slot that takes no time', () => {
    it.each(['free', 'entered-in-error'] as const)('is not looked at if it is new (%s)', async (status) => {
      const schedule = await offered();
      expect(await validate(aSlot(schedule, '09:00', '10:00', { status }))).toBe(true);
    });
  });

  describe('free Slots that others change meanwhile', () => {
    it.each<[string, (slot: Slot) => Partial<Slot>, true | string[], string[]]>([
      ['changed', () => ({ comment: 'Room 5' }), true, ['09:00', '09:30']],
      [
        'booked',
        (slot) => ({ status: 'busy', identifier: [originOf(slot)], extension: [] }),
        ['schedule-overbooked Slot'],
        [],
      ],
    ])('are read again (%s)', async (_, changes, expected, left) => {
      const schedule = await offered();
      let isFirst = true;
      medplum().interfere(async ({ entries: [entry = ''] }) => {
        const slot = entry.startsWith('PUT Slot') && isFirst && (await medplum().read<Slot>(entry.slice(4)));
        if (slot) {
          isFirst = false;
          await medplum().change<Slot>(slot, changes(slot));
        }
        return undefined;
      });
      expect(await validate(aSlot(schedule, '09:00', '10:00'))).toEqual(expected);
      expect(await withheld(schedule)).toEqual(left);
    });

    it('are tried for four seconds', async () => {
      const schedule = await offered();
      await withClock(async (pass) => {
        medplum().interfere(({ entries: [entry = ''] }) => {
          if (!entry.startsWith('PUT Slot')) {
            return undefined;
          }
          pass(2_001);
          return overtaken;
        });
        expect(await validate(aSlot(schedule, '09:00', '10:00'))).toEqual(['booking-conflict Slot']);
      });
    });
  });

  it('a block of many weeks is looked at as a whole', async () => {
    const schedule = await offered();
    const [start, end] = [new Date(Date.parse(at('00:00')) - 30 * DAY), new Date(Date.parse(at('00:00')) + 30 * DAY)];
    const block = aSlot(schedule, start.toISOString(), end.toISOString(), { status: 'busy-unavailable' });
    expect(await validate(block)).toBe(true);
    expect(await withheld(schedule)).toHaveLength(6);
  });
});

describe('validate policy', () => {
  const validate = (input: object) =>
    validatePolicyBot({} as MedplumClient, { input } as Parameters<typeof validatePolicyBot>[1]);

  /** The codes and elements of the issues. */
  const issuesIn = (answer: true | OperationOutcome) =>
    answer === true
      ? []
      : answer.issue.map(({ details, expression }) => [details?.coding?.[0]?.code, expression?.[0]?.split(/[[.]/)[0]]);

  const leadTime = (valueDuration: Extension['valueDuration']): Extension => ({
    url: artefactUri(config, 'LocalBookingPolicy'),
    extension: [{ url: 'leadTime', valueDuration }],
  });

  const schedule = (...extension: readonly Extension[]): Schedule => ({
    resourceType: 'Schedule',
    actor: [],
    extension: [...extension],
  });

  const badHorizon = { planningHorizon: { start: '2031-02-01', end: '2031-01-01' } };

  describe('a Schedule or HealthcareService', () => {
    it.each([
      ['without a policy', schedule()],
      ['with a policy', schedule(leadTime({ value: 2, code: 'h' }))],
      ['with opening hours', visit()],
    ])('%s is allowed', async (_, resource) => {
      expect(await validate(resource)).toBe(true);
    });

    it('is refused with everything that is wrong', async () => {
      const answer = await validate({ ...schedule(leadTime({ value: -2, code: 'h' })), ...badHorizon });
      expect(answer).toMatchObject({ resourceType: 'OperationOutcome' });
      expect(issuesIn(answer)).toEqual([
        ['policy-invalid', 'Schedule'],
        ['opening-hours-invalid', 'Schedule'],
      ]);
    });

    it('is refused because of its policy or its opening hours alone', async () => {
      expect(issuesIn(await validate(schedule(leadTime({ value: 2, code: 'years' }))))).toHaveLength(1);
      expect(issuesIn(await validate({ ...schedule(), ...badHorizon }))).toHaveLength(1);
    });
  });
});
