import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient, Slot } from '@medplum/fhirtypes';
import { handler as book } from '../../../bots/booking/book.ts';
import { bookAppointment } from '../../../bots/lib/booking/book.ts';
import { type DecisionOptions, decideBooking, type Requestor } from '../../../bots/lib/booking/decide.ts';
import type { RequestFailure } from '../../../bots/lib/medplum.ts';
import { parseBookRequest } from '../../../core/booking/request/request.ts';
import { told } from '../../lib/told.ts';
import { config, configured } from '../config.ts';
import { type Asked, withMedplum } from '../medplum.ts';
import {
  aPatient,
  aSlot,
  at,
  bookable,
  eventOf,
  only,
  overtaken,
  type Portal,
  parameters,
  problems,
  proposed,
  requestorOf,
  tagsOf,
  writes,
} from './fixtures.ts';

const medplum = withMedplum();

describe('book', () => {
  const setting = (schedule = {}) => bookable(medplum(), schedule);

  /** What a booking is made of. */
  interface Setting {
    readonly portal: Portal;
    readonly patient: Patient;
    readonly slot: Slot;
  }

  const identifier = [{ system: 'urn:portal', value: 'one' }];

  const book = (
    { portal, patient, slot }: Setting,
    more: Partial<Appointment> = {},
    options: Parameters<typeof bookAppointment>[3] = {},
  ) => {
    const request = parseBookRequest(proposed(patient, [slot], more), config);
    return bookAppointment(medplum().medplum, request, requestorOf(portal), options);
  };

  const issuesIn = (result: Awaited<ReturnType<typeof book>>) => (result.kind === 'refused' ? told(result.issues) : []);

  describe('a write that fails', () => {
    it.each([[undefined], [[]]])('without showing the appointment may have been carried out (%j)', async (entry) => {
      const given = await setting();
      medplum().interfere((asked) =>
        writes(asked)
          ? { status: 200, body: { resourceType: 'Bundle', type: 'transaction-response', entry } }
          : undefined,
      );
      const result = await book(given);
      expect(issuesIn(result)).toEqual(['upstream-unavailable']);
      expect(result).toMatchObject({ issues: [{ diagnostics: expect.stringContaining('Appointment.identifier') }] });
    });
  });

  describe('an answer that is lost', () => {
    const lost = async ({ bundle }: Asked): Promise<RequestFailure> => {
      // It is carried out all the same.
      const { entry = [] } = bundle ?? {};
      await medplum().transaction(entry);
      return 'no-answer';
    };

    it.each([
      ['an identifier', identifier],
      ['one identifier that has a value', [{ system: 'urn:portal' }, ...identifier]],
    ])('leads to the appointment if it has %s', async (_, identifiers) => {
      const given = await setting();
      medplum().interfere(only(writes, lost));
      expect(await book(given, { identifier: identifiers })).toMatchObject({
        kind: 'existing',
        appointments: [{ status: 'booked' }],
      });
    });

    it.each([
      ['no identifier', {}],
      ['an identifier without a value', { identifier: [{ system: 'urn:portal' }] }],
    ])('of a booking with %s is told: sent again, it could book twice', async (_, more) => {
      const given = await setting();
      medplum().interfere(only(writes, () => 'no-answer'));
      const result = await book(given, more);
      expect(result).toMatchObject({ issues: [{ diagnostics: expect.stringContaining('may have been stored') }] });
    });

    it('is told in the end, too, if others were faster afterwards', async () => {
      const given = await setting();
      let attempts = 0;
      medplum().interfere((asked) => {
        attempts += writes(asked) ? 1 : 0;
        return writes(asked) ? (attempts === 1 ? 'too-late' : overtaken()) : undefined;
      });
      const result = await book(given, { identifier });
      expect(result).toMatchObject({ issues: [{ diagnostics: expect.stringContaining('may have been stored') }] });
      expect(issuesIn(result)).toEqual(['upstream-timeout']);
    });
  });
});

describe('decide', () => {
  const setting = (schedule = {}) => bookable(medplum(), schedule);

  /** Decides about a body of `$book`. */
  async function decide(body: unknown, requestor: Requestor, options?: DecisionOptions) {
    const { request, ...parsed } = parseBookRequest(body, config);
    if (!request) {
      throw new Error('The request cannot be read.');
    }
    return decideBooking(medplum().medplum, { ...parsed, request }, requestor, options);
  }

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

    it('and was made twice by the service is one person', async () => {
      const { portal, body, gatewayClient } = await ambiguous();
      const decision = await configured({ gatewayClient }, () => decide(body, requestorOf(portal)));
      expect(decision.plan.kind).toBe('write');
    });
  });
});

it('the limits of a requestor hold exactly where few are allowed', async () => {
  const { portal, patient, schedule } = await bookable(medplum());
  const found: string[] = [];
  await configured({ requestors: { maxOpenAppointments: 4, maxBookingsPerMinute: 100 } }, async () => {
    for (const hour of ['10', '11', '12', '13', '14', '15']) {
      const slot = await aSlot(medplum(), schedule, `${hour}:00`, `${hour}:30`);
      const asked = proposed(patient, [slot], { start: at(`${hour}:00`), end: at(`${hour}:30`) });
      found.push(problems(await book(medplum().medplum, eventOf(asked, portal))).join() || 'booked');
    }
  });
  const refused = 'portal-limit-reached Appointment';
  expect(found).toEqual([...Array(4).fill('booked'), refused, refused]);
});
