import { randomUUID } from 'node:crypto';
import type { Extension, HealthcareService, Questionnaire, Schedule, Slot } from '@medplum/fhirtypes';
import { expect, type Page } from '@playwright/test';
import { artefactUri, type Confirmation } from '../../core/fhir/artefacts.ts';
import { changeOfOffset, DAY, instantOf, offsetAt } from '../../core/time/time-zone.ts';
import { aSchedule, aSlot, succeeded } from '../contract/fixtures.ts';
import { medplum } from '../contract/http.ts';
import { config } from '../contract/installation.ts';

/** A service of the clinic that only one test knows. */
export interface TestService {
  readonly name: string;
  /** The page of its free times. */
  readonly address: string;
  readonly schedule: Schedule;
  readonly slots: readonly Slot[];
}

/** What a test wants of its service. */
export interface TestServiceOptions {
  /** When its free times begin, in milliseconds since 1970 UTC; each is half an hour long. */
  readonly starts: readonly number[];
  readonly confirmation?: Confirmation;
  readonly questionnaire?: Pick<Questionnaire, 'item' | 'title'>;
  readonly name?: string;
  readonly doctor?: string;
  /** How many minutes the clinic has to answer a request; without it there is no deadline. */
  readonly confirmWithin?: number;
  /** How many minutes before its start an appointment can be cancelled at the latest. */
  readonly cancelUntil?: number;
  /** How many minutes a time is held. */
  readonly holdFor?: number;
  /** Whether freed time is offered to those who wait. */
  readonly hasWaitlist?: boolean;
  /** Another calendar of the same service. */
  readonly like?: Schedule | undefined;
}

/** The origin of the pages. */
export const origin = new URL(process.env.BOOKING_BASE_URL ?? '').origin;

const HALF_HOUR = 1_800_000;

/** The time zone of the clinic. */
export const zone = 'Europe/Berlin';

/** Nine o'clock at the clinic, so many days from now. */
export function morning(days: number): number {
  const day = new Date(Date.now() + days * DAY).toISOString().slice(0, 10);
  return instantOf(zone, Date.parse(`${day}T09:00:00Z`));
}

/** The next change of the clocks after which they are ahead of, or behind, those before it. */
export function nextChange(isForward: boolean): number {
  for (let day = Date.now() + 2 * DAY; ; day += DAY) {
    const step = offsetAt(zone, day + DAY) - offsetAt(zone, day);
    if (step !== 0 && step > 0 === isForward) {
      return changeOfOffset(zone, day, day + DAY);
    }
  }
}

/** Times back to back, from a moment on. */
export const halfHours = (from: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => from + index * HALF_HOUR);

/** A service with a calendar, free times and questions of its own. */
export async function aService(options: TestServiceOptions): Promise<TestService> {
  const {
    starts,
    confirmation = 'automatic',
    questionnaire,
    doctor = 'Dr. Mira Lindner',
    confirmWithin,
    holdFor,
    cancelUntil,
    like,
    hasWaitlist = false,
  } = options;
  const policy: Extension[] = [
    ...Object.entries({ confirmWithin, holdFor, cancelUntil }).flatMap(([url, value]) =>
      value === undefined ? [] : [{ url, valueDuration: { value, code: 'min' } }],
    ),
    ...(hasWaitlist ? [{ url: 'refill', valueBoolean: true }] : []),
  ];
  const [other] = like?.serviceType?.[0]?.coding ?? [];
  const code = other?.code ?? `test-${randomUUID()}`;
  const system = artefactUri(config, 'LocalServiceType');
  const name = options.name ?? other?.display ?? `Visit ${code.slice(5, 13)}`;
  const schedule = await aSchedule({
    serviceType: [{ coding: [{ system, code, display: name }] }],
    actor: [{ display: doctor }],
    extension: [
      { url: artefactUri(config, 'LocalConfirmation'), valueCode: confirmation },
      ...(policy.length === 0 ? [] : [{ url: artefactUri(config, 'LocalBookingPolicy'), extension: policy }]),
    ],
  });
  const slots: Slot[] = [];
  for (const start of starts) {
    const [from, to] = [new Date(start).toISOString(), new Date(start + HALF_HOUR).toISOString()];
    slots.push(await aSlot(schedule, 0, 30, { start: from, end: to }));
  }
  if (questionnaire) {
    const body: Questionnaire = {
      resourceType: 'Questionnaire',
      status: 'active',
      url: `https://clinic.example/Questionnaire/${code}`,
      useContext: [
        {
          code: { system: 'http://terminology.hl7.org/CodeSystem/usage-context-type', code: 'task' },
          valueCodeableConcept: { coding: [{ system, code }] },
        },
      ],
      ...questionnaire,
    };
    const made = await medplum('admin', 'POST', '/Questionnaire', { body });
    if (made.status !== 201) {
      throw new Error(made.text);
    }
  }
  return {
    name,
    address: `${origin}/portal/times?${new URLSearchParams({ service: `${system}|${code}` })}`,
    schedule,
    slots,
  };
}

/** A service that takes several appointments, and the page of its times. */
export async function aVisit(
  name: string,
  extension: readonly Extension[],
  like?: TestService,
  ...more: readonly Extension[]
) {
  const system = artefactUri(config, 'LocalServiceType');
  const coding = like?.schedule.serviceType?.[0]?.coding?.[0] ?? { system, code: randomUUID() };
  const body: HealthcareService = {
    resourceType: 'HealthcareService',
    active: true,
    name,
    type: [{ coding: [coding] }],
    extension: [{ url: artefactUri(config, 'LocalVisit'), extension: [...extension] }, ...more],
  };
  const service = succeeded('HealthcareService', await medplum('front-desk', 'POST', '/HealthcareService', { body }));
  if (like) {
    const actor = [...like.schedule.actor, { reference: `HealthcareService/${service.id}` }];
    const path = `/Schedule/${like.schedule.id}`;
    succeeded('Schedule', await medplum('front-desk', 'PUT', path, { body: { ...like.schedule, actor } }));
  }
  const query = new URLSearchParams({ service: `${coding.system}|${coding.code}` });
  const address = `${origin}/portal/times?${query}`;
  return { service, name, address, heading: 'Choose a time for the whole visit' };
}

/** A step in the calendar of a service. */
export const stepIn = ({ name, schedule }: TestService, ...more: readonly Extension[]): Extension => ({
  url: 'step',
  extension: [
    { url: 'name', valueString: name },
    { url: 'schedule', valueReference: { reference: `Schedule/${schedule.id}` } },
    ...more,
  ],
});

/** Physiotherapy once a week, each time within an hour of the usual one. */
export function aSeries(count: number, exercise: TestService) {
  const extension = [
    { url: 'count', valuePositiveInt: count },
    { url: 'every', valueDuration: { value: 1, code: 'wk' } },
    { url: 'tolerance', valueDuration: { value: 1, code: 'h' } },
  ];
  return aVisit('Physiotherapy', [{ url: 'series', extension }], exercise);
}

/**
 * Goes to the free times of a service. The portal remembers the services for some seconds, maybe without this one, or as it
 * was before it became a series.
 */
export async function visit(page: Page, { address, heading }: { address: string; heading?: string }): Promise<void> {
  for (;;) {
    const response = await page.goto(address);
    const isKnown = response?.status() === 200;
    if (isKnown && (heading === undefined || (await page.locator('h1').textContent()) === heading)) {
      return;
    }
    await page.waitForTimeout(200);
  }
}

/** Lets the time of a page whose clock is installed go on until something has come. */
export const later = (page: Page, hasCome: () => Promise<void>): Promise<void> =>
  expect(async () => {
    await page.clock.fastForward(5_000);
    await hasCome();
  }).toPass({ intervals: [100] });

/** Fills in who comes. */
export async function fillPerson(page: Page, given = 'Kim', family = 'Muster'): Promise<void> {
  await page.locator('[name=given]').fill(given);
  await page.locator('[name=family]').fill(family);
  await page.locator('[name=birthDate]').fill('1990-05-17');
  await page.locator('[name=email]').fill('kim@example.org');
}
