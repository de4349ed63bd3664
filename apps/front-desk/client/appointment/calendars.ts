import type { Appointment } from '@medplum/fhirtypes';
import { idIn } from '../../../../core/fhir/reference.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import { otherNamesIn } from '../../appointment/people.ts';
import { slotsNamedBy } from '../../day/entries.ts';
import { inOrder, titleOf } from '../../day/queries.ts';
import { isRefusal } from '../../fhir/refusal.ts';
import { idSearches, searchAll } from '../fhir/client.ts';

/** The names of the calendars of appointments, by appointment id. */
export async function calendarsOf(appointments: readonly Appointment[]): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(appointments.flatMap(slotsNamedBy))];
  const urls = idSearches('Slot', ids, [['_include', 'Slot:schedule']]);
  const found = urls.length > 0 ? await searchAll(urls) : [];
  const resources = isRefusal(found) ? [] : found.flat();
  const slots = resources.filter((one) => isResource(one, 'Slot'));
  const schedules = resources.filter((one) => isResource(one, 'Schedule'));
  return new Map(
    appointments.map((appointment) => {
      const named = slotsNamedBy(appointment);
      const own = slots.filter(({ id }) => named.includes(id ?? '')).map(({ schedule }) => idIn(schedule, 'Schedule'));
      const titles = inOrder(schedules.filter(({ id }) => own.includes(id))).map(titleOf);
      return [appointment.id ?? '', [...new Set(titles)].join(', ') || otherNamesIn(appointment)];
    }),
  );
}
