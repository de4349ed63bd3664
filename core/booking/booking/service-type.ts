import type { CodeableConcept, Extension } from '@medplum/fhirtypes';
import { artefactUri, type Confirmation, type PublicConfig } from '../../fhir/artefacts.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isSameService, servesAll, serviceTypeOf, withoutServiceReference } from '../../fhir/reference.ts';
import { payerKindsOf } from '../../fhir/scheduling/slot-marks.ts';
import { type ResourceSet, scheduleOf } from '../../rows/resource-set.ts';
import type { CalendarSlot } from '../../slots/slot.ts';
import { type ScheduleServices, servesPayerKind, servicesFor } from '../../slots/terms.ts';
import type { AppointmentRequest } from '../request/request.ts';
import { type BookingDecision, calendarAt } from './booking-calendar.ts';

function hasCommonCoding(concept: CodeableConcept, other: CodeableConcept): boolean {
  return (concept.coding ?? []).some(({ system, code }) =>
    other.coding?.some((coding) => coding.system === system && coding.code === code),
  );
}

/** The service types of a slot: its own, else those of its schedule; `undefined` if neither names any. */
function offeredBy({ resource, services }: CalendarSlot, state: ResourceSet): readonly CodeableConcept[] | undefined {
  return services ?? scheduleOf(state, resource)?.serviceType;
}

/**
 * Checks the requested service types against the slots: at least one of the slots must have each type, and each slot
 * must have at least one of the types. If neither slot nor schedule names any, every type is allowed. A type without
 * coding cannot be compared and is left to the clinic.
 * @returns `service-type-not-offered` for each type and each slot at fault
 * @see specification 2.4, Schedule.serviceType
 */
export function serviceTypeIssues(
  { appointment }: AppointmentRequest,
  slots: readonly CalendarSlot[],
  state: ResourceSet,
): Issue[] {
  const concepts = appointment.value.serviceType ?? [];
  const wanted = concepts.filter(({ coding }) => coding);
  const offers = slots.map((slot) => ({ slot, offered: offeredBy(slot, state) }));
  const isOffered = (type: CodeableConcept, offered: readonly CodeableConcept[] | undefined): boolean =>
    !offered || servesAll({ serviceType: [...offered] }) || offered.some((offer) => hasCommonCoding(type, offer));
  const nowhere = wanted.filter((type) => offers.length > 0 && !offers.some(({ offered }) => isOffered(type, offered)));
  const somewhere = wanted.filter((type) => !nowhere.includes(type));
  const useless = offers.filter(
    ({ offered }) => somewhere.length > 0 && !somewhere.some((type) => isOffered(type, offered)),
  );
  return [
    ...nowhere.map(
      (type): Issue => ({
        code: 'service-type-not-offered',
        diagnostics:
          'None of the slots offers this service type; see Slot.serviceType and Schedule.serviceType for what is offered.',
        expression: `${appointment.path}.serviceType[${concepts.indexOf(type)}]`,
      }),
    ),
    ...useless.map(
      ({ slot }): Issue => ({
        code: 'service-type-not-offered',
        diagnostics: `Slot/${slot.id} does not offer the requested service type.`,
        expression: `${appointment.path}.serviceType`,
      }),
    ),
  ];
}

/**
 * Checks that each slot and one of its possible services serve the patient's payer kind. Staff are exempt.
 * @returns `service-type-not-offered` if one does not
 */
export function payerKindIssues(decision: BookingDecision): Issue[] {
  const { selected, context } = decision;
  const { appointment } = decision.request;
  const [kind] = payerKindsOf(appointment.value, context.config);
  const isServed = (slot: CalendarSlot): boolean => {
    const offered = calendarAt(slot, decision)?.services ?? [];
    const types = appointment.value.serviceType ?? slot.services ?? [];
    return !kind || servesPayerKind(kind, slot, types, offered, context.config);
  };
  const refused = selected.slots.find((slot) => !isServed(slot));
  const diagnostics = `Slot/${refused?.id} or its service does not serve the payer kind ${kind?.code}; search with payer-kind.`;
  const expression = `${appointment.path}.extension`;
  return refused ? [{ code: 'service-type-not-offered', diagnostics, expression }] : [];
}

/**
 * The service types of an appointment as they are stored: the submitted ones, and a reference to the only service that
 * matches all its slots. Medplum's `$reschedule` moves no appointment without one. `userSelected` is false for a
 * derived type: a re-submission does not keep it.
 */
export function storedServiceTypes(decision: BookingDecision): readonly CodeableConcept[] {
  const { selected, request, context } = decision;
  const sent = request.appointment.value.serviceType ?? [];
  const [first = [], ...others] = selected.slots
    .map((slot) => {
      const types = sent.length > 0 ? sent : (slot.services ?? []);
      return servicesFor(slot, types, calendarAt(slot, decision)?.services ?? [], context.config);
    })
    .filter((services) => services.length > 0);
  const [service, ...more] = first.filter(({ id }) =>
    others.every((storedServices) => storedServices.some((storedService) => storedService.id === id)),
  );
  if (!service || more.length > 0) {
    return sent;
  }
  const types = sent.map(withoutServiceReference);
  const [own, ...rest] = serviceTypeOf(service);
  const index = types.findIndex((type) => [own, ...rest].some((concept) => concept && isSameService(concept, type)));
  const named = types.map((type, at) =>
    at === index ? { ...type, extension: [...(type.extension ?? []), ...(own?.extension ?? []).slice(-1)] } : type,
  );
  const coding = own?.coding?.map((one) => ({ ...one, userSelected: false }));
  return index < 0 && coding
    ? [...types.filter((concept) => concept.coding ?? concept.text), { ...own, coding }]
    : named;
}

function confirmationIn(extensions: readonly Extension[] | undefined, url: string): Confirmation | undefined {
  const code = extensions?.find((extension) => extension.url === url)?.valueCode;
  return code === 'manual' || code === 'automatic' ? code : undefined;
}

/**
 * The confirmation of a booking on these schedules: manual if one of them requires it, otherwise automatic. A
 * schedule's own extension LocalConfirmation decides, else that of its services, else the installation's default.
 * @see specification section 3
 */
export function confirmationOf(schedules: readonly ScheduleServices[], config: PublicConfig): Confirmation {
  const url = artefactUri(config, 'LocalConfirmation');
  const wishes = schedules.map(({ schedule, services }) => {
    const theirs = services.map(({ extension }) => confirmationIn(extension, url));
    const ofService = theirs.find((wish) => wish === 'manual') ?? theirs.find((wish) => wish !== undefined);
    return confirmationIn(schedule.extension, url) ?? ofService ?? config.confirmation;
  });
  return wishes.includes('manual') ? 'manual' : 'automatic';
}
