import '../config.ts';
import { expect, it } from '@jest/globals';
import type { ParametersParameter, Slot, Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/booking/absence.ts';
import { handler as endRequests } from '../../../bots/booking/end-requests.ts';
import { later } from '../clock.ts';
import { withMedplum } from '../medplum.ts';
import { aPortal, aSchedule, asks, at, booked, eventOf, parameters, staff, unavailable } from './fixtures.ts';

const medplum = withMedplum();

const now = (): ParametersParameter => ({ name: 'end', valueInstant: new Date().toISOString() });
const confirmed: ParametersParameter = { name: 'silence', valueCode: 'keep' };

/** An absence of a day: what says it, and how many Slots block its time. */
async function anAbsence() {
  const schedule = await aSchedule(medplum());
  const { id } = schedule;
  const said: ParametersParameter[] = [
    { name: 'schedule', valueReference: { reference: `Schedule/${id}` } },
    { name: 'period', valuePeriod: { start: at('00:00'), end: at('00:00', 1) } },
  ];
  return {
    schedule,
    say: (...more: ParametersParameter[]) => handler(medplum().medplum, eventOf(parameters(...said, ...more), staff)),
    blocks: async () => (await medplum().find<Slot>(`Slot?schedule=Schedule/${id}&status=busy-unavailable`)).length,
  };
}

it('ends although whoever said it died before its row named the Slots that block', async () => {
  const { say, blocks } = await anAbsence();
  medplum().interfere(({ type, entries }) =>
    type === 'transaction' && entries.some((entry) => entry.startsWith('PUT Task/')) && entries.length === 1
      ? 'no-answer'
      : undefined,
  );
  await say().catch(() => undefined);
  medplum().interfere(() => undefined);
  expect(await blocks()).toBe(1);
  await say(now());
  expect(await blocks()).toBe(0);
});

it('that has ended early can be said anew', async () => {
  const { say, blocks } = await anAbsence();
  await say(confirmed);
  const end = now();
  await say(end);
  await say(end);
  expect(await blocks()).toBe(0);
  await say(confirmed);
  expect(await blocks()).toBe(1);
  await later(60_000, () => endRequests(medplum().medplum));
  expect(await blocks()).toBe(1);
});

it('that still lasts for a while, but not as long as was said, can be said anew', async () => {
  const { say, blocks } = await anAbsence();
  await say(confirmed);
  const early: ParametersParameter = { name: 'end', valueInstant: at('12:00') };
  await say(early);
  await say(early);
  expect(await blocks()).toBe(1);
  await say(confirmed);
  expect(await blocks()).toBe(2);
});

it('ends every call that is not needed any more, whatever keeps the first attempt from it', async () => {
  const { schedule, say } = await anAbsence();
  const { appointment } = await booked(medplum(), await aPortal(medplum()), { schedule });
  const rows = () => medplum().find<Task>(`Task?focus=Appointment/${appointment.id}`);
  await say(confirmed);
  const [call] = await rows();
  expect(call?.status).toBe('ready');
  const isTick = asks(new RegExp(`PUT Task/${call?.id}`));
  medplum().interfere((asked) => (isTick(asked) ? unavailable() : undefined));
  await say(now());
  medplum().interfere(() => undefined);
  await later(60_000, () => endRequests(medplum().medplum));
  expect((await rows()).map(({ status }) => status)).toEqual(['completed']);
});
