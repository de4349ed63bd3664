import { describe, expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { slotEntries } from '../../../../core/booking/slots/synchronize.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import type { SlotUse } from '../../../../core/slots/slot-use.ts';
import { appointment, at, config, now, slot } from '../support.ts';

const originSystem = artefactUri(config, 'LocalSlotOrigin');
const piece = (origin: string): Partial<Slot> => ({ identifier: [{ system: originSystem, value: origin }] });
const with_ = (status: Appointment['status']): Appointment => appointment({ id: 'a', status });

/** What is written of the slots: `status start-end`. */
function written(
  given: Appointment,
  slots: readonly Slot[],
  lost: readonly Slot[] = [],
  uses: [string, SlotUse][] = [],
) {
  let count = 0;
  const entries = slotEntries(
    given,
    { slots, uses: new Map(uses), schedules: [], lost },
    config,
    () => `urn:uuid:${count++}`,
    now,
  );
  return entries.map(({ request, resource }) => {
    const found = isResource(resource, 'Slot') ? resource : undefined;
    return `${request?.method} ${found?.status} ${found?.start.slice(11, 16)}-${found?.end.slice(11, 16)}`;
  });
}

describe('slots that follow their appointment', () => {
  it.each<[Appointment['status'], Slot['status'], string[]]>([
    ['pending', 'free', ['PUT busy-tentative 09:00-09:30']],
    ['booked', 'busy-tentative', ['PUT busy 09:00-09:30']],
    ['booked', 'free', ['PUT busy 09:00-09:30']],
    ['booked', 'busy', []],
    ['arrived', 'busy-tentative', ['PUT busy 09:00-09:30']],
    ['fulfilled', 'busy', []],
    ['noshow', 'busy', []],
    ['proposed', 'free', []],
    ['cancelled', 'busy', ['PUT free 09:00-09:30']],
    ['cancelled', 'busy-tentative', ['PUT free 09:00-09:30']],
    ['cancelled', 'free', []],
    ['cancelled', 'busy-unavailable', []],
    ['entered-in-error', 'busy', ['PUT free 09:00-09:30']],
  ])('%s, the slot is %s', (status, slotStatus, expected) => {
    expect(written(with_(status), [slot('nine', '09:00', '09:30', { status: slotStatus, ...piece('nine') })])).toEqual(
      expected,
    );
  });

  it.each<[Appointment['status'], Slot['status'], SlotUse, string[]]>([
    ['cancelled', 'busy', 'held', []],
    ['cancelled', 'busy', 'confirmed', []],
    ['cancelled', 'busy', 'requested', ['PUT busy-tentative 09:00-09:30']],
    ['cancelled', 'busy-tentative', 'confirmed', ['PUT busy 09:00-09:30']],
    ['cancelled', 'busy', 'given-back', ['PUT free 09:00-09:30']],
    ['booked', 'busy-tentative', 'requested', ['PUT busy 09:00-09:30']],
    ['pending', 'busy-tentative', 'confirmed', ['PUT busy 09:00-09:30']],
    ['pending', 'busy', 'requested', []],
    ['proposed', 'busy-tentative', 'confirmed', []],
  ])('%s, the slot is %s, and for another appointment %s', (status, slotStatus, use, expected) => {
    const shared = slot('nine', '09:00', '09:30', { status: slotStatus, ...piece('nine') });
    expect(written(with_(status), [shared], [], [['nine', use]])).toEqual(expected);
  });

  it('are joined to whole time when they become free', () => {
    const slots = [
      slot('nine', '09:00', '09:30', { status: 'busy', ...piece('nine') }),
      slot('rest', '09:30', '12:00', piece('nine')),
    ];
    expect(written(with_('cancelled'), slots)).toEqual(['PUT free 09:00-12:00', 'PUT entered-in-error 09:30-12:00']);
  });

  it('are offered anew once if they were deleted after they had been offered', () => {
    const lost = slot('nine', '09:00', '09:30', { status: 'busy', ...piece('nine') });
    expect(written(with_('cancelled'), [], [lost])).toEqual(['POST free 09:00-09:30']);
    const [entry] = slotEntries(
      with_('cancelled'),
      { slots: [], uses: new Map(), schedules: [], lost: [lost] },
      config,
      () => 'urn:uuid:1',
      now,
    );
    expect(entry?.request?.ifNoneExist).toBe(new URLSearchParams({ _tag: `${originSystem}|nine` }).toString());
    const made = entry?.resource;
    const again = isResource(made, 'Slot') ? [{ ...made, id: 'new' }] : [];
    expect(written(with_('cancelled'), again, [lost])).toEqual([]);
  });

  it('are not offered anew if they were published: the publication does that', () => {
    const value = `offer/1/service/${at('09:00')}/1`;
    const identifier = [{ system: artefactUri(config, 'LocalPublishedSlot'), value }];
    const lost = slot('nine', '09:00', '09:30', { status: 'busy', identifier });
    expect(written(with_('cancelled'), [], [lost])).toEqual([]);
  });

  it('never lose or double a minute', () => {
    const status = fc.constantFrom<Slot['status']>('free', 'busy', 'busy-tentative');
    const given = fc.constantFrom<Appointment['status']>('pending', 'booked', 'cancelled', 'fulfilled');
    fc.assert(
      fc.property(fc.array(status, { minLength: 1, maxLength: 5 }), given, (states, appointmentStatus) => {
        const clock = (half: number): string => new Date((16 + half) * 1_800_000).toISOString().slice(11, 16);
        const slots = states.map((one, index) =>
          slot(index === 0 ? 'nine' : `p${index}`, clock(index), clock(index + 1), {
            status: one,
            ...piece('nine'),
          }),
        );
        const entries = slotEntries(
          { ...with_(appointmentStatus), start: slots[0]?.start, end: slots[0]?.end },
          { slots, uses: new Map(), schedules: [], lost: [] },
          config,
          () => 'urn:uuid:x',
          now,
        );
        const after = new Map(slots.map((one) => [one.id, one]));
        for (const { resource } of entries) {
          if (isResource(resource, 'Slot')) {
            after.set(resource.id, resource);
          }
        }
        const minutes = (all: Iterable<Slot>) =>
          [...all]
            .filter((one) => one.status !== 'entered-in-error')
            .reduce((sum, { start, end }) => sum + Date.parse(end) - Date.parse(start), 0);
        expect(minutes(after.values())).toBe(minutes(slots));
      }),
    );
  });
});

it('a slot that replaces a lost one is created once, and no other slot is marked', () => {
  const given = appointment({
    id: 'a',
    status: 'cancelled',
    slot: [{ reference: 'Slot/lost' }, { reference: 'Slot/ten' }],
  });
  const lost = slot('lost', '09:00', '09:30', { status: 'busy', ...piece('lost') });
  const ten = slot('ten', '10:00', '10:30', { status: 'busy', ...piece('ten') });
  const related = { slots: [ten], uses: new Map(), schedules: [], lost: [lost] };
  const entries = slotEntries(given, related, config, () => 'urn:uuid:1', now);
  const found = entries.map(({ request, resource }) => [
    request?.method,
    request?.ifNoneExist !== undefined,
    (resource?.meta?.tag ?? []).map(({ code }) => code),
  ]);
  expect(found.sort()).toEqual([
    ['POST', true, ['lost']],
    ['PUT', false, []],
  ]);
});
