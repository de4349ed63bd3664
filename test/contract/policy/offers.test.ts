import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { Bundle, Patient, Schedule, Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { alternativesIn } from '../alternatives/fixtures.ts';
import { aPatient, aSchedule, aSlot, book, parameters } from '../fixtures.ts';
import { issuesOf, medplum, request, resourceIn } from '../http.ts';
import type { Role } from '../installation.ts';
import { length, policy, whole } from './fixtures.ts';

const HOUR = 3_600_000;

/** A service of this test alone, so that no other test takes what a refusal proposes. */
const serviceType = [{ coding: [{ system: 'urn:services', code: randomUUID() }] }];

/** When a calendar is open for booking. */
const rules = {
  active: fc.constantFrom(true, true, true, false),
  leadTime: fc.option(fc.integer({ min: 0, max: 6 })),
  window: fc.option(fc.integer({ min: 7, max: 12 })),
};

/** A calendar: its rules, those that it has later, and what stands in it, by the hour from now. */
const calendar = fc.record({
  ...rules,
  later: fc.record(rules),
  slots: fc.uniqueArray(
    fc.record({
      hour: fc.integer({ min: -1, max: 14 }),
      status: fc.constantFrom<Slot['status']>('free', 'free', 'free', 'busy-unavailable'),
    }),
    { minLength: 2, maxLength: 5, selector: ({ hour }) => hour },
  ),
});

type Calendar = typeof calendar extends fc.Arbitrary<infer T> ? T : never;

function ruled({ active, leadTime, window }: Omit<Calendar, 'later' | 'slots'>): Partial<Schedule> {
  const parts = [
    ...(leadTime === null ? [] : [length('leadTime', leadTime, 'h')]),
    ...(window === null ? [] : [length('window', window, 'h')]),
  ];
  return { active, serviceType, ...(parts.length > 0 && policy(...parts)) };
}

async function build({ slots, later, ...first }: Calendar) {
  const schedule = await aSchedule(ruled(first));
  // Half an hour off the borders of policies, which move on while the test runs.
  const base = Date.now() + HOUR / 2;
  const made = await Promise.all(
    slots.map(({ hour, status }) => {
      const start = new Date(base + hour * HOUR).toISOString();
      const end = new Date(base + (hour + 0.5) * HOUR).toISOString();
      return aSlot(schedule, 0, 0, { status, start, end });
    }),
  );
  return { schedule, slots: made, later };
}

/** Every page of a search for the free slots of some schedules. */
async function offeredIn(schedules: readonly Schedule[], role: Role = 'portal-a'): Promise<(string | undefined)[]> {
  const named = schedules.map(({ id }) => `Schedule/${id}`).join(',');
  const found: (string | undefined)[] = [];
  let path: string | undefined = `/Slot?schedule=${named}&status=free&_sort=start&_count=3&_total=accurate`;
  let total: number | undefined;
  while (path) {
    const page: Bundle = resourceIn('Bundle', await request(role, 'GET', path));
    total ??= page.total;
    found.push(...(page.entry ?? []).map(({ resource }) => resource?.id));
    const next: string | undefined = page.link?.find(({ relation }) => relation === 'next')?.url;
    path = next?.slice(next.indexOf('/Slot'));
  }
  expect(total).toBe(found.length);
  return found;
}

const judge = (slot: Slot, patient: Patient, isDry: boolean) => {
  const body = parameters(whole(slot, patient, { serviceType }));
  return book({ ...body, parameter: [...body.parameter, { name: 'dry-run', valueBoolean: isDry }] });
};

it('what the search offers can be booked, what can be booked is offered, and what a refusal proposes can be booked', async () => {
  const patient = await aPatient();
  await fc.assert(
    fc.asyncProperty(fc.tuple(calendar, calendar), async (calendars) => {
      const built = await Promise.all(calendars.map(build));
      const slots = built.flatMap((one) => one.slots);
      const schedules = built.map(({ schedule }) => schedule);
      await Promise.all([offeredIn(schedules), offeredIn(schedules, 'portal-b')]);
      // Searches remember how they were narrowed before.
      await Promise.all(
        built.map(({ schedule: { extension: _, ...schedule }, later }) =>
          medplum('front-desk', 'PUT', `/Schedule/${schedule.id}`, { body: { ...schedule, ...ruled(later) } }),
        ),
      );
      const validated = await Promise.all(
        slots.map(async (slot) => ({ slot, answer: await judge(slot, patient, true) })),
      );
      const bookable = validated.filter(({ answer }) => answer.status === 200).map(({ slot }) => slot.id);
      expect((await offeredIn(schedules, 'portal-b')).sort()).toEqual(bookable.sort());
      expect((await offeredIn(schedules)).sort()).toEqual(bookable);
      for (const { slot, answer } of validated.filter((one) => one.answer.status !== 200)) {
        const booked = await judge(slot, patient, false);
        expect([booked.status, issuesOf(booked)]).toEqual([answer.status, issuesOf(answer)]);
        for (const proposal of alternativesIn(resourceIn('OperationOutcome', answer)).flat()) {
          const { start, end } = proposal;
          const body = parameters({
            ...whole(slot, patient, { serviceType }),
            start,
            end,
            slot: proposal.slots.map((reference) => ({ reference })),
          });
          const accepted = await book({
            ...body,
            parameter: [...body.parameter, { name: 'dry-run', valueBoolean: true }],
          });
          expect([accepted.status, accepted.status === 200 ? [] : issuesOf(accepted)]).toEqual([200, []]);
        }
      }
      const taken = slots.find(({ id }) => id === bookable[0]);
      if (taken) {
        expect((await judge(taken, patient, false)).status).toBe(201);
        expect((await offeredIn(schedules)).sort()).toEqual(bookable.slice(1));
      }
    }),
    { numRuns: 4 },
  );
});
