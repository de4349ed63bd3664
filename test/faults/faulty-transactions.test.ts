import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { prepareInstallation } from './installation.ts';
import { about, type FaultyProxy, faults, isRead, isTransaction, once, startProxy } from './proxy.ts';

let proxy: FaultyProxy;
let fixtures: typeof import('../contract/fixtures.ts');
let http: typeof import('../contract/http.ts');
let consistent: typeof import('../contract/races/consistent.ts');

beforeAll(async () => {
  proxy = await startProxy();
  const installation = await prepareInstallation({ SANDBOX_BOT_BASE_URL: proxy.url }, { timeout: 15 });
  proxy.target = installation.medplumUrl;
  [fixtures, http, consistent] = await Promise.all([
    import('../contract/fixtures.ts'),
    import('../contract/http.ts'),
    import('../contract/races/consistent.ts'),
  ]);
  await installation.start();
});

const identifier = () => [{ system: 'urn:portal-a', value: randomUUID() }];

describe('what happens to the transaction of a Bot', () => {
  it.each([
    ['cut', 201],
    ['lost', 200],
    ['half', 200],
    ['done, but 502', 200],
    ['doubled', 200],
    ['late', 201],
    ['twice', 201],
    [500, 201],
    [503, 201],
  ] as const)('%s, with an identifier: the Bot finds out by itself (%i)', async (fault, status) => {
    const { schedule, slot, patient } = await fixtures.aClinic();
    proxy.choose = once(faults[fault], about(slot, isTransaction));
    const response = await fixtures.book(fixtures.proposed(patient, [slot], { identifier: identifier() }));
    expect(response.status).toBe(status);
    expect(await fixtures.appointmentsOn(slot)).toMatchObject([{ id: http.resourceIn('Appointment', response).id }]);
    expect(await consistent.inconsistencies(schedule)).toEqual([]);
  });

  it.each([
    ['cut', 503, 'upstream-unavailable', 0],
    ['lost', 503, 'upstream-unavailable', 1],
    ['half', 503, 'upstream-unavailable', 1],
    [500, 503, 'upstream-unavailable', 0],
    [429, 503, 'upstream-unavailable', 0],
  ] as const)(
    '%s, without an identifier: %i, and nobody is told that nothing was booked',
    async (fault, status, code, stored) => {
      const { schedule, slot, patient } = await fixtures.aClinic();
      proxy.choose = once(faults[fault], about(slot, isTransaction));
      const response = await fixtures.book(fixtures.proposed(patient, [slot]));
      expect([response.status, ...http.issuesOf(response)]).toEqual([status, code]);
      expect(response.text.includes('Nothing was')).toBe(fault === 429);
      expect(await fixtures.appointmentsOn(slot)).toHaveLength(stored);
      expect(await consistent.inconsistencies(schedule)).toEqual([]);
    },
  );

  it('no answer at all: after some seconds the Bot finds out by itself, or says that it does not know', async () => {
    const [known, unknown] = await Promise.all([fixtures.aClinic(), fixtures.aClinic()]);
    const isSilent = new Set([known.slot.id, unknown.slot.id]);
    proxy.choose = (passing) => {
      const id = [...isSilent].find((slot) => isTransaction(passing) && passing.body.includes(`Slot/${slot}`));
      return id && isSilent.delete(id) ? faults.silent : undefined;
    };
    const [found, lost] = await Promise.all([
      fixtures.book(fixtures.proposed(known.patient, [known.slot], { identifier: identifier() })),
      fixtures.book(fixtures.proposed(unknown.patient, [unknown.slot])),
    ]);
    expect([found.status, lost.status, ...http.issuesOf(lost)]).toEqual([200, 504, 'upstream-timeout']);
    expect(lost.text).not.toContain('Nothing was');
    expect(await fixtures.appointmentsOn(known.slot)).toHaveLength(1);
    expect(await fixtures.appointmentsOn(unknown.slot)).toHaveLength(1);
  });

  it('the answer is lost, and the server cannot be read afterwards: 503, not "nothing was booked"', async () => {
    const { slot, patient } = await fixtures.aClinic();
    const body = fixtures.proposed(patient, [slot], { identifier: identifier() });
    let isDown = false;
    proxy.choose = (passing) => {
      const fault = isDown ? faults.cut : about(slot, isTransaction)(passing) ? faults.lost : undefined;
      isDown ||= fault !== undefined;
      return fault;
    };
    const response = await fixtures.book(body);
    proxy.choose = () => undefined;
    expect([response.status, ...http.issuesOf(response)]).toEqual([503, 'upstream-unavailable']);
    expect(response.text).not.toContain('Nothing was');
    expect((await fixtures.book(body)).status).toBe(200);
  });
});

it.each(['cut', 'half', 'done, but 502', 429, 500] as const)(
  'what happens to the reads of a Bot: %s: 503, nothing booked, the retry books',
  async (fault) => {
    const { slot, patient } = await fixtures.aClinic();
    proxy.choose = once(faults[fault], about(slot, isRead));
    const body = fixtures.proposed(patient, [slot]);
    const response = await fixtures.book(body);
    expect([response.status, ...http.issuesOf(response)]).toEqual([503, 'upstream-unavailable']);
    expect(await fixtures.appointmentsOn(slot)).toEqual([]);
    expect((await fixtures.book(body)).status).toBe(201);
  },
);
