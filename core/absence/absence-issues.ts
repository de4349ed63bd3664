import type { Appointment, CodeableConcept, Slot } from '@medplum/fhirtypes';
import type { PublicConfig } from '../fhir/artefacts.ts';
import type { Issue } from '../fhir/outcome/outcome.ts';
import { isSameService, servesService } from '../fhir/reference.ts';
import { calendarOf } from '../slots/slot.ts';
import type { ScheduleServices } from '../slots/terms.ts';
import { overlaps } from '../time/interval.ts';
import type { Absent } from './plan.ts';
import type { AbsenceRequest, NamedSchedule, Wish } from './request.ts';

const typesOf = ({ schedule, services }: ScheduleServices): CodeableConcept[] => [
  ...(schedule.serviceType ?? []),
  ...services.flatMap(({ type }) => type ?? []),
];

/** Whether a substitute has a service in common with the absent Schedules. A Schedule without service types has all. */
function canReplace(substitute: ScheduleServices, absent: readonly ScheduleServices[]): boolean {
  const offeredTypes = typesOf(substitute);
  return (
    offeredTypes.length === 0 ||
    absent.some((calendar) => {
      const types = typesOf(calendar);
      return types.length === 0 || types.some((type) => offeredTypes.some((offered) => isSameService(type, offered)));
    })
  );
}

/** Checks the Schedules of a request: they must exist, and substitutes must be able to replace absent ones. */
export function scheduleIssues(
  { schedules, substitutes }: AbsenceRequest,
  existing: readonly ScheduleServices[],
): Issue[] {
  const existingOf = ({ id }: NamedSchedule) => existing.find(({ schedule }) => schedule.id === id);
  const absent = schedules.flatMap((namedSchedule) => existingOf(namedSchedule) ?? []);
  return [
    ...[...schedules, ...substitutes]
      .filter((namedSchedule) => !existingOf(namedSchedule))
      .map(
        ({ id, path }): Issue => ({
          code: 'schedule-not-found',
          diagnostics: `There is no Schedule/${id}.`,
          expression: path,
        }),
      ),
    ...substitutes.flatMap((namedSchedule): Issue[] => {
      const substitute = existingOf(namedSchedule);
      const { id, path: expression } = namedSchedule;
      if (substitute?.schedule.active === false) {
        return [{ code: 'schedule-inactive', diagnostics: `Schedule/${id} is not open for booking.`, expression }];
      }
      const diagnostics = `Schedule/${id} offers nothing of what the absent Schedules offer.`;
      return substitute && !canReplace(substitute, absent)
        ? [{ code: 'service-type-not-offered', diagnostics, expression }]
        : [];
    }),
  ];
}

interface WishState {
  /** The existing appointments of the plan, by id. */
  readonly appointments: ReadonlyMap<string, Appointment>;
  readonly slots: readonly Slot[];
  readonly schedules: readonly ScheduleServices[];
  readonly absent: readonly Absent[];
  readonly now: number;
  readonly config: PublicConfig;
}

/** The reasons why the proposal of a wish cannot be offered; none without a proposal: then staff call. */
function proposalIssues({ appointment, proposal, path: expression }: Wish, state: WishState): Issue[] {
  if (!proposal) {
    return [];
  }
  const issue = (code: Issue['code'], diagnostics: string): Issue => ({ code, diagnostics, expression });
  const slotsById = calendarOf(state.slots, state.config);
  const missing = proposal.slots.filter((id) => !slotsById.has(id));
  if (missing.length > 0) {
    return missing.map((id) => issue('slot-not-found', `There is no Slot/${id}.`));
  }
  const slots = proposal.slots.flatMap((id) => slotsById.get(id) ?? []);
  const replaced = state.appointments.get(appointment);
  const slotsOfSchedule = slots.filter(({ schedule }) => schedule === proposal.schedule);
  const isCovered =
    slotsOfSchedule.some((slot) => overlaps(slot, proposal)) && slots.every((slot) => overlaps(slot, proposal));
  const isAbsent = slots.some((slot) =>
    state.absent.some(
      (absent) => absent.schedule === slot.schedule && overlaps(absent, slot) && overlaps(absent, proposal),
    ),
  );
  const unsuitable = slotsOfSchedule.filter((slot) => {
    const calendar = state.schedules.find(({ schedule }) => schedule.id === slot.schedule);
    // The search for another whole visit has already checked all roles.
    return (
      replaced &&
      !proposal.isVisit &&
      !servesService(replaced.serviceType ?? [], slot.services ?? calendar?.schedule.serviceType ?? [], true)
    );
  });
  return [
    ...(proposal.start <= state.now ? [issue('start-in-past', 'The time that is proposed is over.')] : []),
    ...(isCovered ? [] : [issue('slot-mismatch', 'The Slots are not those of this Schedule at this time.')]),
    ...(isAbsent ? [issue('slot-not-free', 'The time that is proposed lies in an absence.')] : []),
    ...unsuitable.map(({ id }) => issue('service-type-not-offered', `Slot/${id} is not for this service.`)),
    ...slots
      .filter(({ status }) => status !== 'free')
      .map(({ id }) => issue('slot-not-free', `Slot/${id} is not free.`)),
  ];
}

/** Checks the changes that staff made to the plan. If two use one Slot at the same time, the later one is refused. */
export function wishIssues(wishes: readonly Wish[], state: WishState): Issue[] {
  const unknown = wishes.filter(({ appointment }) => !state.appointments.has(appointment));
  const clashes = wishes.filter(({ proposal }, index) =>
    wishes.some(
      (wish, at) =>
        at < index &&
        proposal &&
        wish.proposal &&
        overlaps(proposal, wish.proposal) &&
        wish.proposal.slots.some((slot) => proposal.slots.includes(slot)),
    ),
  );
  return [
    ...unknown.map(
      ({ appointment, path }): Issue => ({
        code: 'replaced-appointment-not-found',
        diagnostics: `There is no Appointment/${appointment}.`,
        expression: path,
      }),
    ),
    ...wishes.flatMap((wish) => proposalIssues(wish, state)),
    ...clashes.map(
      ({ path }): Issue => ({
        code: 'slot-mismatch',
        diagnostics: 'Another entry of the plan has this time already.',
        expression: path,
      }),
    ),
  ];
}
