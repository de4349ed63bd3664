import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { BotResponse } from '../../../../bots/lib/medplum.ts';
import { readContents } from '../../../../bots/lib/notifications/event-store.ts';
import { readableQuery } from '../../../../core/booking/policy/caller-rights.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import type { Event } from '../../../../core/notifications/events/event.ts';
import { portal } from '../../../core/notifications/support.ts';
import { config } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';
import { anAppointment, eventAbout, searchesAnswer } from './outboxes.ts';

const medplum = withMedplum();

describe('the content of an event', () => {
  const readable = [`Appointment?_tag=${requestorTag(portal, config).system}|${portal}`];
  const read = (events: readonly Event[], authorization?: string) => {
    const searches = readable.map((one) =>
      readableQuery(
        one,
        events.map(({ appointment }) => appointment),
      ),
    );
    return readContents(medplum().medplum, events, searches, readable, authorization);
  };

  it('is what a deleted appointment was last, if it could be read', async () => {
    const [mine, others] = [await anAppointment(medplum()), await anAppointment(medplum(), { meta: {} })];
    const events = [eventAbout(mine, 1, 'delete'), eventAbout(others, 2, 'delete'), eventAbout(mine, 3)];
    for (const { id } of [mine, others]) {
      await medplum().fhir('DELETE', `Appointment/${id}`);
    }
    const contents = await read(events);
    expect(contents.map(({ appointment }) => appointment?.id)).toEqual([mine.id, undefined, undefined]);
  });

  it('is told of a deleted appointment that only other criteria concern', async () => {
    const one = await anAppointment(medplum());
    await medplum().fhir('DELETE', `Appointment/${one.id}`);
    const events = [eventAbout(one, 1, 'delete')];
    const [content] = await readContents(
      medplum().medplum,
      events,
      ['Appointment?_id=none'],
      ['Appointment?status=booked'],
    );
    expect(content?.appointment?.id).toBe(one.id);
  });

  const refused = (status: string) => ({
    status: 200,
    body: {
      resourceType: 'Bundle',
      type: 'batch-response',
      entry: [{ response: { status } }],
    },
  });

  it.each<[string, BotResponse | 'no-answer', boolean]>([
    ['the version is refused', refused('403'), true],
    ['a version has no answer of its own', searchesAnswer(), true],
    ['the search finds nothing', refused('404'), false],
    ['the search has no status', { status: 200, body: { resourceType: 'Bundle', entry: [{}] } }, false],
    ['the search has no answer', 'no-answer', false],
  ])('is not sent if %s', async (_, response, isAboutVersions) => {
    const one = await anAppointment(medplum());
    medplum().interfere(({ entries }) =>
      entries.some((url) => url.includes('_history')) === isAboutVersions ? response : undefined,
    );
    await expect(read([eventAbout(one, 1)])).rejects.toThrow('The appointments of the events could not be read.');
  });
});
