import type {
  Appointment,
  AppointmentParticipant,
  Bundle,
  Coding,
  OperationOutcome,
  Reference,
} from '@medplum/fhirtypes';
import type { BookingConfig } from '../config/config.ts';
import { artefactUri } from '../fhir/artefacts.ts';
import { formatInstant } from '../fhir/instant.ts';
import { bookingErrors } from '../fhir/outcome/errors.ts';
import type { CalendarSlot } from '../slots/slot.ts';
import { type Bookable, serviceTypesIn } from './openings.ts';
import type { Proposal } from './search.ts';
import { stepExtension, type Visit } from './visit.ts';

interface Proposing {
  readonly visit: Visit;
  /** Whether it is one appointment of an ordinary service, which gets no visit extension. */
  readonly isPlain: boolean;
  readonly bookable: ReadonlyMap<string, Bookable>;
  readonly slotOf: (id: string) => CalendarSlot | undefined;
  readonly patient: string | undefined;
  readonly payerKind: Coding | undefined;
  /** Gives the value of the identifier that the appointments of one visit share. */
  readonly newId: () => string;
  /** In a series the regular times that were not free, by step. */
  readonly insteadOf?: ReadonlyMap<string, number>;
  readonly config: BookingConfig;
}

/** The patient, who has accepted, and the actors of the Schedules except services. */
function participantsIn(schedules: readonly string[], { bookable, patient }: Proposing): AppointmentParticipant[] {
  const actors = schedules.flatMap((id) => bookable.get(id)?.schedule.actor ?? []);
  // A service does not take part: the appointment names it as its type.
  const others = actors.filter(({ reference = 'HealthcareService/' }) => !reference.startsWith('HealthcareService/'));
  const references: Reference[] = [...(patient ? [{ reference: patient }] : []), ...others];
  return references.map((actor) => ({
    actor: actor as AppointmentParticipant['actor'] & object,
    status: actor.reference === patient ? 'accepted' : 'needs-action',
  }));
}

/** One visit as a Bundle of appointments that `$book` accepts unchanged. */
export function proposalBundle(proposal: Proposal, proposing: Proposing): Bundle<Appointment> {
  const { visit, isPlain, bookable, slotOf, payerKind, newId, insteadOf, config } = proposing;
  const group = { system: artefactUri(config, 'LocalVisitGroup'), value: newId().replace('urn:uuid:', '') };
  return {
    resourceType: 'Bundle',
    type: 'collection',
    entry: proposal.map(({ step, start, end, candidates }) => {
      const ids = candidates.flatMap(({ slots }) => slots);
      const pools = visit.steps.find(({ name }) => name === step)?.pools ?? [
        { kind: 'service', service: visit.service },
      ];
      const serviceType = serviceTypesIn(
        candidates.map(({ schedule, slots }) => [
          ...(slotOf(slots[0] ?? '')?.services ?? []),
          ...(bookable.get(schedule)?.schedule.serviceType ?? []),
        ]),
        pools,
      );
      const mark = stepExtension({ service: visit.service, step }, config);
      const time = insteadOf?.get(step);
      const instead = time === undefined ? [] : [{ url: 'instead', valueInstant: formatInstant(time) }];
      const extension = [
        ...(isPlain ? [] : [{ ...mark, extension: [...(mark.extension ?? []), ...instead] }]),
        ...(payerKind ? [{ url: artefactUri(config, 'LocalPayerKind'), valueCoding: payerKind }] : []),
      ];
      const resource: Appointment = {
        resourceType: 'Appointment',
        ...(extension.length > 0 && { extension }),
        ...(!isPlain && { identifier: [group] }),
        status: 'proposed',
        ...(serviceType.length > 0 && { serviceType }),
        start: formatInstant(start),
        end: formatInstant(end),
        slot: ids.map((id) => ({ reference: `Slot/${id}` })),
        participant: participantsIn(
          candidates.map(({ schedule }) => schedule),
          proposing,
        ),
      };
      return { resource };
    }),
  };
}

/** The outcome beside the visits of a search that was stopped because it took too long. */
function moreMayBe(advice: string, config: BookingConfig): OperationOutcome {
  const { type, display } = bookingErrors['too-costly'];
  const coding = [{ system: artefactUri(config, 'LocalBookingError'), code: 'too-costly', display }];
  return {
    resourceType: 'OperationOutcome',
    issue: [
      {
        severity: 'information',
        code: type,
        details: { coding, text: display },
        diagnostics: `There may be more. ${advice}`,
      },
    ],
  };
}

/**
 * The response of `$find`.
 * @param advice - a way to narrow the search, if it was stopped before it found all requested visits
 */
export function findResponse(
  visits: readonly Bundle<Appointment>[],
  advice: string | undefined,
  config: BookingConfig,
): Bundle {
  return {
    resourceType: 'Bundle',
    type: 'collection',
    entry: [
      ...visits.map((resource) => ({ resource })),
      ...(advice === undefined ? [] : [{ resource: moreMayBe(advice, config) }]),
    ],
  };
}
