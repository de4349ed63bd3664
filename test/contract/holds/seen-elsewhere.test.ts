import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Patient, Slot } from '@medplum/fhirtypes';
import { ownerOf } from '../../../core/fhir/tags.ts';
import { aCalendar, aService, at, freeTimes, native, proposals, untilFree, wholeDay } from '../calendar/fixtures.ts';
import { type Client, removeClient, standIn } from '../clients.ts';
import { aClinic, aPatient, proposed, stored } from '../fixtures.ts';
import { issuesOf, medplum, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';
import { cancellation, patch } from '../patch/fixtures.ts';
import { heldUntil, hold } from './fixtures.ts';

const clients: Client[] = [];
beforeAll(async () => {
  clients.push(await standIn('portal-a'), await standIn('portal-b'));
});
afterAll(async () => {
  await Promise.all(clients.map(removeClient));
});

it('staff see who holds, until when, and find all that are held', async () => {
  const { slot, patient } = await aClinic();
  const held = resourceIn('Appointment', await hold(proposed(patient, [slot])));
  const [seen, ...more] = await stored('Appointment', `status=proposed&slot=Slot/${slot.id}`);
  expect([seen?.id, more]).toEqual([held.id, []]);
  expect(seen && [heldUntil(seen), ownerOf(seen, config)]).toEqual([heldUntil(held), clients[0]?.id]);
  await patch(held.id ?? '', cancellation);
});

const onSlot = (patient: Patient, slot: Slot, serviceType: Slot['serviceType']) => ({
  ...proposed(patient, [slot]),
  start: slot.start,
  end: slot.end,
  serviceType,
});

it("Medplum's own calendar sees the time as taken while it is held, and as free again afterwards", async () => {
  const service = await aService();
  const schedule = await aCalendar(service, wholeDay);
  await untilFree(schedule, ['09:00-09:30', '09:30-10:00', '10:00-10:30', '10:30-11:00']);
  const before = (await proposals(schedule, service)).get('09:00');
  expect(before).toBeDefined();
  const [slot] = await stored('Slot', `schedule=Schedule/${schedule.id}&status=free&start=${at('09:00')}`);
  if (!slot) {
    throw new Error('There is no slot at nine.');
  }
  const held = resourceIn('Appointment', await hold(onSlot(await aPatient(), slot, service.type)));
  expect([...(await proposals(schedule, service)).keys()]).not.toContain('09:00');
  expect((await native('book', before)).status).toBe(400);
  expect((await patch(held.id ?? '', cancellation)).status).toBe(200);
  expect([...(await proposals(schedule, service)).keys()]).toContain('09:00');
  expect(await freeTimes(schedule)).toContain('09:00-09:30');
});

it('nobody learns who holds: not from the slot, the refusal, a search, or the Tasks', async () => {
  const { slot, patient } = await aClinic();
  const held = resourceIn('Appointment', await hold(proposed(patient, [slot])));
  const others = await aPatient('portal-b');
  const refused = await hold(proposed(others, [slot]), 'portal-b');
  expect(issuesOf(refused)).toEqual(['slot-not-free Appointment.slot[0]']);
  const answers = [
    refused,
    await request('portal-b', 'GET', `/Slot/${slot.id}`),
    await request('portal-b', 'GET', `/Appointment?slot=Slot/${slot.id}&_include=Appointment:slot`),
    await request('portal-b', 'GET', `/Appointment/${held.id}`),
    await medplum('portal-b', 'GET', `/Slot/${slot.id}`, { headers: { 'x-medplum': 'extended' } }),
    await medplum('portal-b', 'GET', `/Appointment?slot=Slot/${slot.id}&_total=accurate`),
    await medplum('portal-b', 'GET', '/Task?_total=accurate&_count=100'),
  ];
  const secrets = [held.id, patient.id, clients[0]?.id].map((secret) => secret ?? 'missing');
  for (const { text, status } of answers) {
    const own = status === 404 ? secrets.slice(1) : secrets;
    expect(own.filter((secret) => text.includes(secret))).toEqual([]);
  }
  expect(resourceIn('Bundle', answers[5] ?? refused).total).toBe(0);
  await patch(held.id ?? '', cancellation);
});
