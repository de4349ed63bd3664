import { createHash, randomBytes } from 'node:crypto';
import '../lib/crypto.ts';
import type { BotEvent, MedplumClient } from '@medplum/core';
import type { OperationOutcome, Parameters } from '@medplum/fhirtypes';
import { absentOutcome } from '../../core/booking/appointment/deleted.ts';
import { toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { updateEntry } from '../../core/fhir/resource.ts';
import {
  type CalendarFeedRequest,
  type CalendarLink,
  calendarFeedActor,
  calendarFeedFile,
  calendarFeedLink,
  calendarFeedParameters,
  calendarFeedRow,
  calendarFeedSearch,
  calendarLinkOf,
  inSlotsSearches,
  parseFeedRequest,
  takenSearch,
} from '../../core/messages/calendar-feed.ts';
import { creation, isRow } from '../../core/rows/row.ts';
import type { Requestor } from '../lib/booking/decide.ts';
import { callerOf, readRights } from '../lib/caller.ts';
import { config } from '../lib/config.ts';
import { ofType, ReadError, readInTransaction } from '../lib/read.ts';
import { writeRows } from '../lib/rows.ts';

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');

const unknown = absentOutcome('unknown', 'calendar');

/** The calendar file of a link, or `unknown` if the key, which is the only credential, does not fit. */
async function readFile(medplum: MedplumClient, { row: id, key }: Extract<CalendarFeedRequest, { key: string }>) {
  const [rows] = await readInTransaction(medplum, [`Task?_id=${id}`]);
  const [row] = ofType('Task', rows).filter((task) => isRow(task, ['calendar-feed'], config));
  const feed = row && calendarLinkOf(row);
  if (!feed || feed.hash !== hashOf(key)) {
    return unknown;
  }
  const [schedules] = await readInTransaction(medplum, [`Schedule?actor=${feed.actor}&_count=100`]);
  const calendars = ofType('Schedule', schedules);
  const [found] = calendars.length > 0 ? await readInTransaction(medplum, [takenSearch(calendars, Date.now())]) : [];
  const pages = await readInTransaction(medplum, inSlotsSearches(ofType('Slot', found)));
  const appointments = new Map(ofType('Appointment', pages.flat()).map((appointment) => [appointment.id, appointment]));
  const valueString = calendarFeedFile([...appointments.values()], feed, config);
  return { resourceType: 'Parameters' as const, parameter: [{ name: 'calendar', valueString }] };
}

/** Reads (`look`), creates or renews (`make`) or ends the link of a calendar, for staff; `unknown` for all others. */
async function changeLink(
  medplum: MedplumClient,
  { schedule: id, action, withNames }: Extract<CalendarFeedRequest, { action: string }>,
  { authorization, reference }: Requestor,
): Promise<Parameters | OperationOutcome> {
  const [rights, [schedules]] = await Promise.all([
    readRights(medplum, authorization),
    readInTransaction(medplum, [`Schedule?_id=${id}`], { authorization }),
  ]);
  const [schedule] = ofType('Schedule', schedules);
  const ownActor = schedule?.actor.find((actor) => actor.reference === reference?.reference)?.reference;
  const actor = (!rights.seesAll && ownActor) || (schedule && calendarFeedActor(schedule));
  // A link shows every appointment of a calendar: staff who may not see all may only create one for their own calendar.
  if (!actor || rights.role !== 'staff' || !(rights.seesAll || ownActor || action !== 'make')) {
    return unknown;
  }
  const [rows] = await readInTransaction(medplum, [calendarFeedSearch(actor, config)]);
  const [stored] = ofType('Task', rows);
  const storedLink: CalendarLink = stored ? calendarLinkOf(stored) : { actor, hash: undefined, withNames: false };
  if (action === 'look' || (action === 'end' && !stored)) {
    return calendarFeedParameters(storedLink);
  }
  const key = randomBytes(32).toString('hex');
  const feed: CalendarLink =
    action === 'make' ? { actor, hash: hashOf(key), withNames } : { ...storedLink, hash: undefined };
  const row = calendarFeedRow(feed, config, stored);
  const written = await writeRows(
    medplum,
    [stored ? updateEntry(stored, row) : creation(row, calendarFeedSearch(actor, config))],
    'The link of a calendar',
  );
  // Of two concurrent requests for a link, only one gets it.
  return written?.id && (action === 'end' || calendarLinkOf(written).hash === feed.hash)
    ? calendarFeedParameters(feed, action === 'make' ? calendarFeedLink(`${written.id}.${key}`, config) : undefined)
    : toOperationOutcome(
        [{ code: 'booking-conflict', diagnostics: 'Somebody else changed the link at the same moment: try again.' }],
        config,
      );
}

/**
 * Carries out `$feed`: returns the calendar file of a secret link; for staff, creates, renews or ends the link. Only a
 * hash of the secret is stored.
 * @param event - input: Parameters with `token`; or with `schedule`, `action` (look, make, end) and `names`
 * @returns Parameters with `calendar`, a text (iCalendar); or with `active`, `names` and, once, `link`
 */
export async function handler(
  medplum: MedplumClient,
  event: BotEvent<unknown>,
): Promise<Parameters | OperationOutcome> {
  const request = parseFeedRequest(event.input);
  if (!request) {
    return unknown;
  }
  try {
    if ('key' in request) {
      return await readFile(medplum, request);
    }
    return await changeLink(medplum, request, callerOf(event));
  } catch (error) {
    if (error instanceof ReadError) {
      const diagnostics = 'The FHIR server could not be read: try again in a moment.';
      return toOperationOutcome([{ code: 'upstream-unavailable', diagnostics }], config);
    }
    throw error;
  }
}
