import type { Extension, HealthcareService, Slot } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';
import { schedulesOf } from '../../core/fhir/hours-data.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { clockTimeOf, localDayOf } from '../../core/time/local-day.ts';
import { visitPreview } from '../../core/visits/preview.ts';
import type { Proposal } from '../../core/visits/search.ts';
import { readVisit, type Visit } from '../../core/visits/visit.ts';
import { searchAll } from '../medplum/project.ts';
import { findService, findTarget } from './find.ts';
import { type Calendars, nameOf } from './read.ts';
import { openCalendars, type Session, save, type WritingArguments } from './session.ts';

/** How a visit is given. */
interface VisitArguments extends WritingArguments {
  readonly step?: readonly string[];
  readonly series?: string;
  readonly byStep?: boolean;
  readonly none?: boolean;
}

/** How steps and series are written. */
export const VISIT_HELP = `
A step is its name, and after a colon what it needs, separated by semicolons:
  --step "ECG: by ECG room 1, ECG room 2; 20 min"
  --step "Surgeon: by Surgery; with Theatre 1, Theatre 2; 1 h; after ECG; gap 10 min to 2 h; optional"
by, with   a service, whose schedules can take it, or schedules; with: needed at the same time
after      steps that must be over; without it the step can take place in any order
gap        the shortest and longest time since the step before; "gap 0 min to 2 h"
same as    a step whose schedule takes this one, too
A series: --series "10 times every 1 wk; tolerance 1 d; same person"
Units are min, h, d, wk.
`;

const LENGTH = /^(?<value>\d+(?:\.\d+)?) ?(?<unit>min|h|d|wk)$/;

function durationPart(url: string, text: string): Extension {
  const { value, unit } = LENGTH.exec(text.trim())?.groups ?? {};
  if (value === undefined || unit === undefined) {
    throw new Error(`'${text.trim()}' is not a length of time such as 20 min or 2 h.`);
  }
  return { url, valueDuration: { value: Number(value), code: unit, unit, system: 'http://unitsofmeasure.org' } };
}

const list = (text: string): string[] => text.split(',').map((one) => one.trim());

function poolParts(text: string, calendars: Calendars): Extension[] {
  const targets = list(text).map((name) => findTarget(name, calendars));
  const [first] = targets;
  if (targets.length === 1 && first?.kind === 'service') {
    if (first.schedules.length === 0) {
      throw new Error(`No schedule offers ${text}: nobody could take the step.`);
    }
    return [{ url: 'service', valueReference: { reference: `HealthcareService/${first.service.id}` } }];
  }
  return targets.map((target, index) => {
    if (target.kind === 'service') {
      throw new Error(`${list(text)[index]} is a service: name one service, or schedules only.`);
    }
    return { url: 'schedule', valueReference: { reference: `Schedule/${target.schedule.id}` } };
  });
}

function gapParts(text: string): Extension[] {
  const [least = '', most] = text.split(' to ');
  return [durationPart('gapMin', least), ...(most === undefined ? [] : [durationPart('gapMax', most)])];
}

/** What the words of a step mean, by how they begin. */
function stepParts(text: string, calendars: Calendars): Extension[] {
  const [, word = '', rest = ''] = /^(by|with|after|gap|same as) (.+)$/.exec(text) ?? [];
  switch (word) {
    case 'by':
      return poolParts(rest, calendars);
    case 'with':
      return [{ url: 'with', extension: poolParts(rest, calendars) }];
    case 'after':
      return list(rest).map((name) => ({ url: 'after', valueString: name }));
    case 'gap':
      return gapParts(rest);
    case 'same as':
      return [{ url: 'sameAs', valueString: rest }];
    default:
      return text === 'optional' ? [{ url: 'optional', valueBoolean: true }] : [durationPart('duration', text)];
  }
}

const words = (text: string): string[] => text.split(';').flatMap((one) => one.trim() || []);

/**
 * Reads a step as it is written on the command line.
 *
 * @throws Error that says what cannot be read
 */
function parseStep(text: string, calendars: Calendars): Extension {
  const colon = text.indexOf(':');
  if (colon < 1) {
    throw new Error(`'${text}' is not a step.\n${VISIT_HELP}`);
  }
  const parts = words(text.slice(colon + 1)).flatMap((one) => stepParts(one, calendars));
  return { url: 'step', extension: [{ url: 'name', valueString: text.slice(0, colon).trim() }, ...parts] };
}

/**
 * Reads a series as it is written on the command line.
 *
 * @throws Error that says what cannot be read
 */
function parseSeries(text: string): Extension {
  const extension = words(text).flatMap((word): Extension[] => {
    const { count, every } = /^(?<count>\d+) times every (?<every>.+)$/.exec(word)?.groups ?? {};
    if (count !== undefined && every !== undefined) {
      return [{ url: 'count', valuePositiveInt: Number(count) }, durationPart('every', every)];
    }
    return word === 'same person'
      ? [{ url: 'sameActor', valueBoolean: true }]
      : [durationPart('tolerance', word.replace(/^tolerance /, ''))];
  });
  return { url: 'series', extension };
}

/** A service with the visit that the options give; without one if they say so. */
function withVisit(service: HealthcareService, given: VisitArguments, { calendars, config }: Session) {
  const url = artefactUri(config, 'LocalVisit');
  const others = (service.extension ?? []).filter((one) => one.url !== url);
  const extension = [
    ...(given.step ?? []).map((text) => parseStep(text, calendars)),
    ...(given.series === undefined ? [] : [parseSeries(given.series)]),
    ...(given.byStep ? [{ url: 'byStep', valueBoolean: true }] : []),
  ];
  return { ...service, extension: [...others, ...(given.none ? [] : [{ url, extension }])] };
}

/** How long visits are looked for, in milliseconds. */
const MAX_SEARCH_MS = 2_000;

/** What would be found within a week, as a portal finds it. */
async function offered(visit: Visit, { medplum, calendars, config }: Session): Promise<readonly Proposal[]> {
  const preview = visitPreview(visit, calendars, Date.now(), config);
  const slots: Slot[] = [];
  for (const { schedule, start, end } of preview.reads) {
    const time = `start=lt${formatInstant(end)}&end=gt${formatInstant(start)}`;
    slots.push(
      ...(await searchAll(
        medplum,
        'Slot',
        new URLSearchParams(`schedule=Schedule/${schedule}&status=free&${time}&_sort=start`),
      )),
    );
  }
  const end = Date.now() + MAX_SEARCH_MS;
  return preview.offered(slots, () => Date.now() > end);
}

function proposalText(proposal: Proposal, { timeZone }: BookingConfig, calendars: Calendars): string {
  return proposal
    .map(({ step, start, end, fillers }) => {
      const names = fillers.map(({ schedule }) => {
        const found = calendars.schedules.find(({ id }) => id === schedule);
        return found ? nameOf(found, calendars) : schedule;
      });
      const [from, to] = [start, end].map((time) => clockTimeOf(time, timeZone));
      return `${localDayOf(start, timeZone)} ${from}-${to} ${step} (${names.join(', ')})`;
    })
    .join('; ');
}

/** Sets, shows or removes what a service needs that takes several appointments, and shows what it would offer. */
export async function changeVisit(name: string, given: VisitArguments): Promise<void> {
  const session = await openCalendars(given);
  const { config, calendars } = session;
  const stored = findService(name, calendars);
  const isChange = given.step !== undefined || given.series !== undefined || given.none === true;
  const service = isChange ? withVisit(stored, given, session) : stored;
  const { visit, issues } = readVisit(service, config);
  if (issues.length > 0) {
    const said = issues.map(({ diagnostics, expression }) => `${expression}: ${diagnostics}`).join('\n');
    throw new Error(`${said}\nNothing was changed.`);
  }
  if (visit?.series && schedulesOf(service, calendars).length === 0) {
    throw new Error('No schedule offers this service: nobody could take the series. Nothing was changed.');
  }
  const found = visit ? await offered(visit, session) : [];
  if (visit) {
    console.log(found.length > 0 ? 'Within a week it offers:' : 'It offers nothing within a week.');
  } else {
    console.log('The service takes one appointment.');
  }
  for (const proposal of found) {
    console.log(`  ${proposalText(proposal, config, calendars)}`);
  }
  if (isChange && !given.dryRun) {
    await save(session, service);
    console.log(`HealthcareService/${stored.id} is changed.`);
  }
}
