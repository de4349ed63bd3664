import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Bundle, Patient, Slot } from '@medplum/fhirtypes';
import { type DecisionOptions, decideBooking, type Requestor } from '../../../../bots/lib/booking/decide.ts';
import { parseBookRequest } from '../../../../core/booking/book/request/request.ts';
import { told } from '../../../lib/told.ts';
import {
  aPatient,
  aSlot,
  asks,
  at,
  bookable,
  booked,
  only,
  originOf,
  parameters,
  policy,
  proposed,
  refused,
  requestorOf,
  tagsOf,
  unavailable,
} from '../../booking/fixtures.ts';
import { config, configured } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';

const medplum = withMedplum();

const setting = (schedule = {}) => bookable(medplum(), schedule);

/** Decides about a body of `$book`. */
async function decide(body: unknown, requestor: Requestor, options?: DecisionOptions) {
  const { request, ...parsed } = parseBookRequest(body, config);
  if (!request) {
    throw new Error('The request cannot be read.');
  }
  return decideBooking(medplum().medplum, { ...parsed, request }, requestor, options);
}

type Decision = Awaited<ReturnType<typeof decide>>;

const issuesIn = ({ plan }: Decision) => (plan.kind === 'refuse' ? told(plan.issues) : []);

describe('a decision', () => {
  it('is made by what the caller may read', async () => {
    const { portal, patient, slot, schedule } = await setting();
    const { plan, state } = await decide(proposed(patient, [slot]), requestorOf(portal));
    expect(plan.kind).toBe('write');
    expect(new Set(state.keys())).toEqual(
      new Set([`Slot/${slot.id}`, `Schedule/${schedule.id}`, `Patient/${patient.id}`]),
    );
  });

  it('is a refusal where a limit is reached', async () => {
    const { portal, patient, slot, schedule } = await setting();
    await booked(medplum(), portal, { schedule, patient, from: '10:00', to: '10:30' });
    const decision = await configured({ requestors: { maxOpenAppointments: 1, maxBookingsPerMinute: 9 } }, () =>
      decide(proposed(patient, [slot]), requestorOf(portal)),
    );
    expect(issuesIn(decision)).toEqual(['portal-limit-reached Appointment']);
    expect([...decision.state.keys()].filter((key) => key.startsWith('Appointment/'))).toEqual([]);
  });

  it('looks for slots that are not there at that time by their ids', async () => {
    const { portal, patient, slot, schedule } = await setting();
    const elsewhere = await aSlot(medplum(), schedule, '11:00', '11:30');
    const body = proposed(patient, [slot, elsewhere], { start: at('09:00'), end: at('09:30') });
    const { plan, state } = await decide(body, requestorOf(portal));
    expect(plan.kind).toBe('refuse');
    expect(state.has(`Slot/${elsewhere.id}`)).toBe(true);
  });

  it('does not see what the requestor may not see', async () => {
    const { portal, patient, slot } = await setting();
    const narrow: Requestor['narrow'] = (state) => new Map([...state].filter(([key]) => !key.startsWith('Patient/')));
    const decision = await decide(proposed(patient, [slot]), { ...requestorOf(portal), narrow });
    expect(issuesIn(decision)).toEqual(['patient-not-found Appointment.participant[0].actor']);
    expect(decision.state.has(`Patient/${patient.id}`)).toBe(false);
    expect(decision.state.has(`Slot/${slot.id}`)).toBe(true);
  });

  it('knows by its mark whether a slot was offered that takes the time', async () => {
    const { portal, patient, slot, schedule } = await setting();
    const over = await aSlot(medplum(), schedule, '09:00', '09:30', { status: 'busy' });
    expect(issuesIn(await decide(proposed(patient, [slot]), requestorOf(portal)))).toEqual([
      'slot-not-free Appointment.slot[0]',
    ]);
    await medplum().change<Slot>(over, { identifier: [originOf(over)] });
    expect((await decide(proposed(patient, [slot]), requestorOf(portal))).plan.kind).toBe('write');
  });
});

describe('what cannot be read', () => {
  it.each([
    ['the request itself', () => true],
    ['slots at another time', asks(/Slot\?_id/)],
  ])('is no decision: %s', async (_, isMeant) => {
    const { portal, patient, slot, schedule } = await setting();
    await aSlot(medplum(), schedule, '09:00', '09:30', { status: 'busy' });
    const elsewhere = await aSlot(medplum(), schedule, '11:00', '11:30');
    medplum().interfere(only(isMeant, refused));
    const body = proposed(patient, [slot, elsewhere], { start: at('09:00'), end: at('09:30') });
    const decision = await decide(body, requestorOf(portal));
    expect(issuesIn(decision)).toEqual(['upstream-unavailable']);
    expect(decision.state.size).toBe(0);
  });

  it('is no decision: who calls', async () => {
    const { portal, patient, slot } = await setting({ extension: [policy({ leadTime: 8_000 })] });
    medplum().interfere(only(({ type }) => type === 'read', refused));
    expect(issuesIn(await decide(proposed(patient, [slot]), requestorOf(portal)))).toEqual(['upstream-unavailable']);
  });

  it('is no decision: one search of many', async () => {
    const { portal, patient, slot } = await setting();
    medplum().interfere(({ entries }) => ({
      status: 200,
      body: {
        resourceType: 'Bundle',
        type: 'batch-response',
        entry: entries.map((_, index) => ({ response: { status: index === 0 ? '500' : '200' } })),
      },
    }));
    const decision = await decide(proposed(patient, [slot]), requestorOf(portal));
    expect(issuesIn(decision)).toEqual(['upstream-unavailable']);
  });

  it('is no decision: the limits of the requestor', async () => {
    const { portal, patient, slot } = await setting();
    medplum().interfere(async ({ bundle }) => {
      const { body } = await medplum().fhir<Bundle>('POST', '', bundle, { authorization: portal.authorization });
      return { status: 200, body: { ...body, entry: body.entry?.slice(0, -1) } };
    });
    expect(issuesIn(await decide(proposed(patient, [slot]), requestorOf(portal)))).toEqual(['upstream-unavailable']);
  });

  it('is more that takes the time than Medplum finds at once: the rest is read with the rights of the caller', async () => {
    const { portal, patient, slot } = await setting();
    medplum().interfere(
      only(asks(/Slot\?/), async ({ bundle }) => {
        const { body } = await medplum().fhir<Bundle>('POST', '', bundle, { authorization: portal.authorization });
        const [first, ...others] = body.entry ?? [];
        const found = { ...(first?.resource as Bundle), link: [{ relation: 'next', url: 'https://medplum.example/' }] };
        return { status: 200, body: { ...body, entry: [{ ...first, resource: found }, ...others] } };
      }),
    );
    expect((await decide(proposed(patient, [slot]), requestorOf(portal))).plan.kind).toBe('write');
  });

  it('for another reason than the server is an error', async () => {
    const { portal, patient, slot } = await setting();
    const narrow = () => {
      throw new TypeError('broken');
    };
    await expect(decide(proposed(patient, [slot]), { ...requestorOf(portal), narrow })).rejects.toThrow('broken');
  });
});

describe('a patient who is submitted', () => {
  const identifier = [{ system: 'urn:kvnr', value: 'A123' }];

  async function ambiguous() {
    const { portal, slot } = await setting();
    const admin = await medplum().send<{ profile: { id: string } }>('GET', 'auth/me');
    const patients = [
      await aPatient(medplum(), portal, { identifier }),
      await aPatient(medplum(), portal, { identifier }),
    ];
    const submitted: Patient = { resourceType: 'Patient', identifier, meta: tagsOf(portal) };
    const { participant: _, ...appointment } = proposed(submitted, [slot]);
    const body = parameters(
      { name: 'appt-resource', resource: appointment as Appointment },
      { name: 'patient', resource: submitted },
    );
    return { portal, body, patients, gatewayClient: admin.body.profile.id };
  }

  it('and is known twice is looked at again, by who made the two', async () => {
    const { portal, body } = await ambiguous();
    const decision = await decide(body, requestorOf(portal));
    expect(issuesIn(decision).join()).toMatch(/^patient-ambiguous/);
  });

  it('and is known twice is looked at again, whatever else is wrong', async () => {
    const { portal, body } = await ambiguous();
    const [first, ...others] = body.parameter ?? [];
    const resource = { ...first?.resource, status: 'booked' } as Appointment;
    const decision = await decide(parameters({ name: 'appt-resource', resource }, ...others), requestorOf(portal));
    expect(issuesIn(decision)).toHaveLength(2);
  });

  it('and was made twice by the service is one person', async () => {
    const { portal, body, gatewayClient } = await ambiguous();
    const decision = await configured({ gatewayClient }, () => decide(body, requestorOf(portal)));
    expect(decision.plan.kind).toBe('write');
  });

  it('and whose duplicates cannot be read is no decision', async () => {
    const { portal, body } = await ambiguous();
    medplum().interfere(only(asks(/GET Patient\?_id=/), unavailable, 0, 1));
    expect(issuesIn(await decide(body, requestorOf(portal)))).toEqual(['upstream-unavailable']);
  });
});
