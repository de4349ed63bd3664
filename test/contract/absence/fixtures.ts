import { randomUUID } from 'node:crypto';
import type {
  Appointment,
  CodeableConcept,
  Parameters,
  ParametersParameter,
  Patient,
  Schedule,
  Slot,
  Task,
} from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { eventually } from '../../lib/until.ts';
import { aPatient, aSchedule, aSlot, book, proposed, stored, succeeded } from '../fixtures.ts';
import { request } from '../http.ts';
import { config, type Role } from '../installation.ts';
import { runBot } from '../requests/fixtures.ts';

const [HOUR, DAY] = [3_600_000, 86_400_000];

/** Midnight UTC of a day so far from now that no test meets another one. */
export const morning = Math.ceil(Date.now() / DAY) * DAY + 10 * DAY;

/** An instant so many days and hours after it. */
export const at = (days: number, hours: number): string => new Date(morning + days * DAY + hours * HOUR).toISOString();

/** A service of its own. */
export const aService = (): CodeableConcept => ({
  coding: [{ system: artefactUri(config, 'LocalServiceType'), code: randomUUID() }],
});

/** A time: hours after the morning, or days and hours. */
type Time = number | readonly [days: number, hours: number];

/** A calendar with free half hours at these times. */
export async function aCalendar(service: CodeableConcept, times: readonly Time[], more: Partial<Schedule> = {}) {
  const schedule = await aSchedule({ serviceType: [service], ...more });
  const slots = await Promise.all(
    times
      .map((time) => (typeof time === 'number' ? ([0, time] as const) : time))
      .map(([days, hours]) => aSlot(schedule, 0, 0, { start: at(days, hours), end: at(days, hours + 0.5) })),
  );
  return { schedule, slots };
}

/** An appointment of a service as a portal proposes it, for the whole of the slots. */
export const proposedFor = (patient: Patient, slots: readonly Slot[], service: CodeableConcept): Appointment => ({
  ...proposed(patient, slots),
  ...{ serviceType: [service], start: slots[0]?.start ?? '', end: slots.at(-1)?.end ?? '' },
});

/** A patient whom a call reaches. */
export const aReachable = (role: Role = 'portal-a') =>
  aPatient(role, { telecom: [{ system: 'phone', value: '+49 30 1234567' }] });

/** An appointment of a new patient for the whole of the slots. */
export async function aBooked(slots: readonly Slot[], service: CodeableConcept, role: Role = 'portal-a') {
  const patient = await aReachable(role);
  const appointment = succeeded('Appointment', await book(proposedFor(patient, slots, service), role));
  return { patient, appointment };
}

const referring = (name: string, reference: string): ParametersParameter => ({ name, valueReference: { reference } });

/** The body of `$absence`: of these calendars on the first day. */
export const absent = (
  schedules: readonly Schedule[],
  more: readonly ParametersParameter[] = [],
  period: { readonly start: string; readonly end: string } = { start: at(0, 0), end: at(1, 0) },
): Parameters => ({
  resourceType: 'Parameters',
  parameter: [
    ...schedules.map(({ id }) => referring('schedule', `Schedule/${id}`)),
    { name: 'period', valuePeriod: period },
    { name: 'reason', valueString: 'ill' },
    ...more,
  ],
});

export const substitute = ({ id }: Schedule): ParametersParameter => referring('substitute', `Schedule/${id}`);

export const silence = (valueCode: string): ParametersParameter => ({ name: 'silence', valueCode });

/** `$absence`. */
export const absence = (body: unknown, role: Role = 'front-desk') =>
  request(role, 'POST', '/Schedule/$absence', { body });

/** The answer of `$absence`, which must have succeeded. */
export const planned = async (body: unknown): Promise<Parameters> => succeeded('Parameters', await absence(body));

const partOf = ({ part = [] }: ParametersParameter, name: string) => part.find((parameter) => parameter.name === name);

/** What is planned for the appointments: id, Schedule, start, how the person is reached, and how it ended. */
export const linesIn = ({ parameter = [] }: Parameters) =>
  parameter
    .filter(({ name }) => name === 'plan')
    .map((one) => {
      const proposal = partOf(one, 'proposal');
      return {
        id: partOf(one, 'appointment')?.valueReference?.reference?.split('/')[1],
        schedule: proposal && partOf(proposal, 'schedule')?.valueReference?.reference,
        start: proposal && partOf(proposal, 'start')?.valueInstant,
        reach: partOf(one, 'reach')?.valueCode,
        outcome: partOf(one, 'outcome')?.valueCode,
        sent: one,
      };
    });

/** Ids of the Slots that block. */
export const blocksIn = ({ parameter = [] }: Parameters): string[] =>
  parameter.filter(({ name }) => name === 'block').flatMap(({ valueReference }) => valueReference?.reference ?? []);

const code = (name: string): string => encodeURIComponent(`${artefactUri(config, 'LocalTask')}|${name}`);

/** The row of an appointment. */
export const rowsOf = ({ id }: Appointment): Promise<Task[]> =>
  stored('Task', `code=${code('affected')}&focus=Appointment/${id}`);

/** How a row has ended. */
export const outcomeOf = (row: Task | undefined): string | undefined => row?.businessStatus?.coding?.[0]?.code;

/** Lets the clock run until the row of an appointment is as it should be. */
export const rowOnce = async (appointment: Appointment, isGood: (row: Task) => boolean): Promise<Task | undefined> => {
  const rows = await eventually(async () => {
    await runBot('end-requests');
    return rowsOf(appointment);
  }).is((found) => found.some(isGood));
  return rows.find(isGood);
};

/** The offer that a row names. */
export async function offerOf(appointment: Appointment): Promise<Appointment> {
  const row = await rowOnce(appointment, ({ input = [] }) => input.some(({ type }) => type.text === 'offer'));
  const reference = row?.input?.find(({ type }) => type.text === 'offer')?.valueReference?.reference ?? '';
  const [offer] = await stored('Appointment', `_id=${reference.split('/')[1]}`);
  if (!offer) {
    throw new Error('There is no offer.');
  }
  return offer;
}

/** An appointment as it is now. */
export const now = async ({ id }: Appointment): Promise<Appointment> => {
  const [found] = await stored('Appointment', `_id=${id}`);
  if (!found) {
    throw new Error(`There is no Appointment/${id}.`);
  }
  return found;
};
