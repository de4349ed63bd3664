import { allOk, createReference, isReference, isResource, type WithId } from '@medplum/core';
import type { FhirResponse } from '@medplum/fhir-router';
import type {
  Appointment,
  AppointmentParticipant,
  HealthcareService,
  Parameters,
  Reference,
  Schedule,
  Slot,
} from '@medplum/fhirtypes';
import type { SandboxRepository } from '../repository/repository.ts';
import { isAligned, MINUTE } from './availability.ts';
import { assertAvailable } from './book.ts';
import { readCalendars } from './calendar.ts';
import { slotsOf } from './end.ts';
import { assertOffered, slotsFor } from './find.ts';
import { refusal, servicesIn } from './parameters.ts';

interface Target {
  readonly start: number;
  readonly schedules: readonly Reference<Schedule>[];
}

function targetIn(body: unknown): Target {
  const given = isResource<Parameters>(body, 'Parameters') ? (body.parameter ?? []) : [];
  const valuesOf = (name: string) => given.filter((parameter) => parameter.name === name);
  const [start, ...moreStarts] = valuesOf('start').map((parameter) => Date.parse(parameter.valueDateTime ?? ''));
  const schedules = valuesOf('schedule').map(({ valueReference }) => valueReference);
  if (start === undefined || moreStarts.length > 0 || Number.isNaN(start)) {
    throw refusal('Invalid start time', 'Parameters.start');
  }
  const strange = schedules.findIndex((reference) => !isReference<Schedule>(reference, 'Schedule'));
  if (strange >= 0 || schedules.length === 0) {
    throw refusal('Invalid schedule reference', `Parameters.schedule[${Math.max(0, strange)}]`);
  }
  return { start, schedules: schedules.filter((reference) => isReference<Schedule>(reference, 'Schedule')) };
}

/** Participants after a move: the actors of the old Schedules are replaced by those of the new ones. */
async function participantsOf(
  repository: SandboxRepository,
  { participant }: Appointment,
  left: readonly Slot[],
  joined: readonly Schedule[],
): Promise<AppointmentParticipant[]> {
  const ids = [...new Set(left.map(({ schedule }) => schedule.reference))];
  const schedules = await repository.readReferences<Schedule>(
    ids.flatMap((reference) => (reference ? [{ reference }] : [])),
  );
  const actorsOf = (all: readonly Schedule[]) => all.flatMap(({ actor }) => actor);
  const old = actorsOf(
    schedules.map((one) => {
      if (!isResource<WithId<Schedule>>(one, 'Schedule')) {
        throw refusal('Loading schedules for existing slots failed', 'Appointment.slot.schedule');
      }
      return one;
    }),
  );
  const actors = [...new Map(actorsOf(joined).map((actor) => [actor.reference, actor])).values()];
  const isIn = (references: readonly Reference[], reference: string | undefined) =>
    references.some((one) => one.reference === reference);
  const kept = participant.filter(
    ({ actor }) => !actor?.reference || !isIn(old, actor.reference) || isIn(actors, actor.reference),
  );
  const isKept = ({ reference }: Reference) => kept.some(({ actor }) => actor?.reference === reference);
  return [
    ...kept,
    ...actors
      .filter((actor) => !isKept(actor))
      .map((actor) => ({
        actor,
        required: 'required' as const,
        status: 'needs-action' as const,
      })),
  ];
}

/**
 * `POST Appointment/{id}/$reschedule`, of servers newer than 5.1.23: moves an appointment to another time or other
 * Schedules. Its Slots are deleted before the availability is checked, then new ones are created. Its service stays.
 */
export async function rescheduleAppointment(
  repository: SandboxRepository,
  id: string,
  body: unknown,
): Promise<FhirResponse> {
  const { start, schedules } = targetIn(body);
  const paths = schedules.map((_, index) => `Parameters.schedule[${index}]`);
  const servicePath = 'Appointment.serviceType';
  const resources = await repository.withTransaction(
    async (transaction) => {
      const appointment = await transaction.readResource<Appointment>('Appointment', id);
      if (appointment.status !== 'pending' && appointment.status !== 'booked') {
        throw refusal(`Appointment cannot be rescheduled in '${appointment.status}' status`);
      }
      const [named, ...others] = servicesIn(appointment.serviceType);
      if (!named || others.length > 0) {
        throw refusal(`Appointment has ${named ? 'too many service references' : 'no service reference'}`, servicePath);
      }
      const [service] = await transaction.readReferences<HealthcareService>([named]);
      if (!isResource<WithId<HealthcareService>>(service, 'HealthcareService')) {
        throw refusal('Loading HealthcareService failed', servicePath);
      }
      const calendars = await readCalendars(transaction, schedules, paths, service, servicePath);
      assertOffered(calendars, service);
      const [first] = calendars;
      if (!first || !isAligned(start, first.parameters)) {
        throw refusal('Start time is not aligned to the scheduling grid', 'Parameters.start');
      }
      const time = { start, end: start + first.parameters.duration * MINUTE };
      const busy = appointment.status === 'pending' ? 'busy-tentative' : 'busy';
      const old = await slotsOf(transaction, appointment);
      const participant = await participantsOf(
        transaction,
        appointment,
        old,
        calendars.map(({ schedule }) => schedule),
      );
      for (const slot of old) {
        await transaction.deleteResource('Slot', slot.id);
      }
      const wanted = calendars.map((calendar) => ({ calendar, slots: slotsFor(calendar, time, 'newest', []) }));
      for (const { calendar, slots } of wanted) {
        await assertAvailable(transaction, calendar, slots, service);
      }
      const stored: WithId<Slot>[] = [];
      for (const slot of wanted.flatMap(({ slots }) => slots)) {
        const status = slot.status === 'busy' ? busy : slot.status;
        stored.push(await transaction.createResource<Slot>({ ...slot, status }));
      }
      const moved = await transaction.updateResource<Appointment>({
        ...appointment,
        start: new Date(time.start).toISOString(),
        end: new Date(time.end).toISOString(),
        participant,
        slot: stored.map((slot) => createReference(slot)),
      });
      return [moved, ...stored];
    },
    { serializable: true },
  );
  return [
    allOk,
    { resourceType: 'Bundle', type: 'transaction-response', entry: resources.map((resource) => ({ resource })) },
  ];
}
