import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { issuesOf } from '../http.ts';
import { fhirPathPatch, patch, read, replacing } from '../patch/fixtures.ts';
import { aPending, edit, inMedplum } from './fixtures.ts';

type Status = Appointment['status'];

const statuses: readonly Status[] = [
  'pending',
  'booked',
  'arrived',
  'checked-in',
  'fulfilled',
  'cancelled',
  'noshow',
  'proposed',
];

/** The changes by which the clinic brings a pending appointment to a status. */
const ways: Readonly<Partial<Record<Status, readonly Status[]>>> = {
  pending: [],
  booked: ['booked'],
  arrived: ['booked', 'arrived'],
  fulfilled: ['booked', 'fulfilled'],
  noshow: ['booked', 'noshow'],
  cancelled: ['cancelled'],
};

/** The statuses to which staff may change an appointment, from each. */
const ofStaff: Readonly<Partial<Record<Status, readonly Status[]>>> = {
  pending: ['booked', 'cancelled'],
  booked: ['arrived', 'checked-in', 'fulfilled', 'noshow', 'cancelled'],
  arrived: ['booked', 'checked-in', 'fulfilled', 'noshow'],
  fulfilled: [],
  noshow: [],
  cancelled: [],
};

/** A portal cancels what is to come, and changes nothing else. */
const mayPortal = (from: Status, to: Status) => to === 'cancelled' && (from === 'pending' || from === 'booked');
const mayStaff = (from: Status, to: Status) => ofStaff[from]?.includes(to) ?? false;

const rows = Object.keys(ways).flatMap((from) =>
  statuses.filter((to) => to !== from).map((to) => [from as Status, to] as const),
);

async function anAppointment(status: Status) {
  const { id } = await aPending();
  for (const step of ways[status] ?? []) {
    expect((await edit(id, { status: step })).status).toBe(200);
  }
  return id;
}

const to = (status: Status) => fhirPathPatch(replacing('Appointment.status', { valueCode: status }));

describe('who may change a status', () => {
  it.each(rows)('the requestor, from %s to %s', async (from, wanted) => {
    const id = await anAppointment(from);
    const before = await read(id);
    const response = await patch(id, to(wanted));
    const isAllowed = mayPortal(from, wanted);
    expect(response.status).toBe(isAllowed ? 200 : 422);
    expect(issuesOf(response)).toEqual(isAllowed ? [] : ['transition-not-allowed Appointment.status']);
    expect(isAllowed ? (await read(id)).status : await read(id)).toEqual(isAllowed ? wanted : before);
  });

  it.each(rows)('clinic staff at the service, from %s to %s', async (from, wanted) => {
    const id = await anAppointment(from);
    const before = await inMedplum(id);
    const response = await patch(id, to(wanted), 'front-desk');
    const isAllowed = mayStaff(from, wanted);
    expect(response.status).toBe(isAllowed ? 200 : 422);
    expect((await inMedplum(id)).status).toBe(isAllowed ? wanted : before.status);
  });

  it.each(rows)('clinic staff in Medplum, from %s to %s', async (from, wanted) => {
    const id = await anAppointment(from);
    const before = await inMedplum(id);
    const response = await edit(id, { status: wanted });
    const isAllowed = mayStaff(from, wanted);
    expect(response.status < 300).toBe(isAllowed);
    expect(issuesOf(response)).toEqual(isAllowed ? [] : ['transition-not-allowed Appointment.status']);
    expect((await inMedplum(id)).status).toBe(isAllowed ? wanted : before.status);
  });
});
