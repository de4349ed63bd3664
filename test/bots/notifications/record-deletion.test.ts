import '../config.ts';
import { afterEach, expect, it } from '@jest/globals';
import type { BotEvent } from '@medplum/core';
import type { Appointment, Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/notifications/record-events.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { deletionTask } from '../../../core/notifications/events/deletion.ts';
import { config } from '../config.ts';
import { anAppointment, eventsOf, forgetOutboxes, remove, subscribe } from '../lib/notifications/events/fixtures.ts';
import { withMedplum } from '../medplum.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

const run = (input: Appointment | { readonly deletedResource: Appointment }) =>
  handler(medplum().medplum, { input } as unknown as BotEvent<Appointment>);

/** An appointment of which a deletion is remembered. */
async function remembered(): Promise<[Appointment & { id: string }, Task]> {
  const appointment = await anAppointment(medplum());
  return [appointment, await medplum().create<Task>(deletionTask(appointment.id, config))];
}

const isRemembered = async ({ id }: Task) => (await medplum().read(`Task/${id}`)) !== undefined;

it('a deletion is recorded, and then forgotten', async () => {
  const stored = await subscribe(medplum());
  const [[appointment, task], [, other]] = [await remembered(), await remembered()];
  await remove(medplum(), appointment);
  await run({ deletedResource: appointment });
  expect((await eventsOf(medplum(), stored)).map(({ kind }) => kind)).toEqual(['create', 'delete']);
  expect([await isRemembered(task), await isRemembered(other)]).toEqual([false, true]);
});

it('a deletion is told to whoever could read the appointment by a tag that it has lost', async () => {
  const { system, code } = requestorTag('former', config);
  const readable = [`Appointment?_tag=${system}|${code}&status=booked,cancelled`];
  const stored = await subscribe(medplum(), { row: { readable } });
  const appointment = await anAppointment(medplum(), { meta: { tag: [{ system, code }] } });
  await run(appointment);
  const changed = await medplum().change<Appointment>(appointment, { meta: { tag: [requestorTag('other', config)] } });
  await remove(medplum(), appointment);
  await run({ deletedResource: changed });
  expect((await eventsOf(medplum(), stored)).at(-1)?.kind).toBe('delete');
});
