import '../config.ts';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Identifier, Patient } from '@medplum/fhirtypes';
import { handler } from '../../../bots/booking/handle-patient-change.ts';
import { nextMoment } from '../clock.ts';
import { configured } from '../config.ts';
import { withMedplum } from '../medplum.ts';
import { aPatient, aPortal, booked, eventOf, type Portal } from './fixtures.ts';

const medplum = withMedplum();

/** What the Medplum of the tests writes counts as written by the service. */
async function asService<T>(act: () => Promise<T>): Promise<T> {
  const { body } = await medplum().send<{ profile: { id: string } }>('GET', 'auth/me');
  return configured({ gatewayClient: body.profile.id }, act);
}

const run = (input: Patient | { deletedResource: Patient }) => handler(medplum().medplum, eventOf(input));
const read = ({ id }: Patient) => medplum().read<Patient>(`Patient/${id}`);
/** The same person twice, as two bookings of the same moment have made it; the second one has an appointment. */
async function twice(more: readonly Partial<Patient>[] = [{}, {}], portals?: readonly Portal[]) {
  const portal = await aPortal(medplum());
  const identifier: Identifier[] = [{ system: 'urn:kvnr', value: randomUUID() }];
  const first = await aPatient(medplum(), portals?.[0] ?? portal, { identifier, ...more[0] });
  // The older one stays, and of two of the same moment the one with the lower id.
  await nextMoment();
  const second = await aPatient(medplum(), portals?.[1] ?? portal, { identifier, ...more[1] });
  const { appointment } = await booked(medplum(), portal, { patient: second });
  return { first, second, appointment };
}

describe('a patient whom two bookings have made', () => {
  it('becomes one again whichever of them is reported', async () => {
    const { first, second, appointment } = await twice();
    await asService(() => run(first));
    expect((await read(second))?.active).toBe(false);
    expect(await medplum().read(`Appointment/${appointment.id}`)).toMatchObject({
      participant: [{ actor: { reference: `Patient/${first.id}` } }],
    });
  });

  it.each<[string, (act: () => Promise<void>) => Promise<void>, Partial<Patient>[]]>([
    ['if a portal or staff have written them', (act) => act(), [{}, {}]],
    ['without an identifier', asService, [{}, { identifier: [] }]],
    ['with other identifiers', asService, [{}, { identifier: [{ system: 'urn:kvnr', value: 'another' }] }]],
    ['if one is inactive', asService, [{ active: false }, {}]],
  ])('stays two %s', async (_, by, more) => {
    const { first, second } = await twice(more);
    await by(() => run(second));
    expect([(await read(first))?.link, (await read(second))?.link]).toEqual([undefined, undefined]);
  });

  it('stays two if they belong to different portals, or to none', async () => {
    const { first, second } = await twice([{}, {}], [await aPortal(medplum()), await aPortal(medplum())]);
    await asService(() => run(second));
    const none = await twice([{ meta: {} }, { meta: {} }]);
    await asService(() => run(none.second));
    for (const one of [first, second, none.first, none.second]) {
      expect((await read(one))?.link).toBeUndefined();
    }
  });
});
