import { describe, expect, it, test } from '@jest/globals';
import type { Appointment, Schedule, Task } from '@medplum/fhirtypes';
import { parseAbsenceRequest } from '../../../core/absence/request.ts';
import {
  type Absence,
  absenceResponse,
  absenceRow,
  type Entry,
  newAffected,
  withStatus,
} from '../../../core/absence/rows.ts';
import { loadConfig } from '../../../scripts/cli/load-config.ts';
import {
  absenceIn,
  absencesIn,
  announcement,
  concernedIn,
  confirmation,
  countsOf,
  ending,
  inOrderOfTime,
  isSameTime,
  linesOf,
  possibleSubstitutes,
  usualPeriod,
} from '../absence/absences.ts';

const config = loadConfig();
const now = Date.parse('2027-01-04T10:00:00Z');
const HOUR = 3_600_000;

const proposal = (start: number) => ({ schedule: 'b', slots: ['s'], start, end: start + HOUR });
const planned = (appointment: string, start?: number): Entry => ({
  appointment,
  reach: 'portal',
  proposal: start === undefined ? undefined : proposal(start),
});
const absence: Absence = {
  schedules: ['a'],
  substitutes: ['b'],
  period: { start: now, end: now + 10 * HOUR },
  reason: 'ill',
  blocks: ['block'],
  plan: [planned('late', now + 3 * HOUR), planned('early')],
  silence: undefined,
};
const row = (id: string, status: 'draft' | 'in-progress', more: Partial<Absence> = {}): Task => ({
  ...absenceRow({ ...absence, ...more }, status, now, config),
  id,
});
const affected = (appointment: string, parent = 'one'): Task =>
  newAffected(planned(appointment, now), undefined, { silence: 'keep' }, parent, now, config);
const appointment = (id: string, start: number): Appointment => ({
  resourceType: 'Appointment',
  id,
  status: 'booked',
  start: new Date(start).toISOString(),
  end: new Date(start + HOUR).toISOString(),
  participant: [],
});

describe('what the Tasks say of absences', () => {
  it('shows what is open, the earliest first, without plans that came too late', () => {
    const found = [
      row('later', 'draft', { period: { start: now + HOUR, end: now + 2 * HOUR } }),
      row('now', 'in-progress'),
      row('missed', 'draft', { period: { start: now - 2 * HOUR, end: now } }),
      affected('early'),
      null,
    ];
    expect(absencesIn(found, now, config).map(({ id, isConfirmed }) => [id, isConfirmed])).toEqual([
      ['now', true],
      ['later', false],
    ]);
  });

  it('knows how it stands with each appointment, once', () => {
    const [draft, confirmed] = [row('one', 'draft'), row('one', 'in-progress')].map(
      (task) => absencesIn([task], now, config)[0],
    );
    if (!draft || !confirmed) {
      throw new Error('There is no absence.');
    }
    expect(linesOf(draft, []).map(({ step }) => step)).toEqual(['planned', 'planned']);
    const rows = [
      affected('early'),
      withStatus(affected('asked'), 'offered', { offer: 'Appointment/offer' }),
      withStatus(affected('moved'), 'moved'),
      withStatus(affected('declined'), 'declined'),
      withStatus(affected('call'), 'call'),
      { ...withStatus(affected('called'), 'call'), status: 'completed' as const },
      withStatus(affected('over'), 'over'),
      affected('foreign', 'other'),
    ];
    const lines = linesOf(confirmed, rows);
    expect(lines.map((line) => [line.appointment, line.step])).toEqual([
      ['late', 'waiting'],
      ['early', 'waiting'],
      ['asked', 'offered'],
      ['moved', 'moved'],
      ['declined', 'declined'],
      ['call', 'call'],
      ['called', 'called'],
      ['over', 'over'],
    ]);
    expect(countsOf(lines)).toEqual({ waiting: 3, moved: 1, declined: 1, call: 1, done: 2 });
  });

  it('lists appointments in the order of time, and knows what is at the same time', () => {
    const [open] = absencesIn([row('one', 'draft')], now, config);
    const known = concernedIn([appointment('late', now + 3 * HOUR), appointment('early', now + HOUR)]);
    const lines = inOrderOfTime(open ? linesOf(open, []) : [], known);
    expect(lines.map((line) => [line.appointment, isSameTime(line, known.appointments.get(line.appointment))])).toEqual(
      [
        ['early', false],
        ['late', true],
      ],
    );
  });
});

test('what is sent is what the service reads', () => {
  const [said] = absencesIn([row('one', 'draft')], now, config);
  if (!said) {
    throw new Error('There is no absence.');
  }
  const read = (body: unknown) => parseAbsenceRequest(body, now, config);
  const all = [announcement(said), confirmation(said, 'move', { late: 'call' }), ending(said, now + HOUR)].map(read);
  expect(all.flatMap(({ issues }) => issues)).toEqual([]);
  const [announced, confirmed, ended] = all.map(({ request }) => request);
  expect(announced).toMatchObject({ period: absence.period, reason: 'ill', silence: undefined });
  expect(confirmed).toMatchObject({ silence: 'move', wishes: [{ appointment: 'late', proposal: undefined }] });
  expect(ended?.end).toBe(now + HOUR);
  expect(absenceIn(absenceResponse('one', [], []))).toBe('one');
});

test('those may step in who are open and offer the same', () => {
  const schedule = (id: string, code: string, more: Partial<Schedule> = {}): Schedule => ({
    resourceType: 'Schedule',
    id,
    actor: [],
    serviceType: [{ coding: [{ code }] }],
    ...more,
  });
  const schedules = [
    schedule('a', 'x'),
    schedule('b', 'x'),
    schedule('foreign', 'y'),
    schedule('closed', 'x', { active: false }),
    schedule('any', 'y', { actor: [{ reference: 'HealthcareService/1' }] }),
    { resourceType: 'Schedule', id: 'open' } as Schedule,
  ];
  expect(possibleSubstitutes(schedules, ['a']).map(({ id }) => id)).toEqual(['b', 'any', 'open']);
  expect(possibleSubstitutes(schedules, [])).toEqual([]);
});

test.each([
  ['2027-01-04', '2027-01-04T10:00:00Z', '2027-01-04T22:59:00Z'],
  ['2027-01-01', '2027-01-04T10:00:00Z', '2027-01-04T22:59:00Z'],
  ['2027-03-28', '2027-03-27T23:00:00Z', '2027-03-28T21:59:00Z'],
])('an absence is from now, or a later morning, to the end of the day: %s', (day, start, end) => {
  const usual = usualPeriod(day, now, 'Europe/Berlin');
  expect([usual.start, usual.end]).toEqual([Date.parse(start), Date.parse(end)]);
});
