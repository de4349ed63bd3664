import '../config.ts';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Identifier, Patient } from '@medplum/fhirtypes';
import { handler } from '../../../bots/booking/handle-patient-change.ts';
import { nextMoment } from '../clock.ts';
import { configured } from '../config.ts';
import { withMedplum } from '../medplum.ts';
import { aPatient, aPortal, booked, eventOf, invalid, meanwhile, type Portal, writes } from './fixtures.ts';

const medplum = withMedplum();

/** What the Medplum of the tests writes counts as written by the service. */
async function asService<T>(act: () => Promise<T>): Promise<T> {
  const { body } = await medplum().send<{ profile: { id: string } }>('GET', 'auth/me');
  return configured({ gatewayClient: body.profile.id }, act);
}

const run = (input: Patient | { deletedResource: Patient }) => handler(medplum().medplum, eventOf(input));
const read = ({ id }: Patient) => medplum().read<Patient>(`Patient/${id}`);
/** The same person twice, as two bookings of the same moment have made it; each has an appointment. */
async function twice(more: readonly Partial<Patient>[] = [{}, {}], portals?: readonly Portal[]) {
  const portal = await aPortal(medplum());
  const identifier: Identifier[] = [{ system: 'urn:kvnr', value: randomUUID() }];
  const first = await aPatient(medplum(), portals?.[0] ?? portal, { identifier, ...more[0] });
  const second = await aPatient(medplum(), portals?.[1] ?? portal, { identifier, ...more[1] });
  const both = [
    await booked(medplum(), portal, { patient: first }),
    await booked(medplum(), portal, { patient: second }),
  ];
  return { first, second, appointments: both.map(({ appointment }) => appointment) };
}

/** They are one now, which has all appointments. */
async function expectOne({ first, second, appointments }: Awaited<ReturnType<typeof twice>>) {
  const records = [await read(first), await read(second)];
  const [survivor, other] = records.filter((patient) => patient?.active !== false);
  expect([survivor, other]).toEqual([expect.anything(), undefined]);
  for (const { id } of appointments) {
    expect(await medplum().read(`Appointment/${id}`)).toMatchObject({
      status: 'booked',
      participant: [{ actor: { reference: `Patient/${survivor?.id}` } }],
    });
  }
}

describe('a patient whom two bookings have made', () => {
  it('becomes one again if another job merges them at the same moment, and one was just changed', async () => {
    const same = await twice();
    await nextMoment();
    meanwhile(medplum(), writes, async () => run(await medplum().change(same.first, { gender: 'unknown' })));
    await asService(() => run(same.second));
    await expectOne(same);
  });

  it.each<[string, (act: () => Promise<void>) => Promise<void>, Partial<Patient>[]]>([
    ['if a portal or staff have written them', (act) => act(), [{}, {}]],
    ['without an identifier', asService, [{}, { identifier: [] }]],
    ['with other identifiers', asService, [{}, { identifier: [{ system: 'urn:kvnr', value: 'another' }] }]],
    ['with another name', asService, [{ name: [{ given: ['Ida'] }] }, { name: [{ given: ['Ada'] }] }]],
    ['born on another day', asService, [{ birthDate: '1980-01-01' }, { birthDate: '2010-01-01' }]],
    ['if one is inactive', asService, [{ active: false }, {}]],
  ])('stays two %s', async (_, by, more) => {
    const { first, second } = await twice(more);
    await by(() => run(second));
    expect([(await read(first))?.link, (await read(second))?.link]).toEqual([undefined, undefined]);
  });
});

it('the appointments of a patient who is gone are cancelled, although Medplum does not take the change of one', async () => {
  const portal = await aPortal(medplum());
  const patient = await aPatient(medplum(), portal, { active: false });
  const made = [await booked(medplum(), portal, { patient }), await booked(medplum(), portal, { patient })];
  const [one, other] = made.map(({ appointment }) => `Appointment/${appointment.id}`);
  const statuses = async () =>
    (await medplum().find<Appointment>(`Appointment?patient=Patient/${patient.id}`)).map(({ status }) => status).sort();
  for (const odd of [one, other]) {
    medplum().interfere(({ entries }) => (entries.includes(`PUT ${odd}`) ? invalid() : undefined));
    await expect(run(patient)).rejects.toThrow('could not be written');
    expect(await statuses()).toEqual(['booked', 'cancelled']);
    for (const { appointment } of made) {
      await medplum().change(appointment, { status: 'booked' });
    }
  }
});
