import type {
  Appointment,
  AppointmentParticipant,
  AppointmentResponse,
  CodeableConcept,
  Resource,
  Subscription,
  Task,
} from '@medplum/fhirtypes';
import { isOpen, mayBecome } from '../booking/appointment/status.ts';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { backport, extensionValues, member } from '../fhir/backport.ts';
import { parseFilter } from '../notifications/subscription/filter.ts';
import { isRow, newRow } from '../rows/row.ts';
import { type History, isAbout, isForAnother, mentions, only, type PersonRecords, withoutEarlier } from './records.ts';

/** A resource that is removed with all its versions. */
export interface Removal {
  readonly reference: string;
  /** Created before the resource is removed, unless it already exists. */
  readonly replacement?: Appointment;
  /** Whether the replacement is a copy for the successor patient of the appointment. */
  readonly isHandedOn?: true;
}

/** What to remove once it has ended: an appointment of a successor patient, or a Task that is also about others. */
interface Later {
  readonly reference: string;
  /** Ids of the erased person's patients, related persons and questionnaire responses. */
  readonly persons: readonly string[];
  readonly redacted?: Task;
}

export interface Erasure {
  /** Sentences about what prevents the erasure. If there are any, nothing is done. */
  readonly obstacles: readonly string[];
  readonly toCancel: readonly string[];
  /** Stored before the last removals. */
  readonly later: readonly Later[];
  /** The order lets a run after an interruption find everything that is left. */
  readonly removals: readonly Removal[];
  /** Sentences about data that stays. */
  readonly left: readonly string[];
}

interface ErasureContext {
  /** Id of the requested patient. It is removed last, because the other records are found through it. */
  readonly id: string;
  readonly config: PublicConfig;
  readonly isForced: boolean;
  /** Ids of the patients that still have a stored version. */
  readonly keptPatients: readonly string[];
  /** The number of the clinic's own resources about the person, by type (Encounter, Observation). */
  readonly clinical: ReadonlyMap<string, number>;
  /** Returns a value from which the original cannot be computed. */
  readonly hash: (text: string) => string;
}

/** Concepts without texts and displays; `undefined` if no code is left. */
function codesOnly(concepts: readonly CodeableConcept[] | undefined): CodeableConcept[] | undefined {
  const kept = (concepts ?? []).flatMap(({ coding = [] }) => {
    const codes = coding.flatMap(({ system, code }) => (system && code ? [{ system, code }] : []));
    return codes.length > 0 ? [{ coding: codes }] : [];
  });
  return kept.length > 0 ? kept : undefined;
}

const persons: ReadonlySet<string> = new Set(['Patient', 'RelatedPerson']);

/** Participants without display; patients and related persons become an anonymous one. */
function withoutPersons(participants: readonly AppointmentParticipant[]): AppointmentParticipant[] {
  return participants.map(({ actor, status }) => {
    const reference = actor?.reference;
    const isKept = reference !== undefined && !persons.has(reference.split('/')[0] ?? '');
    return isKept ? { actor: { reference }, status } : { type: [{ text: 'Erased person' }], status };
  });
}

/**
 * The pseudonymous replacement of an appointment: its time, status, codes, slots and the clinic's participants. It has
 * a new id and no owner, so that nobody can find it by the appointment. A second run finds it by the hash of the id.
 */
export function pseudonymous(
  appointment: Appointment & { readonly id: string },
  { config, hash }: Pick<ErasureContext, 'config' | 'hash'>,
): Appointment {
  const { slot, participant } = appointment;
  const [serviceCategory, serviceType, specialty] = [
    codesOnly(appointment.serviceCategory),
    codesOnly(appointment.serviceType),
    codesOnly(appointment.specialty),
  ];
  const [appointmentType] = codesOnly(appointment.appointmentType && [appointment.appointmentType]) ?? [];
  return {
    ...only(appointment, 'resourceType', 'status', 'start', 'end', 'minutesDuration'),
    identifier: [{ system: artefactUri(config, 'LocalErased'), value: hash(appointment.id) }],
    ...(serviceCategory && { serviceCategory }),
    ...(serviceType && { serviceType }),
    ...(specialty && { specialty }),
    ...(appointmentType && { appointmentType }),
    ...(slot && { slot: slot.map(({ reference }) => ({ reference: reference ?? '' })) }),
    participant: withoutPersons(participant),
  };
}

const patientsOf = ({ participant }: Appointment): string[] =>
  participant.flatMap(({ actor }) =>
    actor?.reference?.startsWith('Patient/') ? [actor.reference.slice('Patient/'.length)] : [],
  );

type CopyContext = Pick<ErasureContext, 'config' | 'hash'> & { readonly own: ReadonlySet<string> };

/**
 * A copy of an appointment for its successor patient, without data of this person. The copy is necessary because
 * earlier versions can only be removed together with the appointment.
 */
function successorCopy(
  id: string,
  newest: Appointment,
  versions: readonly Appointment[],
  { config, hash, own }: CopyContext,
): Appointment {
  const ofPerson = versions.filter((appointment) => patientsOf(appointment).some((patient) => own.has(patient)));
  const { id: _, meta, identifier = [], supportingInformation = [], ...current } = withoutEarlier(newest, ofPerson);
  const mark = { system: artefactUri(config, 'LocalErased'), value: hash(id) };
  const information = supportingInformation.filter((reference) => !mentions(reference, own));
  return {
    ...current,
    meta: only(meta ?? {}, 'profile', 'security', 'tag'),
    identifier: [mark, ...identifier],
    participant: current.participant.filter(({ actor }) => !mentions(actor, own)),
    ...(information.length > 0 && { supportingInformation: information }),
  };
}

/**
 * Plans the erasure of a person from an appointment that belongs to others now. While it is open, it is erased later;
 * then one version without the person replaces all.
 */
function planSuccessorCopy(
  id: string,
  versions: readonly Resource[],
  context: CopyContext,
): Removal | Later | undefined {
  const [newest, ...older] = versions.filter((resource) => resource.resourceType === 'Appointment');
  const reference = `Appointment/${id}`;
  if (!newest) {
    return undefined;
  }
  return isOpen(newest)
    ? { reference, persons: [...context.own] }
    : { reference, replacement: successorCopy(id, newest, older, context), isHandedOn: true };
}

/** The types that portals submit besides patients. */
const submittedTypes: ReadonlySet<string> = new Set(['RelatedPerson', 'QuestionnaireResponse']);

const ended: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled', 'rejected', 'entered-in-error']);

/** The plan for a resource that names the person in an earlier version only, or a sentence about why it stays. */
function planEarlier({ id, isDeleted, versions }: History, context: CopyContext): Removal | Later | string | undefined {
  const [newest] = versions;
  if (!newest) {
    return undefined;
  }
  const reference = `${newest.resourceType}/${id}`;
  if (isDeleted) {
    return { reference };
  }
  switch (newest.resourceType) {
    case 'Appointment':
      return planSuccessorCopy(id, versions, context);
    case 'Communication':
      return { reference };
    case 'Task':
      return ended.has(newest.status) ? { reference } : { reference, persons: [...context.own] };
    default:
      return `${reference}: earlier versions name this person, and it is about somebody else now. Check it by hand`;
  }
}

const isLater = (one: Removal | Later | string): one is Later => typeof one === 'object' && 'persons' in one;

const isRemoval = (one: Removal | Later | string): one is Removal => typeof one === 'object' && !('persons' in one);

const personsIn = ({ input = [] }: Pick<Task, 'input'>): string[] =>
  input.flatMap(({ valueString }) => valueString ?? []);

/** The row of a later removal. `stored` is its row of an earlier erasure: another person had the resource, too. */
export const laterRow = ({ reference, persons }: Later, config: PublicConfig, stored?: Task): Task =>
  newRow(
    'erasure',
    {
      status: 'requested',
      description: 'Remove the earlier versions of this once it is over: they name somebody who was erased',
      focus: { reference },
      input: [...new Set([...personsIn(stored ?? {}), ...persons])].map((id) => ({
        type: { text: 'person' },
        valueString: id,
      })),
    },
    config,
    stored,
  );

/** The removal that a row requires now; `undefined` until its focus has ended. Without versions it is repeated. */
export function dueRemoval(
  row: Task,
  { isDeleted, versions }: Pick<History, 'isDeleted' | 'versions'>,
  context: Pick<ErasureContext, 'config' | 'hash'>,
): Removal | undefined {
  const reference = row.focus?.reference ?? '';
  const [, id = ''] = reference.split('/');
  const planned = planEarlier({ id, isDeleted, versions }, { ...context, own: new Set(personsIn(row)) });
  return versions.length === 0 ? { reference } : planned && isRemoval(planned) ? planned : undefined;
}

function filteredPatients(subscription: Subscription, baseUrl: string): string[] {
  return extensionValues(member(subscription, '_criteria'), backport.filterCriteria).flatMap((filter) => {
    const conditions = parseFilter(filter, '', baseUrl);
    const values = 'code' in conditions ? [] : conditions.flatMap((condition) => condition.values);
    return values.flatMap((value) => (value.startsWith('Patient/') ? [value.slice('Patient/'.length)] : []));
  });
}

/** Plans the erasure of the person whose patients have `ids`. Open appointments with others prevent it. */
export function planErasure(records: PersonRecords, ids: ReadonlySet<string>, context: ErasureContext): Erasure {
  const isShared = (patients: readonly string[]): boolean => patients.some((id) => !ids.has(id));
  const shared = records.appointments.filter((one) => isShared(patientsOf(one)));
  const ownAppointments = records.appointments.filter((one) => !shared.includes(one));
  const sharedReferences = new Set(shared.map(({ id }) => `Appointment/${id}`));
  const own = new Set([...ids, ...records.relatedPersons.map(({ id }) => id)]);
  const submitted = records.earlier.filter(
    ({ isDeleted, versions: [newest] }) => isDeleted && newest && submittedTypes.has(newest.resourceType),
  );
  const planContext = { ...context, own: new Set([...own, ...[...records.answers, ...submitted].map(({ id }) => id)]) };
  const isResponder = ({ actor }: AppointmentResponse): boolean => own.has(actor?.reference?.split('/')[1] ?? '');
  const responses = records.responses.filter(
    (one) => isResponder(one) || (!isForAnother(one, own) && !sharedReferences.has(one.appointment.reference ?? '')),
  );
  // An absence that has not ended contains the plan for others, too.
  const named = new Set([...own, ...ownAppointments.map(({ id }) => id)]);
  const isOfOthers = (resource: Resource): resource is Task =>
    resource.resourceType === 'Task' && isRow(resource, ['absence'], context.config) && !ended.has(resource.status);
  // The row of an earlier run, or of another person's erasure, too.
  const isLaterRow = (resource: Resource): boolean =>
    resource.resourceType === 'Task' && isRow(resource, ['erasure'], context.config);
  const open = records.appointments.filter(isOpen);
  const stuck = open.filter((one) => !mayBecome(one, 'cancelled', 'staff') || shared.includes(one));
  const waiting = records.jobs.filter(({ status }) => status === 'requested' || status === 'in-progress');
  const removalsOf = (all: readonly { readonly resourceType: string; readonly id: string }[]): Removal[] =>
    all.map(({ resourceType, id }) => ({ reference: `${resourceType}/${id}` }));
  const [sharedFilters, ownFilters] = [true, false].map((wanted) =>
    records.subscriptions.filter((one) => isShared(filteredPatients(one, context.config.baseUrl)) === wanted),
  );
  const [requested, others] = [true, false].map((wanted) =>
    context.keptPatients.filter((id) => (id === context.id) === wanted),
  );
  const references = (all: readonly { readonly resourceType: string; readonly id: string }[]): string =>
    all.map(({ resourceType, id }) => `${resourceType}/${id}`).join(', ');
  const unforced = context.isForced ? [] : open.filter((one) => !stuck.includes(one));
  const earlier = records.earlier.flatMap((one) => planEarlier(one, planContext) ?? []);
  const later = [
    ...earlier.filter(isLater),
    ...records.tasks.flatMap((one) =>
      isOfOthers(one)
        ? [
            {
              reference: `Task/${one.id}`,
              persons: [...own],
              redacted: { ...one, input: one.input?.filter((value) => !mentions(value, named)) ?? [] },
            },
          ]
        : [],
    ),
  ];
  const clinical = [...context.clinical].map(([type, count]) => `${count} ${type}`).join(', ');
  return {
    obstacles: [
      ...(unforced.length > 0
        ? [
            `Open appointments: ${references(unforced)}. Complete or cancel them in Medplum, or cancel them with --force.`,
          ]
        : []),
      ...(stuck.length > 0
        ? [
            `Open appointments that cannot be cancelled for this person alone: ${references(stuck)}. Complete them in Medplum.`,
          ]
        : []),
      ...(waiting.length > 0 && !context.isForced
        ? [`Asynchronous bookings in progress: ${references(waiting)}. Wait, or cancel them with --force.`]
        : []),
      ...(clinical
        ? [`The clinic's own records refer to this patient (${clinical}), which the service must not touch.`]
        : []),
    ],
    later,
    toCancel: open.map(({ id }) => `Appointment/${id}`),
    removals: [
      ...removalsOf(records.jobs),
      ...removalsOf(records.tasks.filter((one) => !isForAnother(one, own) && !isOfOthers(one) && !isLaterRow(one))),
      ...removalsOf(responses),
      ...removalsOf(records.messages),
      ...removalsOf(records.answers),
      ...ownAppointments.map((one) => ({
        reference: `Appointment/${one.id}`,
        replacement: pseudonymous(one, context),
      })),
      ...earlier.filter(isRemoval),
      ...removalsOf(records.relatedPersons),
      ...removalsOf(ownFilters ?? []),
      ...[...(others ?? []), ...(requested ?? [])].map((id) => ({ reference: `Patient/${id}` })),
    ],
    left: [
      ...(records.events.length > 0
        ? [`${records.events.length} events: each has the id of an appointment that no longer exists, and no person`]
        : []),
      ...earlier.filter((one) => typeof one === 'string'),
      ...later.map(
        ({ reference }) =>
          `${reference}: it is about others now, too, and removed with its history within minutes once it is over`,
      ),
      ...records.encounters
        .filter((one) => !isAbout(one, ids))
        .map(
          ({ id }) =>
            `Encounter/${id}: it names one of these appointments and is about somebody else. Check it by hand`,
        ),
      ...(sharedFilters ?? []).map(({ id }) => `Subscription/${id}: its filter names other patients, too`),
      ...shared.map(({ id }) => `Appointment/${id}: it has other patients, too. Check its displays and texts by hand`),
    ],
  };
}
