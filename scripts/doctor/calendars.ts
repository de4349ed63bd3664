import type { Resource, Slot } from '@medplum/fhirtypes';
import { openingHoursOf } from '../../core/calendar/opening-hours.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { isBuffer } from '../../core/fhir/scheduling/slot-marks.ts';
import { isBooked, slotIdsOf } from '../../core/slots/slot.ts';
import { reasonOf } from '../calendar/list.ts';
import { type Calendars, nameOf, readCalendars } from '../calendar/read.ts';
import { type Check, check, type DoctorResult, type Installation, named, ok, warning } from './check.ts';

/** A schedule that looks bookable but has nothing to book. */
interface Silent {
  readonly schedule: string;
  readonly reason: string;
}

interface Shared {
  readonly actor: string;
  readonly schedules: readonly string[];
}

const MAX_LOOKED_AT = 200;

/** Schedules without anything to book. */
export function assessSilent({
  all,
  silent,
}: {
  readonly all: number;
  readonly silent: readonly Silent[];
}): DoctorResult {
  return silent.length === 0
    ? ok(`${all} schedules`)
    : warning(
        `${silent.length} of ${all} schedules look bookable and publish nothing: ${named(silent.map(({ schedule, reason }) => `${schedule}: ${reason}`))}`,
        'npm run calendar -- list and docs/clinics.md, "Nothing is published".',
      );
}

/** Warns of actors with several schedules, which can be booked at the same time. */
export function assessShared(shared: readonly Shared[]): DoctorResult {
  return shared.length === 0
    ? ok('each has its own schedule')
    : warning(
        `not protected from bookings at the same time: ${shared.map(({ actor, schedules }) => `${actor} in ${schedules.join(', ')}`).join('; ')}`,
        'Use one schedule with several services. docs/clinics.md, "What is protected", says what is checked.',
      );
}

async function hasSlots({ medplum }: Installation, id: string): Promise<boolean> {
  const query = { schedule: `Schedule/${id}`, status: 'free', start: `ge${formatInstant(Date.now())}`, _count: 1 };
  return (await medplum.searchResources('Slot', query, { cache: 'reload' })).length > 0;
}

async function readSilent(installation: Installation): Promise<{ all: number; silent: Silent[] }> {
  const { medplum, config } = installation;
  const calendars = await readCalendars(medplum, config);
  const silent: Silent[] = [];
  let lookedAt = 0;
  for (const schedule of calendars.schedules.filter(({ active }) => active !== false)) {
    const publishing = openingHoursOf(schedule, calendars, config).publishing;
    const isSwitchedOff = publishing.kind === 'off' && publishing.reason === 'switched-off';
    const hasNone = publishing.kind === 'on' && publishing.calendars.length === 0;
    const refused = calendars.publications.get(schedule.id)?.statusReason?.text;
    const reason = hasNone ? 'none of its services is active' : (reasonOf(publishing, schedule) ?? refused);
    const isByHand = publishing.kind === 'off' && lookedAt < MAX_LOOKED_AT;
    lookedAt += isByHand ? 1 : 0;
    if (
      reason !== undefined &&
      !isSwitchedOff &&
      !(publishing.kind === 'off' && (!isByHand || (await hasSlots(installation, schedule.id))))
    ) {
      silent.push({ schedule: `${nameOf(schedule, calendars)} (Schedule/${schedule.id})`, reason });
    }
  }
  return { all: calendars.schedules.length, silent };
}

/** The practitioner of a role; any other actor itself. */
function personOf(reference: string, { actors }: Pick<Calendars, 'actors'>): string {
  const actor = actors.get(reference);
  return (actor?.resourceType === 'PractitionerRole' && actor.practitioner?.reference) || reference;
}

/** The actors that several active schedules name. */
export function sharedActors(calendars: Pick<Calendars, 'actors' | 'schedules'>): Shared[] {
  const schedules = new Map<string, string[]>();
  for (const { active, actor, id } of calendars.schedules) {
    const people = new Set(actor.flatMap(({ reference }) => (reference ? [personOf(reference, calendars)] : [])));
    for (const person of active === false ? [] : people) {
      schedules.set(person, [...(schedules.get(person) ?? []), `Schedule/${id}`]);
    }
  }
  return [...schedules].flatMap(([actor, found]) => (found.length > 1 ? [{ actor, schedules: found }] : []));
}

const isSharedActor = ({ actor }: Shared): boolean => /^(?:Location|Device|HealthcareService)\//.test(actor);

const readShared = async ({ medplum, config }: Installation): Promise<Shared[]> =>
  sharedActors(await readCalendars(medplum, config));

interface Doubtful {
  readonly ofNobody: readonly string[];
  readonly ofOneService: readonly string[];
}

/** Age at which a Slot must have its appointment, in milliseconds. */
const MINUTE = 60_000;

/** Slots of staff or Medplum that no appointment names, or that newer versions of Medplum interpret differently. */
export function doubtfulSlots(found: readonly Resource[], now: number): Doubtful {
  const appointments = found.filter((resource) => isResource(resource, 'Appointment'));
  const named = new Set(appointments.flatMap(slotIdsOf));
  const slots = found.filter((resource) => isResource(resource, 'Slot'));
  const isLeft = (slot: Slot): boolean =>
    isBooked(slot) && !named.has(slot.id ?? '') && Date.parse(slot.meta?.lastUpdated ?? '') < now - MINUTE;
  const isOfOneService = (slot: Slot): boolean => (isBooked(slot) || isBuffer(slot)) && !!slot.serviceType?.length;
  const references = (isMeant: (slot: Slot) => boolean): string[] =>
    slots.filter(isMeant).map(({ id }) => `Slot/${id}`);
  return { ofNobody: references(isLeft), ofOneService: references(isOfOneService) };
}

async function readDoubtful({ medplum }: Installation): Promise<Doubtful> {
  const now = Date.now();
  const later = { end: `gt${formatInstant(now)}`, _sort: 'start', _count: '500', _revinclude: 'Appointment:slot' };
  const search = async (more: Record<string, string>): Promise<Resource[]> => {
    const { entry = [] } = await medplum.search('Slot', { ...later, ...more }, { cache: 'reload' });
    return entry.flatMap(({ resource }) => resource ?? []);
  };
  // Busy Slots of the service have identifiers.
  const left = await search({ status: 'busy,busy-tentative', 'identifier:missing': 'true' });
  const typed = await search({ status: 'busy,busy-tentative,busy-unavailable', 'service-type:missing': 'false' });
  return {
    ofNobody: doubtfulSlots(left, now).ofNobody,
    ofOneService: doubtfulSlots(typed, now).ofOneService,
  };
}

/** Warns of busy Slots without an appointment, and of those for one service only. */
export function assessDoubtful({ ofNobody, ofOneService }: Doubtful): DoctorResult {
  const found = [
    ...(ofNobody.length > 0 ? [`${ofNobody.length} are busy without an appointment: ${named(ofNobody)}`] : []),
    ...(ofOneService.length > 0
      ? [`${ofOneService.length} name a service, and will take time from it alone: ${named(ofOneService)}`]
      : []),
  ];
  return found.length === 0
    ? ok('each belongs to an appointment')
    : warning(
        found.join('. '),
        'Delete what a refused batch has left; block time by busy-unavailable. Remove serviceType before you upgrade Medplum.',
      );
}

export const calendarChecks: readonly Check[] = [
  check('published slots', readSilent, assessSilent),
  check(
    'schedules of one actor',
    async (installation) => (await readShared(installation)).filter((shared) => !isSharedActor(shared)),
    assessShared,
  ),
  check('busy slots of staff', readDoubtful, assessDoubtful),
  check('shared rooms', async (installation) => (await readShared(installation)).filter(isSharedActor), assessShared),
];
