import '../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment, Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/booking/end-requests.ts';
import { RUN_LIMIT } from '../../../bots/lib/rows.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { withClock } from '../clock.ts';
import { config } from '../config.ts';
import { withMedplum } from '../medplum.ts';
import { booked, extension, inMinutes, meanwhile, writes } from './fixtures.ts';

const medplum = withMedplum();

/** The Task of a request that was made an hour ago and ends in so many minutes. */
function taskOf(minutes: number, more: Partial<Task> = {}): Task {
  return {
    resourceType: 'Task',
    status: 'requested',
    intent: 'order',
    priority: 'routine',
    code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'confirm' }] },
    authoredOn: inMinutes(-60),
    restriction: { period: { end: inMinutes(minutes) } },
    ...more,
  };
}

/** A request that ends in so many minutes, and its Task. */
async function request(minutes: number, more: Partial<Appointment> = {}) {
  const deadline = extension('LocalConfirmationDeadline', { valueInstant: inMinutes(minutes) });
  const made = await booked(medplum(), { id: 'portal' }, { status: 'pending', extension: [deadline], ...more });
  const focus = { reference: `Appointment/${made.appointment.id}` };
  const task = await medplum().create<Task>(taskOf(minutes, { focus }));
  return { ...made, task };
}

/** Nothing of one test is left to the next. */
afterEach(async () => {
  medplum().interfere(() => undefined);
  const left = await medplum().find<Task>('Task?_count=1000');
  await medplum().transaction(left.map(({ id }) => ({ request: { method: 'DELETE', url: `Task/${id}` } })));
});

const run = () => handler(medplum().medplum);
const task = ({ id }: Task) => medplum().read<Task>(`Task/${id}`);
const statusOf = async ({ id }: Appointment) => (await medplum().read<Appointment>(`Appointment/${id}`))?.status;

describe('a request whose deadline is over', () => {
  it('whose appointment and slot were deleted offers nothing again', async () => {
    const { appointment, slot, schedule, task: its } = await request(-1);
    await medplum().fhir('DELETE', `Slot/${slot.id}`);
    await medplum().fhir('DELETE', `Appointment/${appointment.id}`);
    await run();
    expect(await medplum().find(`Slot?schedule=Schedule/${schedule.id}`)).toEqual([]);
    expect((await task(its))?.status).toBe('completed');
  });

  it('that names no appointment does not keep others waiting, and is told', async () => {
    const strange = await medplum().create<Task>(taskOf(-2, { focus: { reference: 'Basic/1' } }));
    const { appointment } = await request(-1);
    await expect(run()).rejects.toThrow(`Task/${strange.id} names no appointment in its focus: correct or delete it.`);
    expect(await statusOf(appointment)).toBe('cancelled');
  });

  it('is found on the next page at the place where those before it were', async () => {
    const requests = await Promise.all(Array.from({ length: 52 }, (_, index) => request(-60 + index)));
    await withClock(run);
    expect(new Set(await Promise.all(requests.map(({ appointment }) => statusOf(appointment))))).toEqual(
      new Set(['cancelled']),
    );
  });

  it('is left to the next run when the time is over', async () => {
    const [one, two] = [await request(-2), await request(-1)];
    await withClock((skip) => {
      meanwhile(medplum(), writes, async () => skip(RUN_LIMIT));
      return run();
    });
    expect([await statusOf(one.appointment), await statusOf(two.appointment)]).toEqual(['cancelled', 'pending']);
  });
});
