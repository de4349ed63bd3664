import type { Extension } from '@medplum/fhirtypes';
import { length } from '../../../calendar/parameters/parameter-values.ts';
import { SCHEDULING_PARAMETERS } from '../../../calendar/parameters/scheduling-parameters.ts';
import type { BookingConfig } from '../../../config/config.ts';
import type { Issue } from '../../../fhir/outcome/outcome.ts';
import { type ResourceSet, scheduleOf, servicesOf } from '../../resource-set.ts';
import type { CalendarSlot } from '../../slots/calendar.ts';
import type { BookRequest } from '../request/request.ts';

const MINUTE = 60_000;

/** The smallest value that scheduling parameters give for a length, in minutes; unusable values count as absent. */
function leastOf(parameters: readonly Extension[], name: 'duration' | 'alignmentInterval'): number | undefined {
  const values = parameters.flatMap((extension) => length([{ extension, path: '' }], name).value || []);
  return values.length > 0 ? Math.min(...values) : undefined;
}

/** The shortest appointment on a schedule and the steps in which its slots are split, both in milliseconds. */
function granularityOf(slot: CalendarSlot, state: ResourceSet, { smallestBooking }: GranularityConfig) {
  const schedule = scheduleOf(state, slot.resource);
  const parametersIn = (resource: { readonly extension?: readonly Extension[] } | undefined): Extension[] =>
    (resource?.extension ?? []).filter(({ url }) => url === SCHEDULING_PARAMETERS);
  const layers = [parametersIn(schedule), (schedule ? servicesOf(state, schedule) : []).flatMap(parametersIn)];
  const first = (name: 'duration' | 'alignmentInterval'): number =>
    (layers.map((layer) => leastOf(layer, name)).find((value) => value !== undefined) ?? smallestBooking) * MINUTE;
  return { shortest: first('duration'), step: first('alignmentInterval') };
}

/** The part of the configuration that granularity depends on. */
export type GranularityConfig = Pick<BookingConfig, 'smallestBooking'>;

/**
 * Checks that a booking leaves time that others can book. One that takes whole slots always does. One that takes a part of a
 * slot must be at least as long as the shortest appointment, and must begin and end at an end of the slot or a whole number
 * of steps after its start. Both lengths come from the scheduling parameters `duration` and `alignmentInterval` of the
 * Schedule, else of its service, else from `smallestBooking`.
 *
 * @param slots - those from which the booking takes its time
 * @returns `period-invalid` for what does not fit, once for `start` and once for `end`
 */
export function granularityIssues(
  { appointment, interval }: BookRequest,
  slots: readonly CalendarSlot[],
  state: ResourceSet,
  config: GranularityConfig,
): Issue[] {
  const found = new Map<string, Issue>();
  const report = (element: 'start' | 'end', diagnostics: string): void => {
    const expression = `${appointment.path}.${element}`;
    found.set(expression, found.get(expression) ?? { code: 'period-invalid', diagnostics, expression });
  };
  for (const slot of interval ? slots : []) {
    const { start = 0, end = 0 } = interval ?? {};
    const isSplit = (start > slot.start && start < slot.end) || (end > slot.start && end < slot.end);
    const { shortest, step } = granularityOf(slot, state, config);
    const isOnStep = (moment: number): boolean =>
      moment <= slot.start || moment >= slot.end || (moment - slot.start) % step === 0;
    if (isSplit && end - start < shortest) {
      report('end', `Appointments here last at least ${shortest / MINUTE} minutes.`);
    }
    for (const element of ['start', 'end'] as const) {
      if (!isOnStep(element === 'start' ? start : end)) {
        report(element, `Slot/${slot.id} can only be split in steps of ${step / MINUTE} minutes from its start.`);
      }
    }
  }
  return [...found.values()];
}
