import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { resolveConfig } from '../../core/config/resolve.ts';
import { offersOn, workingDays } from '../../scripts/demo/calendar.ts';
import { demoSchedules } from '../../scripts/demo/clinic.ts';
import { demoSlots } from '../../scripts/demo/slots.ts';

const config = resolveConfig({ baseUrl: 'http://localhost:8080/fhir/R4' });
const saturday = new Date(2026, 10, 21, 15, 30).getTime();
const instants = fc.integer({ min: Date.UTC(2026, 0), max: Date.UTC(2040, 0) });

test('two weeks from tomorrow have ten working days, none of them today or at a weekend', () => {
  fc.assert(
    fc.property(instants, (now) => {
      const days = workingDays(now);
      expect(days).toHaveLength(10);
      for (const day of days) {
        expect(day.getTime()).toBeGreaterThan(now);
        expect([1, 2, 3, 4, 5]).toContain(day.getDay());
        expect([day.getHours(), day.getMinutes()]).toEqual([0, 0]);
      }
    }),
  );
});

test('the days after a Saturday begin on Monday', () => {
  expect(workingDays(saturday)[0]).toEqual(new Date(2026, 10, 23));
});

test('offers follow each other without a gap', () => {
  const offers = offersOn(new Date(2026, 10, 23), { from: 8, to: 10, minutes: 30 });
  expect(offers.map(({ start }) => new Date(start))).toEqual([
    new Date(2026, 10, 23, 8),
    new Date(2026, 10, 23, 8, 30),
    new Date(2026, 10, 23, 9),
    new Date(2026, 10, 23, 9, 30),
  ]);
  expect(offers.slice(1).map(({ start }) => start)).toEqual(offers.slice(0, -1).map(({ end }) => end));
});

test('hours without a length are one offer', () => {
  const [offer, ...others] = offersOn(new Date(2026, 10, 23), { from: 13, to: 17 });
  expect(others).toEqual([]);
  expect((offer?.end ?? 0) - (offer?.start ?? 0)).toBe(4 * 3_600_000);
});

test.each(demoSchedules)('the slots of $key are free, of their own, and do not overlap', (schedule) => {
  const slots = demoSlots(config, { ...schedule, reference: 'Schedule/1' }, saturday);
  expect(new Set(slots.map(({ identifier }) => identifier?.[0]?.value)).size).toBe(slots.length);
  expect(slots.every(({ status, schedule: { reference } }) => status === 'free' && reference === 'Schedule/1')).toBe(
    true,
  );
  slots.slice(1).forEach(({ start }, index) => {
    expect(Date.parse(start)).toBeGreaterThanOrEqual(Date.parse(slots[index]?.end ?? ''));
  });
});

test('the CT has one long slot every afternoon', () => {
  const ct = demoSchedules.find(({ service }) => service === 'CT');
  const slots = ct ? demoSlots(config, { ...ct, reference: 'Schedule/1' }, saturday) : [];
  const long = slots.filter(({ start, end }) => Date.parse(end) - Date.parse(start) === 4 * 3_600_000);
  expect(long).toHaveLength(10);
});
