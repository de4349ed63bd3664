import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, BundleEntry, Slot, Task } from '@medplum/fhirtypes';
import { isOffered } from '../../../core/booking/appointment/expiry.ts';
import { offeredFor } from '../../../core/booking/appointment/offer.ts';
import { canBeMoved } from '../../../core/booking/appointment/status.ts';
import { parseBookRequest } from '../../../core/booking/book/request/request.ts';
import { hasCommonIdentifier } from '../../../core/booking/patient/identity.ts';
import { effectivePolicy } from '../../../core/booking/policy/effective-policy.ts';
import { afterQuietHours } from '../../../core/booking/policy/policy.ts';
import { searchUrl } from '../../../core/booking/search.ts';
import { atTime } from '../../../core/booking/slots/reads.ts';
import { compareEntries, fits, type Offered, proposalFor, standingOf } from '../../../core/booking/waitlist/entry.ts';
import {
  askedSearch,
  callRow,
  earliestOffer,
  isRefilled,
  MOST_ASKED,
  offerEnd,
  offeredTime,
  offersBefore,
  refillOf,
  refillRow,
} from '../../../core/booking/waitlist/refill.ts';
import { idIn } from '../../../core/fhir/reference/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { markChange, ownerOf } from '../../../core/fhir/tags.ts';
import { updateEntry } from '../../../core/fhir/update-entry.ts';
import { isOfClinic } from '../../../core/messages/recipient.ts';
import { creation } from '../../../core/rows/row.ts';
import { INTENT_LIFETIME } from '../../../core/slots/intent.ts';
import { config } from '../config.ts';
import { newId } from '../new-id.ts';
import { ofType, readAll, readByIds, readInTransaction } from '../read.ts';
import { writeRows } from '../rows.ts';
import { bookAppointment, isTransient } from './book.ts';
import { readReaches } from './reach.ts';
import { readSchedules } from './related-reads.ts';

/** How many free Slots of one release are offered at once. */
const MOST_SLOTS = 50;

/** How many of those who wait may turn out not to be able to take a time, before it is left to everybody. */
const MOST_REFUSED = 5;

/** What a refusal means for the time, and for who else is asked. */
const gone: ReadonlySet<string> = new Set(['slot-not-found', 'slot-mismatch', 'schedule-inactive']);

/** Those who wait, and what they have. */
interface Waiting {
  /** In the order in which they are asked. */
  readonly entries: readonly Appointment[];
  /** Appointments that still stand until something earlier is taken, by id. */
  readonly standing: ReadonlyMap<string, Appointment>;
  /** Ids of the entries that have an offer that stands. */
  readonly asked: Set<string>;
}

async function readWaiting(medplum: MedplumClient, now: number): Promise<Waiting> {
  const searches = ['waitlist', 'proposed'].map((status) => `Appointment?status=${status}`);
  const found = ofType('Appointment', await readAll(medplum, searches));
  const entries = found.filter(({ status }) => status === 'waitlist').toSorted(compareEntries);
  const ids = entries.flatMap((one) => standingOf(one) ?? []);
  const standing = await readByIds(medplum, 'Appointment', ids);
  const offers = found.filter((one) => isOffered(one, now, config));
  return {
    entries,
    standing: new Map(ofType('Appointment', standing).flatMap((one) => (canBeMoved(one) ? [[one.id ?? '', one]] : []))),
    asked: new Set(offers.flatMap((one) => offeredFor(one, config))),
  };
}

/** An entry with a new version: of two offers to one person, or an offer and a leaving, one is overtaken. */
function touched(entry: Appointment): BundleEntry {
  const meta = markChange(entry.meta, ownerOf(entry, config) ?? '', entry.meta?.versionId, config);
  return updateEntry(entry, { ...entry, meta });
}

/** What is written with an offer: its entry is touched, and staff call whoever hears of it in no other way. */
function withOffer(transaction: Bundle, entry: Appointment, isCalled: boolean): Bundle {
  const [first, ...others] = transaction.entry ?? [];
  const fullUrl = first?.fullUrl ?? newId();
  const offered = first?.resource;
  const call = isCalled && isResource(offered, 'Appointment') ? [creation(callRow(offered, fullUrl, config))] : [];
  return first
    ? { ...transaction, entry: [{ ...first, fullUrl }, ...others, touched(entry), ...call] }
    : { ...transaction, entry: [touched(entry)] };
}

/** Offers a time to one of those who wait. */
async function offer(
  medplum: MedplumClient,
  entry: Appointment,
  slot: Slot,
  offered: Offered,
  until: number,
  standing: Appointment | undefined,
  secrets: BotEvent['secrets'],
): Promise<'offered' | 'not-theirs' | 'taken' | 'gone'> {
  const owner = ownerOf(entry, config);
  // A portal that puts somebody on the list knows how to tell them.
  const [reach] = isOfClinic(entry, config) ? await readReaches(medplum, [entry], secrets) : [];
  const result = await bookAppointment(
    medplum,
    parseBookRequest(proposalFor(entry, offered, slot.id ?? ''), config),
    { id: owner ?? '', role: owner === undefined ? 'repository' : 'requestor', limits: [] },
    {
      offer: { reason: 'waitlist', for: [entry.id ?? '', ...(standing?.id ? [standing.id] : [])], until },
      extend: (transaction) => withOffer(transaction, entry, reach === 'call'),
    },
  );
  if (result.kind !== 'refused') {
    return 'offered';
  }
  if (isTransient(result.issues)) {
    throw new Error(result.issues.map(({ diagnostics }) => diagnostics).join(' '));
  }
  const isTaken = result.issues.some(({ code }) => code === 'slot-not-free');
  return isTaken ? 'taken' : result.issues.some(({ code }) => gone.has(code)) ? 'gone' : 'not-theirs';
}

const patientsOf = ({ participant }: Appointment): string[] =>
  participant.flatMap(({ actor }) => idIn(actor, 'Patient') ?? []);

/** Those of some entries whose people were not asked for a time yet, by whatever portal: a person is who has the same identifier. */
async function withoutAsked(
  medplum: MedplumClient,
  entries: readonly Appointment[],
  before: readonly Appointment[],
): Promise<Appointment[]> {
  if (entries.length === 0 || before.length === 0) {
    return [...entries];
  }
  const read = await readByIds(medplum, 'Patient', [...entries, ...before].flatMap(patientsOf));
  const known = new Map(ofType('Patient', read).map((one) => [one.id ?? '', one.identifier]));
  const asked = before.flatMap(patientsOf);
  const wasAsked = (id: string): boolean =>
    asked.some((other) => other === id || hasCommonIdentifier(known.get(id), known.get(other)));
  return entries.filter((one) => !patientsOf(one).some(wasAsked));
}

/**
 * Offers a free Slot to the first whom it fits and who was not asked for it yet.
 *
 * @returns whether somebody else takes it, or is about to
 */
async function offerSlot(
  medplum: MedplumClient,
  slot: Slot,
  offered: Offered,
  until: number,
  { entries, standing, asked }: Waiting,
  secrets: BotEvent['secrets'],
): Promise<boolean> {
  const [found] = await readInTransaction(medplum, [askedSearch(offered)]);
  const before = offersBefore(ofType('Appointment', found), ofType('Slot', found), offered.schedule.id ?? '', config);
  const askedForIt = new Set(before.flatMap((one) => offeredFor(one, config)));
  const standingFor = (one: Appointment) => standing.get(standingOf(one) ?? '');
  const wanted = entries.filter(
    (one) => !asked.has(one.id ?? '') && !askedForIt.has(one.id ?? '') && fits(one, offered, standingFor(one)),
  );
  const others = before.length < MOST_ASKED ? await withoutAsked(medplum, wanted, before) : [];
  for (const entry of others.slice(0, MOST_REFUSED)) {
    const result = await offer(medplum, entry, slot, offered, until, standingFor(entry), secrets);
    if (result === 'offered') {
      asked.add(entry.id ?? '');
    }
    if (result !== 'not-theirs') {
      return result === 'taken';
    }
  }
  return false;
}

/**
 * Offers the released time of a row to those who wait for it. Nothing is kept of who is asked but the offers themselves: a
 * run that is interrupted, or comes twice, goes on from what is stored.
 *
 * @param secrets - of the project, by which it is known how people are reached
 * @throws Error when the server could not be read or written; the next run goes on
 */
export async function refill(medplum: MedplumClient, id: string, secrets: BotEvent['secrets']): Promise<void> {
  const now = Date.now();
  const [rows, somebody = []] = await readInTransaction(medplum, [
    `Task?_id=${id}`,
    'Appointment?status=waitlist&_count=1&_fields=id',
  ]);
  const [row] = ofType('Task', rows);
  const freed = row && refillOf(row);
  if (!row || !freed?.due || freed.due > now) {
    return;
  }
  const close = (due: number | undefined) =>
    writeRows(medplum, [updateEntry<Task>(row, refillRow({ ...freed, due }, config, row))], `Task/${id}`);
  const [calendar] = somebody.length > 0 ? await readSchedules(medplum, [freed.schedule]) : [];
  const policy = calendar && effectivePolicy(calendar.schedule, calendar.services, config);
  if (!calendar || !policy || !isRefilled(policy) || calendar.schedule.active === false) {
    await close(undefined);
    return;
  }
  const awake = afterQuietHours(policy.policy, now, config.timeZone);
  if (awake > now) {
    await close(awake);
    return;
  }
  const [found] = await readInTransaction(medplum, [
    searchUrl('Slot', [
      ['schedule', `Schedule/${freed.schedule}`],
      ['status', 'free'],
      ...atTime(freed),
      ['_sort', 'start'],
      ['_count', String(MOST_SLOTS)],
    ]),
  ]);
  const slots = ofType('Slot', found);
  const waiting = slots.length > 0 ? await readWaiting(medplum, now) : undefined;
  // Whoever takes it may be refused yet: then it is free once more, and nothing releases it.
  let isContested = false;
  for (const slot of waiting && waiting.entries.length > 0 ? slots : []) {
    const time = offeredTime(slot, freed, calendar, earliestOffer(policy, now), config);
    if (time && waiting) {
      const until = offerEnd(policy, time.start, now);
      const whole = { ...time, schedule: calendar.schedule };
      isContested = (await offerSlot(medplum, slot, whole, until, waiting, secrets)) || isContested;
    }
  }
  await close(isContested ? now + INTENT_LIFETIME : undefined);
}
