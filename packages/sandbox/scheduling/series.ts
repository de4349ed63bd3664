import {
  deepEquals,
  getExtension,
  RecurrenceIdExtensionURI,
  RecurrenceTemplateExtensionURI,
  RecurringAppointmentSeriesIdentifierSystem,
  UCUM,
} from '@medplum/core';
import type { Appointment, Extension } from '@medplum/fhirtypes';
import { Temporal } from 'temporal-polyfill';
import { refusal } from './parameters.ts';

const path = 'Parameters.appointment';
const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** Whether a number of weeks is allowed for a series. */
export const isSeriesLength = (count: number | undefined): count is number =>
  count !== undefined && Number.isInteger(count) && count >= 2 && count <= 6;

/** The same local time some weeks later; `undefined` where the clocks skip it. */
export function weeksLater(time: number, weeks: number, timezone: string): number | undefined {
  const local = Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timezone);
  const later = local.add({ weeks });
  return later.toPlainTime().equals(local.toPlainTime()) ? later.epochMilliseconds : undefined;
}

/** The extension that marks the first appointment of a weekly series. */
export function seriesTemplate(start: number, count: number, timezone: string): Extension {
  const { dayOfWeek } = Temporal.Instant.fromEpochMilliseconds(start).toZonedDateTimeISO(timezone);
  const zone = { system: 'https://www.iana.org/time-zones', code: timezone };
  return {
    url: RecurrenceTemplateExtensionURI,
    extension: [
      { url: 'timezone', valueCodeableConcept: { coding: [zone] } },
      { url: 'recurrenceType', valueCodeableConcept: { coding: [{ system: UCUM, code: 'wk', display: 'week' }] } },
      { url: 'occurrenceCount', valuePositiveInt: count },
      {
        url: 'weeklyTemplate',
        extension: [
          { url: weekdays[dayOfWeek - 1] ?? '', valueBoolean: true },
          { url: 'weekInterval', valuePositiveInt: 1 },
        ],
      },
    ],
  };
}

function isKnown(template: Extension, start: number, count: number, timezone: string): boolean {
  try {
    return deepEquals(template, seriesTemplate(start, count, timezone));
  } catch {
    // The time zone is unknown.
    return false;
  }
}

/** The appointments of a weekly series that begins with a proposed one. Without a series, the proposed one alone. */
export function weeksOf(proposed: Appointment, id: string): Appointment[] {
  const { extension = [], identifier = [], start = '' } = proposed;
  const template = getExtension(proposed, RecurrenceTemplateExtensionURI);
  if (!template) {
    return [proposed];
  }
  const count = getExtension(template, 'occurrenceCount')?.valuePositiveInt;
  const zone = getExtension(template, 'timezone')?.valueCodeableConcept?.coding?.[0]?.code ?? '';
  const unsupported = (reason: string) =>
    refusal(`Unsupported recurrenceTemplate: ${reason}`, `${path}.extension[${extension.indexOf(template)}]`);
  if (!isSeriesLength(count)) {
    throw unsupported('occurrenceCount must be an integer between 2 and 6');
  }
  const first = Date.parse(start);
  if (!isKnown(template, first, count, zone)) {
    throw unsupported("must be a weekly series on the first occurrence's weekday, as Appointment/$find returns it");
  }
  const series = { system: RecurringAppointmentSeriesIdentifierSystem, value: id };
  return Array.from({ length: count }, (_, week): Appointment => {
    const begin = weeksLater(first, week, zone);
    if (begin === undefined) {
      throw unsupported(`occurrence ${week + 1} falls at a local time that doesn't exist in ${zone}`);
    }
    const shifted = (instant: string) => new Date(Date.parse(instant) + begin - first).toISOString();
    return {
      ...proposed,
      start: shifted(start),
      ...(proposed.end && { end: shifted(proposed.end) }),
      contained: proposed.contained?.map((resource) =>
        resource.resourceType === 'Slot'
          ? { ...resource, start: shifted(resource.start), end: shifted(resource.end) }
          : resource,
      ),
      identifier: [...identifier, series],
      extension: [
        ...extension.filter((one) => week === 0 || one !== template),
        { url: RecurrenceIdExtensionURI, valuePositiveInt: week + 1 },
      ],
    };
  });
}
