import { expect, it } from '@jest/globals';
import type { Appointment, BundleEntry, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { eventually } from '../../lib/until.ts';
import { aPatient, book, proposed, succeeded } from '../fixtures.ts';
import { medplum } from '../http.ts';
import { base, config } from '../installation.ts';
import { cancellation, patch } from '../patch/fixtures.ts';
import { merge } from '../patients-who-go/fixtures.ts';
import { aFullClinic, aWaiting, offerFor } from '../waitlist/fixtures.ts';
import { aBooking, about, cancel, confirm, staffChange, subscribed } from './fixtures.ts';
import { eventEntries, events, focusIn, type Listener, numbersAt, ofKind } from './listener.ts';
import { aListener } from './stand-ins.ts';

/**
 * Makes a change that is told, and waits until it has arrived. The changes of one appointment are announced together,
 * in their order: what was to be told of it before is there, or never will be.
 */
async function toldOnlyOfAnother(appointment: Appointment, ...listeners: readonly Listener[]): Promise<void> {
  const { meta } = await staffChange(appointment, { comment: 'The last change' });
  const last = `W/"${meta?.versionId}"`;
  for (const listener of listeners) {
    const notified = await eventually(async () =>
      ofKind(listener, 'event-notification').flatMap(({ bundle }) => eventEntries(bundle)),
    ).is((entries) => entries.some(({ response }) => response?.etag === last));
    expect(notified.map(({ response }) => response?.etag)).toEqual([last]);
  }
}

/** Who changes an appointment is told of it, too. */
const ownChanges = { more: { extension: [{ url: artefactUri(config, 'LocalOwnChanges'), valueBoolean: true }] } };

/** The portal cancels its appointment. */
async function cancelByPortal({ id = '' }: Appointment): Promise<void> {
  expect((await patch(id, cancellation)).status).toBe(200);
}

it('the requestor is notified when the repository confirms, and when it cancels', async () => {
  const listener = await aListener();
  await subscribed(listener, { content: 'full-resource' });
  const [first, second] = [await aBooking(), await aBooking()];
  await confirm(first);
  await cancel(second);
  const arrived = await events(listener, 2);
  const notified = arrived.flatMap(({ bundle }) => eventEntries(bundle)).map(({ resource }) => resource);
  const statuses = notified.map((one) => one?.resourceType === 'Appointment' && [one.id, one.status]);
  expect(new Set(statuses)).toEqual(
    new Set([
      [first.id, 'booked'],
      [second.id, 'cancelled'],
    ]),
  );
});

it('subscribers are notified of every change by the repository', async () => {
  const listener = await aListener();
  await subscribed(listener);
  const appointment = await aBooking('automatic');
  await staffChange(appointment, { comment: 'Please come fasting' });
  await staffChange(appointment, { description: 'Second floor' });
  await events(listener, 2);
  expect(numbersAt(listener)).toEqual([1, 2]);
});

/** The ways in which staff move an appointment in Medplum: with its Slots, or its time alone. */
const moves = {
  'with its Slots': (own: Slot, moved: Appointment): BundleEntry[] => {
    const fullUrl = 'urn:uuid:00000000-0000-4000-8000-000000000001';
    const { start = '', end = '' } = moved;
    return [
      { request: { method: 'DELETE', url: `Slot/${own.id}` } },
      {
        fullUrl,
        resource: { resourceType: 'Slot', schedule: own.schedule, status: 'busy', start, end },
        request: { method: 'POST', url: 'Slot' },
      },
      {
        resource: { ...moved, slot: [{ reference: fullUrl }] },
        request: { method: 'PUT', url: `Appointment/${moved.id}` },
      },
    ];
  },
  'by its time alone': (_: Slot, moved: Appointment): BundleEntry[] => [
    { resource: moved, request: { method: 'PUT', url: `Appointment/${moved.id}` } },
  ],
};

it.each(Object.entries(moves))(
  'subscribers are notified once of a move by staff, %s, and not as of a cancellation',
  async (_, entriesFor) => {
    const [listener, cancellations] = [await aListener(), await aListener()];
    await subscribed(listener, { content: 'full-resource' });
    await subscribed(cancellations, { topic: 'appointment-cancel' });
    const { id = '', slot: [slot] = [] } = await aBooking('automatic');
    const [own, stored] = [
      succeeded('Slot', await medplum('front-desk', 'GET', `/${slot?.reference}`)),
      succeeded('Appointment', await medplum('front-desk', 'GET', `/Appointment/${id}`)),
    ];
    const later = (instant: string) => new Date(Date.parse(instant) + 3_600_000).toISOString();
    const time = { start: later(own.start), end: later(own.end) };
    const body = { resourceType: 'Bundle', type: 'transaction', entry: entriesFor(own, { ...stored, ...time }) };
    expect((await medplum('front-desk', 'POST', '', { body })).status).toBe(200);
    const [told] = await events(listener, 1);
    const notified = told && eventEntries(told.bundle)[0]?.resource;
    expect(notified).toMatchObject({ id, status: 'booked', ...time });
    const current = succeeded('Appointment', await medplum('front-desk', 'GET', `/Appointment/${id}`));
    expect(current.slot).toEqual(notified?.resourceType === 'Appointment' && notified.slot);
    expect(succeeded('Slot', await medplum('front-desk', 'GET', `/${current.slot?.[0]?.reference}`))).toMatchObject(
      time,
    );
    await cancel(current);
    await events(cancellations, 1);
    await events(listener, 2);
    expect([listener, cancellations].map(numbersAt)).toEqual([[1, 2], [1]]);
  },
);

it('the requestor is notified of an appointment that staff create for it', async () => {
  const listener = await aListener();
  const { meta } = await subscribed(listener);
  const appointment = await aBooking('automatic');
  const { id: _, slot: __, ...copy } = appointment;
  const tag = meta?.tag?.filter(({ system }) => system === artefactUri(config, 'LocalRequestor'));
  const body = { ...copy, meta: { tag }, status: 'arrived' };
  const made = succeeded('Appointment', await medplum('front-desk', 'POST', '/Appointment', { body }));
  const [first] = await events(listener, 1);
  expect(first && focusIn(first.bundle)[0]).toMatch(new RegExp(`${made.id}$`));
  expect(first && eventEntries(first.bundle)[0]?.request?.method).toBe('POST');
});

it('no echo: a requestor is not told of what it books, moves or cancels itself', async () => {
  const listener = await aListener();
  await subscribed(listener);
  const appointment = await aBooking('automatic');
  const body = { ...appointment, status: 'proposed', comment: 'again' };
  expect((await book(body)).status).toBe(201);
  await cancelByPortal(appointment);
  await toldOnlyOfAnother(appointment, listener);
});

it('unless it asks to be', async () => {
  const listener = await aListener();
  await subscribed(listener, ownChanges);
  const appointment = await aBooking();
  await cancelByPortal(appointment);
  const [first] = await events(listener, 1);
  expect(first && focusIn(first.bundle)[0]).toMatch(new RegExp(`${appointment.id}$`));
});

it('others who may read it are notified when a requestor cancels a pending appointment', async () => {
  const listener = await aListener();
  await subscribed(listener, { filter: 'Appointment?status=cancelled' }, 'front-desk');
  const appointment = await aBooking();
  await cancelByPortal(appointment);
  await eventually(async () => ofKind(listener, 'event-notification').map(({ bundle }) => focusIn(bundle)[0] ?? '')).is(
    (notified) => notified.some((focus) => focus.endsWith(appointment.id ?? '-')),
  );
});

it('a subscriber is not notified of an appointment that it may not read', async () => {
  const [listener, other] = [await aListener(), await aListener()];
  await subscribed(listener);
  await subscribed(other, {}, 'portal-b');
  await confirm(await aBooking('manual', 'portal-b'));
  await events(other, 1);
  await toldOnlyOfAnother(await aBooking('automatic'), listener);
});

it('nobody is notified of a refused booking', async () => {
  const [listener, staff, patient] = [await aListener(), await aListener(), await aPatient()];
  await subscribed(listener);
  const taken = await aBooking('automatic', 'portal-a', patient);
  await subscribed(staff, { ...about(patient), ...ownChanges }, 'front-desk');
  expect((await book({ ...proposed(patient, []), slot: taken.slot })).status).toBe(409);
  await toldOnlyOfAnother(taken, listener, staff);
});

it('an offer is told by its own topic, and by no other', async () => {
  const [offers, all] = [await aListener(), await aListener()];
  await subscribed(offers, { topic: 'appointment-offer' });
  await subscribed(all);
  const { service, booked } = await aFullClinic();
  const { entry, patient } = await aWaiting(service);
  expect((await patch(booked.id ?? '', cancellation, 'portal-b')).status).toBe(200);
  const offer = await offerFor(entry, patient);
  const [told] = await events(offers, 1);
  expect(told && focusIn(told.bundle)).toEqual([`${base}/Appointment/${offer.id}`]);
  await toldOnlyOfAnother(await aBooking('automatic'), all);
});

it('appointment-cancel tells of cancellations only', async () => {
  const listener = await aListener();
  await subscribed(listener, { topic: 'appointment-cancel', content: 'full-resource' });
  const appointment = await aBooking();
  await confirm(appointment);
  await cancel(appointment);
  const [first] = await events(listener, 1);
  const [told] = first ? eventEntries(first.bundle) : [];
  expect([numbersAt(listener), told?.resource]).toMatchObject([[1], { id: appointment.id, status: 'cancelled' }]);
});

it('a filter leaves out what does not meet it', async () => {
  const listener = await aListener();
  const [wanted, other] = [await aBooking(), await aBooking()];
  const patient = wanted.participant?.[0]?.actor?.reference ?? '';
  await subscribed(listener, { filter: `Appointment?status=booked,cancelled&patient=${patient}` });
  await confirm(other);
  await confirm(wanted);
  const [first] = await events(listener, 1);
  expect(numbersAt(listener)).toEqual([1]);
  expect(first && focusIn(first.bundle)[0]).toMatch(new RegExp(`${wanted.id}$`));
});

it('a filter by a patient whom the clinic has merged means the one who stays, for those who may know', async () => {
  const [own, repository, foreign] = [await aListener(), await aListener(), await aListener()];
  const [patient, survivor, known] = [await aPatient(), await aPatient('portal-b'), await aPatient('portal-b')];
  const [first, theirs, last] = [
    await aBooking('manual', 'portal-a', patient),
    await aBooking('manual', 'portal-b', survivor),
    await aBooking('manual', 'portal-b', known),
  ];
  const filter = `Appointment?patient=Patient/${patient.id}`;
  await subscribed(own, { filter });
  await subscribed(repository, { filter, ...ownChanges }, 'front-desk');
  await subscribed(foreign, { filter: `${filter},Patient/${known.id}` }, 'portal-b');
  await merge(patient, survivor);
  await eventually(async () =>
    succeeded('Appointment', await medplum('front-desk', 'GET', `/Appointment/${first.id}`)),
  ).is(({ participant }) => participant[0]?.actor?.reference === `Patient/${survivor.id}`);
  await confirm(first);
  await confirm(theirs);
  const focus = async (listener: Listener, count: number) =>
    (await events(listener, count)).map(({ bundle }) => focusIn(bundle)[0]?.split('/').at(-1));
  expect(await focus(own, 2)).toEqual([first.id, first.id]);
  expect(new Set(await focus(repository, 3))).toEqual(new Set([first.id, theirs.id]));
  expect(numbersAt(own)).toEqual([1, 2]);
  await confirm(last);
  expect(await focus(foreign, 1)).toEqual([last.id]);
});

it('those who could read a deleted appointment are notified once, with DELETE and without the resource', async () => {
  const [own, cancellations, foreign] = [await aListener(), await aListener(), await aListener()];
  const appointment = await aBooking();
  const about = { filter: `Appointment?patient=${appointment.participant?.[0]?.actor?.reference}` };
  await subscribed(own, { content: 'full-resource', ...about });
  await subscribed(cancellations, { topic: 'appointment-cancel', ...about });
  await subscribed(foreign, {}, 'portal-b');
  await cancel(appointment);
  expect((await medplum('front-desk', 'DELETE', `/Appointment/${appointment.id}`)).status).toBe(200);
  const [, deletion] = await events(own, 2);
  await events(cancellations, 1);
  await confirm(await aBooking('manual', 'portal-b'));
  await events(foreign, 1);

  expect(deletion && focusIn(deletion.bundle)[0]).toMatch(new RegExp(`${appointment.id}$`));
  const [entry] = deletion ? eventEntries(deletion.bundle) : [];
  expect([entry?.request?.method, entry?.response?.status, entry?.resource]).toEqual(['DELETE', '204', undefined]);
  expect([own, cancellations, foreign].map(numbersAt)).toEqual([[1, 2], [1], [1]]);
  expect(foreign.received.some(({ text }) => text.includes(appointment.id ?? '-'))).toBe(false);
});
