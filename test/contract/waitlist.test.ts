import { describe, expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { REPLACES } from '../../core/fhir/tags.ts';
import { eventually } from '../lib/until.ts';
import { aPatient, aSchedule, book, minutes, parameters, stored, succeeded } from './fixtures.ts';
import { heldUntil, hold } from './holds/fixtures.ts';
import { medplum, refusalOf, request, resourceIn } from './http.ts';
import { config } from './installation.ts';
import { cancellation, patch } from './patch/fixtures.ts';
import { aSlotIn, length, whole } from './policy/fixtures.ts';
import { runBot } from './requests/fixtures.ts';
import { edit, moveAnew } from './status/fixtures.ts';
import {
  accepting,
  aFullClinic,
  aWaiting,
  bookWhole,
  join,
  offerFor,
  offersFor,
  positionIn,
  refilling,
  shortly,
  statusesOf,
  waiting,
} from './waitlist/fixtures.ts';

const cancel = async (id: string | undefined, role: 'portal-a' | 'portal-b' = 'portal-a') => {
  const response = await patch(id ?? '', cancellation, role);
  expect(response.status).toBe(200);
};

describe('joining', () => {
  it('is answered 201 with the place; the entry holds no time, and only its portal reads it', async () => {
    const { service } = await aFullClinic();
    const { entry } = await aWaiting(service);
    expect([entry.status, positionIn(entry), entry.slot]).toEqual(['waitlist', 1, undefined]);
    const { entry: second, patient } = await aWaiting(service, 'portal-b');
    expect(positionIn(second)).toBe(2);
    const own = await request('portal-a', 'GET', `/Appointment/${entry.id}`);
    expect([own.status, positionIn(resourceIn('Appointment', own))]).toEqual([200, undefined]);
    expect((await request('portal-b', 'GET', `/Appointment/${entry.id}`)).status).toBe(404);
    const search = resourceIn(
      'Bundle',
      await request('portal-b', 'GET', `/Appointment?status=waitlist&patient=Patient/${patient.id}`),
    );
    expect([search.total, search.entry?.[0]?.resource?.id]).toEqual([1, second.id]);
    await cancel(entry.id);
    const again = await join({ resourceType: 'Appointment', id: second.id }, 'portal-b');
    expect([again.status, positionIn(resourceIn('Appointment', again))]).toEqual([200, 1]);
  });

  it('with a patient who is not stored yet, twice by its identifier: one entry', async () => {
    const { service } = await aFullClinic();
    const patient = { resourceType: 'Patient', name: [{ family: 'Muster' }] };
    const identifier = [{ system: 'urn:entries', value: service.coding?.[0]?.code ?? '' }];
    const { participant: _, ...entry } = waiting(await aPatient(), service, { identifier });
    const first = await join(parameters(entry, ['patient', patient]));
    const second = await join(parameters(entry, ['patient', patient]));
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(resourceIn('Appointment', second).id).toBe(resourceIn('Appointment', first).id);
  });

  it('more often than is allowed is refused', async () => {
    const { service } = await aFullClinic();
    const kim = { name: [{ family: `Muster ${service.coding?.[0]?.code}`, given: ['Kim'] }], birthDate: '1980-05-17' };
    const patient = await aPatient('portal-a', kim);
    for (let count = 0; count < 5; count++) {
      expect((await join(waiting(patient, service))).status).toBe(201);
    }
    const again = await aPatient('portal-a', kim);
    for (const same of [patient, again]) {
      expect(refusalOf(await join(waiting(same, service)))).toEqual([422, 'patient-limit-reached Appointment']);
    }
    const { participant: _, ...entry } = waiting(patient, service);
    const sent = await join(parameters(entry, ['patient', { resourceType: 'Patient', ...kim }]));
    expect(refusalOf(sent)[1]).toMatch(/^patient-limit-reached /);
  });

  it('beside an appointment of somebody else is refused', async () => {
    const { service, booked } = await aFullClinic();
    const body = {
      resourceType: 'Parameters',
      parameter: [
        { name: 'appt-resource', resource: waiting(await aPatient(), service) },
        { name: 'standing-appt-id', valueUri: `Appointment/${booked.id}` },
      ],
    };
    const refused = await join(body);
    expect(refusalOf(refused)).toEqual([422, 'replaced-appointment-not-found Parameters.parameter[1].valueUri']);
  });

  it('an entry keeps its place: what decides about it cannot be changed, wishes can', async () => {
    const { service } = await aFullClinic();
    const { entry } = await aWaiting(service);
    const first = await patch(entry.id ?? '', [{ op: 'add', path: '/priority', value: 1 }]);
    expect(refusalOf(first)).toEqual([400, 'immutable-element Appointment.priority']);
    const past = [{ start: '2020-01-01T00:00:00Z', end: '2020-01-02T00:00:00Z' }];
    const over = await patch(entry.id ?? '', [{ op: 'replace', path: '/requestedPeriod', value: past }]);
    expect(refusalOf(over)).toEqual([422, 'start-in-past Appointment.requestedPeriod[0]']);
    const soon = [{ start: new Date().toISOString(), end: new Date(Date.now() + 86_400_000).toISOString() }];
    const changed = await patch(entry.id ?? '', [{ op: 'replace', path: '/requestedPeriod', value: soon }]);
    expect(changed.status).toBe(200);
  });
});

describe('freed time', () => {
  it('is offered to the first whom it fits, and is booked by accepting it', async () => {
    const { service, schedule, booked } = await aFullClinic();
    const late = { requestedPeriod: [{ start: inDays(5), end: inDays(6) }] };
    const [, first, second] = [
      await aWaiting(service, 'portal-a', late),
      await aWaiting(service),
      await aWaiting(service, 'portal-b'),
    ];
    await cancel(booked.id, 'portal-b');
    const offer = await offerFor(first.entry, first.patient);
    expect([offer.status, await statusesOf(schedule)]).toEqual(['proposed', ['busy-tentative']]);
    expect(await offersFor(second.entry, second.patient)).toEqual([]);
    const accepted = await book(accepting(offer));
    expect([accepted.status, resourceIn('Appointment', accepted).id]).toEqual([201, offer.id]);
    expect(await statusesOf(schedule)).toEqual(['busy']);
    const over = resourceIn('Appointment', await request('portal-a', 'GET', `/Appointment/${first.entry.id}`));
    expect(over.status).toBe('cancelled');
  });

  it('that is declined goes to the next, and in the end to everybody', async () => {
    const { service, schedule, booked } = await aFullClinic();
    const [first, second] = [await aWaiting(service), await aWaiting(service, 'portal-b')];
    await cancel(booked.id, 'portal-b');
    await cancel((await offerFor(first.entry, first.patient)).id);
    await cancel((await offerFor(second.entry, second.patient)).id, 'portal-b');
    const rows = await eventually(() =>
      stored(
        'Task',
        `code=${encodeURIComponent(`${artefactUri(config, 'LocalTask')}|release`)}&focus=Schedule/${schedule.id}`,
      ),
    ).is((found) => found.length === 3 && found.every(({ status }) => status === 'completed'));
    expect(rows).toHaveLength(3);
    expect(await statusesOf(schedule)).toEqual(['free']);
    expect(await offersFor(first.entry, first.patient)).toHaveLength(1);
  });

  it('is offered to people of each portal in turn, and who declines goes behind others', async () => {
    const { service, booked } = await aFullClinic();
    const [first, second, other] = [
      await aWaiting(service),
      await aWaiting(service),
      await aWaiting(service, 'portal-b'),
    ];
    await cancel(booked.id, 'portal-b');
    await cancel((await offerFor(first.entry, first.patient)).id);
    expect((await offerFor(other.entry, other.patient)).created).toBeDefined();
    expect(await offersFor(second.entry, second.patient)).toEqual([]);
    const placed = await join({ resourceType: 'Appointment', id: first.entry.id ?? '' });
    expect(positionIn(resourceIn('Appointment', placed))).toBeGreaterThan(1);
  });

  it('that nobody answers for goes to the next at the end of the offer', async () => {
    const { service, schedule, booked } = await aFullClinic(48, length('offerFor', 1, 's'));
    const [first, second] = [await aWaiting(service), await aWaiting(service, 'portal-b')];
    await cancel(booked.id, 'portal-b');
    const offer = await offerFor(first.entry, first.patient);
    // The next offer must stand while the answer to this one comes.
    const body = { ...schedule, ...refilling(shortly), meta: undefined };
    expect((await medplum('front-desk', 'PUT', `/Schedule/${schedule.id}`, { body })).status).toBe(200);
    await eventually(async () => Date.now()).is((now) => now > Date.parse(heldUntil(offer) ?? ''));
    await runBot('reconcile');
    const next = await offerFor(second.entry, second.patient);
    expect(next.start).toBe(offer.start);
    expect(refusalOf(await book(accepting(offer)))).toEqual([409, 'hold-expired Appointment.slot[0]']);
  });

  it('is offered to a person although another portal has sent an identifier of theirs', async () => {
    const { service, booked } = await aFullClinic();
    const identifier = [{ system: 'urn:insured', value: service.coding?.[0]?.code ?? '' }];
    const [first, second] = [await aPatient('portal-a', { identifier }), await aPatient('portal-b', { identifier })];
    const entry = succeeded('Appointment', await join(waiting(first, service)));
    const appointment = succeeded('Appointment', await join(waiting(second, service), 'portal-b'));
    await cancel(booked.id, 'portal-b');
    await cancel((await offerFor(entry, first)).id);
    expect((await offerFor(appointment, second)).created).toBeDefined();
  });

  it('replaces the appointment that stands, whose time is freed in turn', async () => {
    const { service, schedule, booked } = await aFullClinic();
    const patient = await aPatient();
    const later = await aSlotIn(72, schedule);
    const current = await bookWhole(later, patient, service);
    const body = {
      resourceType: 'Parameters',
      parameter: [
        { name: 'appt-resource', resource: waiting(patient, service) },
        { name: 'standing-appt-id', valueUri: `Appointment/${current.id}` },
      ],
    };
    const entry = succeeded('Appointment', await join(body));
    const next = await aWaiting(service, 'portal-b');
    await cancel(booked.id, 'portal-b');
    const offer = await offerFor(entry, patient);
    const accepted = resourceIn('Appointment', await book(accepting(offer)));
    const replaces = accepted.extension?.find(({ url }) => url === REPLACES)?.valueReference?.reference;
    expect([accepted.status, replaces]).toEqual(['booked', `Appointment/${current.id}`]);
    const given = resourceIn('Appointment', await request('portal-a', 'GET', `/Appointment/${current.id}`));
    expect(given.status).toBe('cancelled');
    expect((await offerFor(next.entry, next.patient)).start).toBe(current.start);
    expect(await statusesOf(schedule)).toEqual(['busy', 'busy-tentative']);
  });

  it.each<[string, (id: string, to: Slot) => Promise<{ status: number }>]>([
    ['its time', (id, { start, end }) => edit(id, { start, end })],
    [
      'its Slots',
      (id, { start, end, schedule }) => {
        const [from, to] = [start, end].map((moment) => (Date.parse(moment) - Date.parse(minutes(0))) / 60_000);
        const own = { resourceType: 'Schedule' as const, id: schedule.reference?.split('/')[1] ?? '', actor: [] };
        return moveAnew(id, { from: from ?? 0, to: to ?? 0, slots: [[own, from ?? 0, to ?? 0]] });
      },
    ],
  ])('is offered when staff move an appointment away from it, by %s', async (_, move) => {
    const { service, schedule, booked } = await aFullClinic();
    const { entry, patient } = await aWaiting(service);
    const later = await aSlotIn(72, schedule);
    expect((await move(booked.id ?? '', later)).status).toBe(200);
    expect((await offerFor(entry, patient)).start).toBe(booked.start);
  });

  it('is offered by no policy but one that says so, nor shorter ahead than it says', async () => {
    const { service, booked } = await aFullClinic(1);
    const { entry, patient } = await aWaiting(service);
    await cancel(booked.id, 'portal-b');
    const soon = await aFullClinic(1, length('refillNotice', 10, 'min'));
    const there = await aWaiting(soon.service);
    await cancel(soon.booked.id, 'portal-b');
    await offerFor(there.entry, there.patient);
    expect(await offersFor(entry, patient)).toEqual([]);
  });
});

describe('whom staff put on the list', () => {
  const byStaff = { extension: [{ url: artefactUri(config, 'LocalMessages'), valueBoolean: true }] };
  const callsAbout = ({ id }: Appointment) =>
    stored(
      'Task',
      `code=${encodeURIComponent(`${artefactUri(config, 'LocalTask')}|undelivered`)}&focus=Appointment/${id}`,
    );

  it('is asked in order with others; who cannot be reached is called, until the offer is declined', async () => {
    const { service, booked } = await aFullClinic();
    const first = await aWaiting(service, 'front-desk', byStaff);
    const second = await aWaiting(service);
    expect([positionIn(first.entry), positionIn(second.entry)]).toEqual([1, 2]);
    await cancel(booked.id, 'portal-b');
    const offer = await offerFor(first.entry, first.patient);
    expect(await callsAbout(offer)).toMatchObject([
      {
        status: 'requested',
        for: { reference: `Patient/${first.patient.id}` },
        restriction: { period: { end: heldUntil(offer) } },
      },
    ]);
    const body = { ...offer, status: 'cancelled' };
    expect((await medplum('front-desk', 'PUT', `/Appointment/${offer.id}`, { body })).status).toBe(200);
    await offerFor(second.entry, second.patient);
    const [call] = await callsAbout(offer);
    expect(call?.status).toBe('completed');
  });

  it('may keep the appointment of a portal until staff accept for them', async () => {
    const { service, schedule, booked } = await aFullClinic();
    const patient = await aPatient();
    const current = await bookWhole(await aSlotIn(72, schedule), patient, service);
    const body = {
      resourceType: 'Parameters',
      parameter: [
        { name: 'appt-resource', resource: waiting(patient, service, byStaff) },
        { name: 'standing-appt-id', valueUri: `Appointment/${current.id}` },
      ],
    };
    const entry = succeeded('Appointment', await join(body, 'front-desk'));
    await cancel(booked.id, 'portal-b');
    const offer = await offerFor(entry, patient);
    const own = await request('portal-a', 'GET', `/Appointment/${offer.id}`);
    expect(own.status).toBe(200);
    expect(succeeded('Appointment', await book(accepting(offer), 'front-desk')).status).toBe('booked');
    const calls = await callsAbout(offer);
    const given = await request('portal-a', 'GET', `/Appointment/${current.id}`);
    expect(calls.every(({ status }) => status === 'completed')).toBe(true);
    expect(resourceIn('Appointment', given).status).toBe('cancelled');
  });
});

describe('an offer', () => {
  it('is for one time and one person, and its end stays', async () => {
    const { service, schedule, booked } = await aFullClinic();
    const { entry, patient } = await aWaiting(service);
    await cancel(booked.id, 'portal-b');
    const offer = await offerFor(entry, patient);
    const slot = await aSlotIn(96, schedule);
    const moved = await book({ ...whole(slot, patient, { serviceType: [service] }), id: offer.id });
    expect(refusalOf(moved)).toEqual([422, 'slot-mismatch Appointment.slot']);
    const somebody = await aPatient();
    const participant = [{ actor: { reference: `Patient/${somebody.id}` }, status: 'accepted' as const }];
    const given = await book({ ...accepting(offer), participant });
    expect(refusalOf(given)).toEqual([422, 'patient-mismatch Appointment.participant']);
    expect(refusalOf(await hold(accepting(offer)))).toEqual([409, 'appointment-closed Appointment.id']);
    expect((await book(accepting(offer))).status).toBe(201);
  });

  it('is accepted although the policy would let nobody book so late', async () => {
    const { service, schedule, booked } = await aFullClinic();
    const { entry, patient } = await aWaiting(service);
    await cancel(booked.id, 'portal-b');
    const offer = await offerFor(entry, patient);
    const strict = refilling(length('leadTime', 30, 'd'));
    const put = await medplum('front-desk', 'PUT', `/Schedule/${schedule.id}`, {
      body: { ...schedule, ...strict, meta: undefined },
    });
    expect(put.status).toBe(200);
    expect((await book(accepting(offer))).status).toBe(201);
  });
});

it('a wish for a service without a waitlist is refused', async () => {
  const schedule = await aSchedule();
  const refused = await join(waiting(await aPatient(), schedule.serviceType?.[0] ?? {}));
  expect(refusalOf(refused)).toEqual([422, 'service-type-not-offered Appointment.serviceType']);
});

it.each<[string, Partial<Appointment>, number, string]>([
  ['without a service', { serviceType: [] }, 400, 'malformed-request Appointment.serviceType'],
  [
    'for the past',
    { requestedPeriod: [{ start: '2020-01-01T00:00:00Z', end: '2020-01-02T00:00:00Z' }] },
    422,
    'start-in-past Appointment.requestedPeriod[0]',
  ],
  [
    'for ten years',
    { requestedPeriod: [{ start: inDays(1), end: '2099-01-01T00:00:00Z' }] },
    422,
    'too-far-ahead Appointment.requestedPeriod[0]',
  ],
  ['with a Slot', { slot: [{ reference: 'Slot/1' }] }, 400, 'malformed-request Appointment.slot'],
])('a wish %s is refused', async (_, more, status, issue) => {
  const { service } = await aFullClinic();
  expect(refusalOf(await join(waiting(await aPatient(), service, more)))).toEqual([status, issue]);
});

function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString();
}
