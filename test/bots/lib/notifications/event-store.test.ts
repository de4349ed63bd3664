import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Answer } from '../../../../bots/lib/medplum.ts';
import { readContents, readEvents } from '../../../../bots/lib/notifications/event-store.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { messageResource } from '../../../../core/notifications/delivery/message.ts';
import type { Event } from '../../../../core/notifications/events/event.ts';
import { readableQuery } from '../../../../core/notifications/events/read-access.ts';
import { portal } from '../../../core/notifications/support.ts';
import { config } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';
import { addAppointment, addEvents, eventAbout, searchesAnswer, subscribe } from './outboxes.ts';

const medplum = withMedplum();

const asked = () => medplum().asked.map(({ entries }) => entries);

describe('events', () => {
  const event = (number: number): Event => ({
    ...eventAbout({ resourceType: 'Appointment', status: 'booked', participant: [], id: 'a1' }, number),
    version: 'v1',
  });
  const read = async (id: string, from: number, to: number) =>
    (await readEvents(medplum().medplum, id, from, to)).map((one) => one.event.number);

  it('of a Subscription are read by their numbers, in order', async () => {
    const [one, other] = [await subscribe(medplum()), await subscribe(medplum())];
    const stored = await addEvents(medplum(), one, event(3), event(1), event(2), event(5), event(4));
    await addEvents(medplum(), other, event(2));
    expect(await read(one.id, 2, 4)).toEqual([2, 3, 4]);
    expect(await read(one.id, 5, 5)).toEqual([5]);
    const [first] = await readEvents(medplum().medplum, one.id, 1, 1);
    expect(first).toMatchObject({ event: event(1), resource: { id: stored[1]?.id, status: 'preparation' } });
  });

  it('are left out that are not there, and what is no event', async () => {
    const one = await subscribe(medplum());
    const [, second] = await addEvents(medplum(), one, event(1), event(2));
    await medplum().create({
      ...messageResource({ resourceType: 'Bundle', type: 'history' }, one.id, portal, config),
      identifier: [{ system: second?.identifier?.[0]?.system, value: `${one.id}/3` }],
    });
    expect(await read(one.id, 1, 9)).toEqual([1, 2]);
  });

  it('are asked for by one request, a hundred at a time', async () => {
    const { id } = await subscribe(medplum());
    for (const to of [100, 101, 250]) {
      await read(id, 1, to);
    }
    const counts = asked().map((entries) => entries.map((one) => Number(/_count=(\d+)/.exec(one)?.[1])));
    expect(counts).toEqual([[100], [100, 1], [100, 100, 50]]);
  });

  it('are found across the searches', async () => {
    const one = await subscribe(medplum());
    await addEvents(medplum(), one, event(101), event(7), event(8), event(107));
    expect(await read(one.id, 7, 107)).toEqual([7, 8, 101, 107]);
  });

  it.each([
    [2, 1],
    [2, 0],
    [2, -400],
  ])('from %i to %i are none, and nobody is asked', async (from, to) => {
    expect(await read('s1', from, to)).toEqual([]);
    expect(asked()).toEqual([]);
  });
});

describe('the content of an event', () => {
  const own = { meta: { tag: [requestorTag(portal, config)] } };
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

  it('of none is nothing, and nobody is asked', async () => {
    expect(await read([])).toEqual([]);
    expect(asked()).toEqual([]);
  });

  it('is the version that it is about, if the appointment may be read now', async () => {
    const first = await addAppointment(medplum(), own);
    await medplum().change(first, { status: 'arrived' });
    const other = await addAppointment(medplum());
    const events = [eventAbout(other, 1), eventAbout(first, 2)];
    expect(await read(events)).toEqual([
      { event: events[0] },
      { event: events[1], appointment: expect.objectContaining({ id: first.id, status: 'booked' }) },
    ]);
  });

  it('is what a deleted appointment was last, if it could be read', async () => {
    const [mine, others] = [await addAppointment(medplum(), own), await addAppointment(medplum())];
    const events = [eventAbout(mine, 1, 'delete'), eventAbout(others, 2, 'delete'), eventAbout(mine, 3)];
    for (const { id } of [mine, others]) {
      await medplum().fhir('DELETE', `Appointment/${id}`);
    }
    const contents = await read(events);
    expect(contents.map(({ appointment }) => appointment?.id)).toEqual([mine.id, undefined, undefined]);
  });

  it('is told of a deleted appointment that only other criteria concern', async () => {
    const one = await addAppointment(medplum());
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

  it.each<[string, string]>([
    ['not found', '404'],
    ['removed', '410'],
  ])('is unknown if its version is %s', async (_, status) => {
    const one = await addAppointment(medplum(), own);
    medplum().interfere(({ entries }) =>
      entries.some((url) => url.includes('_history'))
        ? {
            status: 200,
            body: {
              resourceType: 'Bundle',
              type: 'batch-response',
              entry: [{ response: { status }, resource: { resourceType: 'OperationOutcome', issue: [] } }],
            },
          }
        : undefined,
    );
    expect(await read([eventAbout(one, 1)])).toEqual([{ event: eventAbout(one, 1) }]);
  });

  it('is searched for with the rights of whoever asks', async () => {
    const one = await addAppointment(medplum(), own);
    const { authorization } = await medplum().addClient('reader', [
      { resourceType: 'Appointment', criteria: 'Appointment?status=arrived' },
    ]);
    const events = [eventAbout(one, 1)];
    expect(await read(events, authorization)).toEqual([{ event: events[0] }]);
    expect(medplum().asked.map((request) => request.authorization)).toEqual(['Bearer admin', authorization]);
    expect((await read(events))[0]?.appointment?.id).toBe(one.id);
  });

  it('is read by two requests, whatever the number of events, and by none for none', async () => {
    const one = await addAppointment(medplum(), own);
    await read([eventAbout(one, 1), eventAbout(one, 2)]);
    expect(asked().map(({ length }) => length)).toEqual([2, 1]);
    expect(await readContents(medplum().medplum, [], [], readable)).toEqual([]);
    expect(asked()).toHaveLength(2);
  });

  it('is nothing where no appointment may be read: nobody is asked which', async () => {
    const events = [eventAbout(await addAppointment(medplum(), own), 1)];
    expect(await readContents(medplum().medplum, events, [], [])).toEqual([{ event: events[0] }]);
    expect(asked()).toHaveLength(1);
  });

  const refused = (status: string | undefined) => ({
    status: 200,
    body: {
      resourceType: 'Bundle',
      type: 'batch-response',
      entry: [status === undefined ? {} : { response: { status } }],
    },
  });

  it.each<[string, Answer | 'no-answer', boolean]>([
    ['the version is refused', refused('403'), true],
    ['the version has no status', refused(undefined), true],
    ['the versions have no answer', 'no-answer', true],
    ['a version has no answer of its own', searchesAnswer(), true],
    ['the search is refused', refused('400'), false],
    ['the search finds nothing', refused('404'), false],
    ['the search has no status', refused(undefined), false],
    ['the search has no answer', 'no-answer', false],
  ])('is not sent if %s', async (_, answer, isAboutVersions) => {
    const one = await addAppointment(medplum(), own);
    medplum().interfere(({ entries }) =>
      entries.some((url) => url.includes('_history')) === isAboutVersions ? answer : undefined,
    );
    await expect(read([eventAbout(one, 1)])).rejects.toThrow('The appointments of the events could not be read.');
  });
});
