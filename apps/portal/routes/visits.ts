import type { Appointment, Bundle, CodeableConcept, Parameters } from '@medplum/fhirtypes';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { findRequest } from '../../../packages/web/appointments.ts';
import { listOf, partsOf } from '../../../packages/web/elements.ts';
import type { ChosenStep } from '../../../packages/web/refusal.ts';
import { isDay } from '../clinic/clock.ts';
import type { BookableService } from '../clinic/services.ts';
import { appointmentsIn, has, isRefusal, type Refusal, resourcesIn } from '../fhir/client.ts';
import type { Reply, Visit } from '../http/visit.ts';
import { failureOf, failurePage } from '../pages/failure.ts';
import { type ProposedVisit, type RestOfSeries, visitsPage } from '../pages/visits.ts';
import type { Portal } from '../portal.ts';
import type { AppointmentView } from '../visit/appointment.ts';
import { type ChosenTime, chosenVisit } from '../visit/chosen-time.ts';
import type { Booking, WantedStep } from '../visit/requests.ts';

/** Visits on a page, days on a page, and days in which the next visit is searched. */
const SHOWN = 10;
const SPAN = 14;
const AHEAD = 90;

/** Maximum of `$find`. */
const MAX_PERIOD = 365 * DAY;

function proposedStep(appointment: Appointment, stepUrl: string | undefined) {
  const mark = partsOf(appointment.extension, stepUrl);
  const name = mark.find(({ url }) => url === 'step')?.valueString;
  const [start, end] = [parseInstant(appointment.start), parseInstant(appointment.end)];
  const slots = listOf(appointment.slot).flatMap(({ reference }) => reference?.split('/')[1] ?? []);
  return name === undefined || start === undefined || end === undefined || slots.length === 0
    ? []
    : [{ name, start, end, slots, before: parseInstant(mark.find(({ url }) => url === 'instead')?.valueInstant) }];
}

const textOf = (concept: CodeableConcept | undefined): string | undefined =>
  concept?.text ?? listOf(concept?.coding).find(({ display }) => display)?.display;

function proposedVisit(bundle: Bundle, { visitStep }: Portal['options']['extensions']): ProposedVisit[] {
  const steps = resourcesIn(bundle, 'Appointment').flatMap((appointment) =>
    proposedStep(appointment, visitStep).map((step) => ({
      ...step,
      what: textOf(listOf(appointment.serviceType)[0]),
      withWhom: listOf(appointment.participant).flatMap(({ actor }) => actor?.display ?? []),
    })),
  );
  const time = chosenVisit(steps.map(({ name, slots, start, end }) => ({ name, slots, start, end })));
  return time ? [{ time, steps }] : [];
}

interface Wish {
  /** Earliest and latest start of the first appointment, in milliseconds since 1970 UTC. */
  readonly from: number;
  readonly to: number;
  readonly without: readonly string[];
  /** Names of the steps of a series that are moved. */
  readonly only?: readonly string[] | undefined;
  readonly count: number;
}

/** Searches visits of a service, the earliest first. `isCutShort` is true if there may be more. */
async function findVisits(
  { service: client, options }: Portal,
  { visit, payer }: BookableService,
  { from, to, without, only, count }: Wish,
): Promise<{ readonly visits: readonly ProposedVisit[]; readonly isCutShort: boolean } | Refusal> {
  const length = visit?.series ? visit.series.length + DAY : 0;
  const period = { start: from, end: Math.min(from + MAX_PERIOD, to + length) };
  const found = await client.find(findRequest({ service: visit?.service ?? '', period, count, without, only, payer }));
  if (isRefusal(found)) {
    // Without practitioners, or with an invalid definition of the visit, there are no times.
    return found.status === 422 ? { visits: [], isCutShort: has(found, 'too-costly') } : found;
  }
  const entries = listOf(found.entry).map(({ resource }) => resource);
  const visits = entries.flatMap((one) => (isResource(one, 'Bundle') ? proposedVisit(one, options.extensions) : []));
  return {
    visits: visits.filter(({ time, steps }) => time.start < to && (!only || steps.length === only.length)),
    isCutShort: entries.some((one) => isResource(one, 'OperationOutcome')),
  };
}

/** `GET /times` of a service with several appointments: visits, two weeks at a time. */
export async function showVisits(
  visit: Visit,
  service: BookableService,
  move: AppointmentView | undefined,
  rest?: RestOfSeries,
): Promise<Reply> {
  const { portal, query, clock } = visit;
  const [now, today] = [portal.now(), clock.dayOf(portal.now())];
  const asked = query.get('from');
  const last = clock.dayOf(now + (400 - SPAN) * DAY);
  const from = isDay(asked) && asked > today && asked < last ? asked : today;
  const optional = service.visit?.optional ?? [];
  const isLeft = (name: string): boolean => move?.steps.every(({ step }) => step?.name !== name) ?? false;
  const without = move ? optional.filter(isLeft) : optional.filter((name) => query.all('without').includes(name));
  const after = Number(query.get('after'));
  const isAfter = Number.isSafeInteger(after) && clock.dayOf(after) === from;
  const start = Math.max(now, clock.startOf(from), isAfter ? after + 1 : 0);
  const end = clock.startOf(from, SPAN);
  const moved = query.get('all') === 'stays' ? [...(rest?.moved ?? []), ...(rest?.stays ?? [])] : rest?.moved;
  const only = moved?.flatMap(({ step }) => step?.name ?? []);
  const found = await findVisits(portal, service, { from: start, to: end, without, only, count: SHOWN });
  if (isRefusal(found)) {
    return failurePage(visit, failureOf(found));
  }
  const later = { from: end, to: end + AHEAD * DAY, without, only, count: 1 };
  const next = found.visits.length > 0 || found.isCutShort ? undefined : await findVisits(portal, service, later);
  const before = clock.dayOf(clock.startOf(from, -SPAN));
  // A page that is full ends before its span: the next one begins after its last visit.
  const lastStart = found.visits.length >= SHOWN ? Math.max(...found.visits.map(({ time }) => time.start)) : undefined;
  return visitsPage(visit, {
    service,
    ...found,
    optional: move ? [] : optional,
    without,
    today,
    last,
    from: from > today ? from : undefined,
    earlier: from > today ? (before > today ? before : today) : undefined,
    later: clock.dayOf(lastStart ?? end) < last ? clock.dayOf(lastStart ?? end) : undefined,
    after: lastStart,
    next: next && !isRefusal(next) ? next.visits[0]?.time.start : undefined,
    move,
    rest: rest && moved && { moved, stays: rest.stays.filter((view) => !moved.includes(view)) },
  });
}

/** Alternatives to a visit: the next ones from its day on. */
export async function otherVisits(
  { portal, clock }: Pick<Visit, 'portal' | 'clock'>,
  service: BookableService,
  { start, steps = [] }: ChosenTime,
  count: number,
): Promise<readonly ChosenTime[]> {
  const without = (service.visit?.optional ?? []).filter((name) => steps.every((step) => step.name !== name));
  const from = Math.max(portal.now(), clock.startOf(clock.dayOf(start)));
  const found = await findVisits(portal, service, { from, to: from + SPAN * DAY, without, count });
  return isRefusal(found) ? [] : found.visits.map(({ time }) => time);
}

/** Adds the service type to each step, from its Slot or its Schedule. */
async function wantedSteps(portal: Portal, steps: readonly ChosenStep[]): Promise<WantedStep[] | Refusal> {
  const ids = [...new Set(steps.flatMap(({ slots }) => slots))];
  const [found, services] = await Promise.all([
    portal.service.search('Slot', { _id: ids.join(','), _count: String(ids.length) }),
    portal.services(),
  ]);
  if (isRefusal(found) || isRefusal(services)) {
    return isRefusal(found) ? found : (services as Refusal);
  }
  const slots = new Map(resourcesIn(found, 'Slot').map((slot) => [slot.id, slot]));
  return steps.map((step) => {
    const [slot] = step.slots.map((id) => slots.get(id));
    const offered = services.find(({ schedules }) =>
      schedules.some(({ reference }) => reference === slot?.schedule?.reference),
    );
    const own = offered?.coding && [{ coding: [offered.coding], text: offered.text }];
    return { ...step, serviceType: slot?.serviceType ?? own };
  });
}

/** Calls `$hold` or `$book`; returns the appointments in the order of the steps. */
export async function askFor(
  portal: Portal,
  operation: 'hold' | 'book',
  booking: Booking,
  bodyOf: (booking: Booking) => Appointment | Parameters,
): Promise<readonly Appointment[] | Refusal> {
  const { service: client, options } = portal;
  const { steps: chosen } = booking.time;
  const steps = chosen && (await wantedSteps(portal, chosen));
  if (steps && isRefusal(steps)) {
    return steps;
  }
  const visit = steps && { steps, stepUrl: options.extensions.visitStep ?? '' };
  const response = await client[operation](visit ? 'Bundle' : 'Appointment', bodyOf({ ...booking, visit }));
  return isRefusal(response) ? response : appointmentsIn(response);
}
