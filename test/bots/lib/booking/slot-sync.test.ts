import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { handler as validate } from '../../../../bots/booking/validate-appointment.ts';
import { handler as reconcile } from '../../../../bots/calendar/reconcile.ts';
import { syncAppointment } from '../../../../bots/lib/booking/slot-sync.ts';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import {
  aPatient,
  aPortal,
  aService,
  asks,
  booked,
  eventOf,
  extension,
  invalid,
  meanwhile,
  overtaken,
  refused,
  unavailable,
  writes,
} from '../../booking/fixtures.ts';
import { later } from '../../clock.ts';
import { config } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';

const medplum = withMedplum();

const sync = (seen: Appointment) => syncAppointment(medplum().medplum, seen);
const statusOf = async (slot: Slot) => (await medplum().read<Slot>(`Slot/${slot.id}`))?.status;
const stepOfVisit = (name: string) => ({
  url: 'step',
  extension: [
    { url: 'name', valueString: name },
    { url: 'schedule', valueReference: { reference: 'Schedule/s1' } },
  ],
});

/** An appointment and its slot; one that is cancelled was booked before. */
async function setting({ status = 'booked', ...more }: Parameters<typeof booked>[2] = {}) {
  const isCancelled = status === 'cancelled';
  const made = await booked(medplum(), await aPortal(medplum()), { ...more, status: isCancelled ? 'booked' : status });
  return isCancelled ? { ...made, appointment: await medplum().change(made.appointment, { status }) } : made;
}

it.each(['booked', 'cancelled'] as const)(
  'a visit of which the clinic has answered one step is %s as a whole, wherever the job dies',
  async (status) => {
    const portal = await aPortal(medplum());
    const patient = await aPatient(medplum(), portal);
    const service = await aService(medplum(), {
      extension: [extension('LocalVisit', { extension: ['one', 'two'].map(stepOfVisit) })],
    });
    const step = (valueString: string) => ({
      patient,
      status: 'pending' as const,
      identifier: [{ system: artefactUri(config, 'LocalVisitGroup'), value: service.id }],
      extension: [
        extension('LocalVisitStep', {
          extension: [
            { url: 'service', valueReference: { reference: `HealthcareService/${service.id}` } },
            { url: 'step', valueString },
          ],
        }),
      ],
    });
    const first = await booked(medplum(), portal, step('one'));
    const second = await booked(medplum(), portal, { ...step('two'), from: '10:00', to: '10:30' });
    const answered = await medplum().change<Appointment>(first.appointment, { status });
    let written = 0;
    medplum().interfere((asked) => (writes(asked) && ++written > 1 ? unavailable() : undefined));
    await sync(answered).catch(() => undefined);
    medplum().interfere(() => undefined);
    await later(60_000, () => reconcile(medplum().medplum));
    const slot = status === 'booked' ? 'busy' : 'free';
    const appointment = await medplum().read<Appointment>(`Appointment/${second.appointment.id}`);
    expect([await statusOf(first.slot), appointment?.status]).toEqual([slot, status]);
    expect(await statusOf(second.slot)).toBe(slot);
  },
);

it.each([
  ['stays taken if the cancelled appointment is booked again meanwhile', 'cancelled', 'booked', 'busy'],
  ['stays free if the appointment is cancelled meanwhile', 'booked', 'cancelled', 'free'],
] as const)('the slot of an appointment %s', async (_, before, after, expected) => {
  const { appointment, slot } = await setting({ status: before });
  await medplum().change(slot, { status: expected === 'busy' ? 'free' : 'busy' });
  let isRead = false;
  meanwhile(medplum(), asks(/^GET Appointment\?slot=/), async () => {
    isRead = true;
    await medplum().change(appointment, { status: after });
    await medplum().change(slot, { status: expected });
  });
  await sync(appointment);
  expect([isRead, await statusOf(slot)]).toEqual([true, expected]);
});

describe('a write', () => {
  const cancelled = () => setting({ status: 'cancelled' });

  it.each([
    ['overtaken each time', overtaken],
    ['refused', refused],
    ['invalid', invalid],
    ['lost', unavailable],
  ])('that is %s is an error', async (_, answer) => {
    const { appointment } = await cancelled();
    medplum().interfere((asked) => (writes(asked) ? answer() : undefined));
    await expect(sync(appointment)).rejects.toThrow(`The slots of Appointment/${appointment.id} could not be written`);
  });
});

it('a Slot that staff name by the address of the server, or by a version, is named by its id', async () => {
  const { appointment, slot } = await setting();
  const named = (reference: string) => ({ ...appointment, slot: [{ reference }] });
  const addresses = [`${medplum().medplum.fhirUrl()}/Slot/${slot.id}`, `Slot/${slot.id}/_history/1`];
  for (const one of addresses.map(named)) {
    expect(await validate(medplum().medplum, eventOf(one))).toMatchObject({ slot: [{ reference: `Slot/${slot.id}` }] });
  }
  const elsewhere = `https://other.example.org/fhir/R4/Slot/${slot.id}`;
  expect(await validate(medplum().medplum, eventOf(named(elsewhere)))).toMatchObject({
    resourceType: 'OperationOutcome',
  });
});
