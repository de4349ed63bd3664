import '../../../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import type { EventState } from '../../../../../bots/lib/notifications/events/event-state.ts';
import { withMedplum } from '../../../medplum.ts';
import { anAppointment, forgetOutboxes, remove, stateFor, subscribe } from './fixtures.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

const read = (...appointments: readonly Appointment[]) => stateFor(medplum(), ...appointments);

const versionsIn = ({ changes }: EventState) =>
  changes.map(({ current, deleted }) => `${current.meta?.versionId}${deleted === undefined ? '' : ' deleted'}`);

describe('a history that lags behind', () => {
  const lagging = /The histories lag behind the appointments/;

  /** A replica answers requests for histories with what it has. */
  function replicaHas(entry: readonly object[]): void {
    const resource = { resourceType: 'Bundle', type: 'history', total: entry.length, entry };
    const answer = {
      resourceType: 'Bundle',
      type: 'batch-response',
      entry: [{ response: { status: '200' }, resource }],
    };
    medplum().interfere((asked) =>
      asked.entries[0]?.includes('/_history') ? { status: 200, body: answer } : undefined,
    );
  }

  it('is not relied on if it lacks the current version', async () => {
    await subscribe(medplum());
    const first = await anAppointment(medplum());
    const second = await medplum().change(first, { comment: 'Later' });
    replicaHas([{ resource: first }]);
    await expect(read(second)).rejects.toThrow(lagging);
    replicaHas([{ resource: second }, { resource: first }]);
    expect(versionsIn(await read(second))).toHaveLength(2);
  });

  it('is not relied on if it has no versions', async () => {
    await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    replicaHas([]);
    await expect(read(appointment)).rejects.toThrow(lagging);
  });

  it('is not relied on if it lacks the deletion', async () => {
    await subscribe(medplum());
    const appointment = await anAppointment(medplum());
    await remove(medplum(), appointment);
    replicaHas([{ resource: appointment }]);
    await expect(read(appointment)).rejects.toThrow(lagging);
  });

  it('of one appointment is not relied on, though that of another is up to date', async () => {
    await subscribe(medplum());
    const [one, other] = [await anAppointment(medplum()), await anAppointment(medplum())];
    const second = await medplum().change(one, { comment: 'Later' });
    const pages = [[{ resource: one }], [{ resource: other }]];
    const entry = pages.map((page) => ({
      response: { status: '200' },
      resource: { resourceType: 'Bundle', type: 'history', total: 1, entry: page },
    }));
    const body = { resourceType: 'Bundle', type: 'batch-response', entry };
    medplum().interfere((asked) => (asked.entries[0]?.includes('/_history') ? { status: 200, body } : undefined));
    await expect(read(second, other)).rejects.toThrow(lagging);
  });
});
