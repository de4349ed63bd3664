import '../../../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { BotEvent } from '@medplum/core';
import type { Appointment, Communication, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { followDeletions } from '../../../../../bots/lib/notifications/events/deletions.ts';
import { handler } from '../../../../../bots/notifications/record-events.ts';
import { requestorTag } from '../../../../../core/fhir/tags.ts';
import { deletionTask } from '../../../../../core/notifications/events/event.ts';
import { later } from '../../../clock.ts';
import { config } from '../../../config.ts';
import { withMedplum } from '../../../medplum.ts';
import { anAppointment, eventsOf, subscribe } from '../outboxes.ts';

const medplum = withMedplum();
afterEach(() => medplum().clear(['Task', 'Subscription', 'Communication', 'Appointment', 'Slot', 'Schedule']));

const follow = () => followDeletions(medplum().medplum, Date.now() + 6_000);
const remember = ({ id = '' }: Pick<Appointment, 'id'>) => medplum().create<Task>(deletionTask(id, config));
const isLeft = async ({ id }: Task) => (await medplum().read(`Task/${id}`)) !== undefined;
const run = (input: Appointment | { readonly deletedResource: Appointment }) =>
  handler(medplum().medplum, { input } as unknown as BotEvent<Appointment>);
const events = () => medplum().find<Communication>('Communication?_count=1000');

/** An appointment that is remembered and was deleted. */
async function deleted(changes: Partial<Appointment> = {}) {
  const appointment = await anAppointment(medplum(), changes);
  const task = await remember(appointment);
  await medplum().fhir('DELETE', `Appointment/${appointment.id}`);
  return { appointment, task };
}

describe('a deletion whose job was lost', () => {
  it('frees the slots, is told to subscribers, and is forgotten', async () => {
    const actor = [{ reference: 'Practitioner/p1' }];
    const schedule = await medplum().create<Schedule>({ resourceType: 'Schedule', actor });
    const slot = await medplum().create<Slot>({
      resourceType: 'Slot',
      schedule: { reference: `Schedule/${schedule.id}` },
      status: 'busy',
      start: '2031-03-10T09:00:00Z',
      end: '2031-03-10T09:20:00Z',
    });
    await subscribe(medplum());
    const { appointment, task } = await deleted({ slot: [{ reference: `Slot/${slot.id}` }] });
    await later(6_000, follow);
    expect((await medplum().read<Slot>(`Slot/${slot.id}`))?.status).not.toBe('busy');
    const about = { basedOn: [{ reference: `Appointment/${appointment.id}` }] };
    expect(await events()).toMatchObject([
      { ...about, topic: { text: 'create' } },
      { ...about, topic: { text: 'delete' } },
    ]);
    expect(await isLeft(task)).toBe(false);
  });
});

it.each<[number, boolean]>([
  [9, true],
  [11, false],
])('of an appointment that is still there after %i minutes the deletion is remembered: %s', async (minutes, isKept) => {
  await subscribe(medplum());
  const appointment = await anAppointment(medplum());
  const task = await remember(appointment);
  await later(minutes * 60_000, follow);
  expect(await isLeft(task)).toBe(isKept);
  expect(await events()).toEqual([]);
});

it('a deletion is told to whoever could read the appointment by a tag that it has lost', async () => {
  const { system, code } = requestorTag('former', config);
  const readable = [`Appointment?_tag=${system}|${code}&status=booked,cancelled`];
  const stored = await subscribe(medplum(), { row: { readable } });
  const appointment = await anAppointment(medplum(), { meta: { tag: [{ system, code }] } });
  await run(appointment);
  const changed = await medplum().change<Appointment>(appointment, { meta: { tag: [requestorTag('other', config)] } });
  await medplum().fhir('DELETE', `${appointment.resourceType}/${appointment.id}`);
  await run({ deletedResource: changed });
  expect((await eventsOf(medplum(), stored)).at(-1)?.kind).toBe('delete');
});
