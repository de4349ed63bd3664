import { beforeAll, expect, test } from '@jest/globals';
import type { MedplumClient } from '@medplum/core';
import type { Appointment, HealthcareService, QuestionnaireResponse, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { type BotName, botSource, bots } from '../../../core/config/bots.ts';
import { EXTERNAL_TAG } from '../../../core/config/config.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { newRow, rowCodes } from '../../../core/rows/row.ts';
import { bundleBot } from '../../../scripts/build/bots.ts';
import { checkProject, repairProject } from '../../../scripts/consistency/check.ts';
import { deploy } from '../../../scripts/deploy.ts';
import { until } from '../../lib/until.ts';
import { codeOf, config, type Installation, present, startInstallation } from '../installation.ts';

let installation: Installation;
let real: Record<BotName, string>;
let medplum: MedplumClient;

const DAY = 86_400_000;
const dayIn = (days: number): string => new Date(Date.now() + days * DAY).toISOString().slice(0, 10);
const [inThreeDays, inFourDays] = [dayIn(3), dayIn(4)];
const [today, nextWeek] = [dayIn(0), dayIn(7)];

async function deployCode(code: Record<BotName, string>): Promise<MedplumClient> {
  const { baseUrl, clientId, clientSecret } = installation.sandbox;
  const { connection } = await deploy({ baseUrl, clientId, clientSecret, config, code, log: () => undefined });
  return connection.medplum;
}

/** As long as no Bot does anything, what is written stays as it is. */
const stopBots = () => deployCode(codeOf('exports.handler = async () => undefined;'));

const minutes = (url: string, value: number) => ({ url, valueDuration: { value, unit: 'min' } });

async function aPublishedCalendar(): Promise<Schedule & { id: string }> {
  const type = [{ coding: [{ system: 'urn:services', code: 'visit' }] }];
  const service = await medplum.createResource<HealthcareService>({
    resourceType: 'HealthcareService',
    active: true,
    name: 'Visit',
    type,
    availableTime: [
      {
        daysOfWeek: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
        availableStartTime: '09:00:00',
        availableEndTime: '11:00:00',
      },
    ],
    extension: [
      {
        url: 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters',
        extension: [
          minutes('duration', 30),
          minutes('alignmentInterval', 30),
          { url: 'timezone', valueCode: 'Etc/UTC' },
        ],
      },
    ],
  });
  const practitioner = await medplum.createResource({ resourceType: 'Practitioner', name: [{ family: 'Moreau' }] });
  const valueReference = { reference: `HealthcareService/${service.id}` };
  const schedule = await medplum.createResource<Schedule>({
    resourceType: 'Schedule',
    active: true,
    actor: [{ reference: `Practitioner/${practitioner.id}` }],
    serviceType: [
      { ...type[0], extension: [{ url: 'https://medplum.com/fhir/service-type-reference', valueReference }] },
    ],
    planningHorizon: { start: today, end: nextWeek },
  });
  await until(async () => {
    const rows = await medplum.searchResources('Task', { code: rowCodes(['publish'], config) }, { cache: 'reload' });
    return rows.some((row) => row.focus?.reference === `Schedule/${schedule.id}` && row.status === 'completed');
  });
  return schedule;
}

const slotsOf = (schedule: Schedule): Promise<Slot[]> =>
  medplum.searchResources(
    'Slot',
    { schedule: `Schedule/${schedule.id}`, _sort: 'start', _count: 200 },
    { cache: 'reload' },
  );

const appointment = (slot: Slot | undefined): Appointment => ({
  resourceType: 'Appointment',
  status: 'booked',
  start: present(slot).start,
  end: present(slot).end,
  slot: [{ reference: `Slot/${slot?.id}` }],
  participant: [{ actor: { display: 'Somebody' }, status: 'accepted' }],
});

/** The job of an asynchronous booking that has made an appointment. */
const jobOf = (id: string | undefined): Task => {
  const type = { coding: [{ system: 'urn:outputs', code: 'appointment' }] };
  const output = [{ type, valueReference: { reference: `Appointment/${id}` } }];
  return newRow('book', { status: 'completed', output }, config);
};

beforeAll(async () => {
  installation = await startInstallation();
  const names = Object.keys(bots) as BotName[];
  const code = await Promise.all(names.map(async (name) => [name, await bundleBot(botSource(name), config)] as const));
  real = { ...codeOf(''), ...Object.fromEntries(code) };
  medplum = await deployCode(real);
});

test('what has one right answer is found and mended, the rest is a Task for people', async () => {
  const schedule = await aPublishedCalendar();
  expect((await checkProject(medplum, config)).findings).toEqual([]);
  await expect(checkProject(medplum, config, { schedules: ['Schedule/1'] })).rejects.toThrow('no Schedule/1.');

  const [deleted, booked, shared, lost] = (await slotsOf(schedule)).filter(({ start }) =>
    start.startsWith(inThreeDays),
  );
  const blocked = present((await slotsOf(schedule)).find(({ start }) => start.startsWith(inFourDays)));
  const held = await medplum.createResource(appointment(lost));
  await until(
    () => slotsOf(schedule),
    (slots) => slots.some(({ id, status }) => id === lost?.id && status === 'busy'),
  );

  await stopBots();
  const answers = await medplum.createResource<QuestionnaireResponse>({
    resourceType: 'QuestionnaireResponse',
    meta: { tag: [{ system: config.metaTagSystem, code: EXTERNAL_TAG }, requestorTag('portal', config)] },
    status: 'completed',
  });
  const supportingInformation = [{ reference: `QuestionnaireResponse/${answers.id}` }];
  const over = { ...appointment(booked), status: 'cancelled', supportingInformation } as const;
  const [ofJob, before] = [await medplum.createResource(over), await medplum.createResource(over)];
  await medplum.createResource(jobOf(ofJob.id));
  await medplum.deleteResource('Appointment', ofJob.id);
  await medplum.deleteResource('Appointment', before.id);
  const lying = await medplum.createResource(jobOf(schedule.id));
  await medplum.deleteResource('Slot', present(deleted?.id));
  const next = { url: 'urn:previous', valueReference: { reference: `Appointment/${before.id}` } };
  await medplum.createResource({ ...appointment(booked), extension: [next] });
  await medplum.createResource(appointment(shared));
  await medplum.createResource(appointment(shared));
  await medplum.deleteResource('Appointment', held.id);
  await medplum.createResource<Slot>({
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${schedule.id}` },
    identifier: (['LocalBuffer', 'LocalSlotOrigin'] as const).map((artefact) => ({
      system: artefactUri(config, artefact),
      value: present(lost?.id),
    })),
    status: 'busy-unavailable',
    comment: 'buffer after appointment',
    start: present(lost).end,
    end: new Date(Date.parse(present(lost).end) + 300_000).toISOString(),
  });
  await medplum.createResource<Slot>({
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${schedule.id}` },
    status: 'busy',
    start: blocked.start,
    end: blocked.end,
  });

  const found = await checkProject(medplum, config);
  const rules = found.findings.map(({ rule, resource }) => `${rule} ${resource}`);
  expect(rules).toEqual(
    expect.arrayContaining([
      `published-differs Schedule/${schedule.id}`,
      `slot-status Slot/${booked?.id}`,
      `slot-held-twice Slot/${shared?.id}`,
      `slot-without-appointment Slot/${lost?.id}`,
      expect.stringMatching(/^buffer-left-over/),
      `free-over-taken Slot/${blocked.id}`,
      `reference-missing Task/${lying.id}`,
      `answers-left-over QuestionnaireResponse/${answers.id}`,
    ]),
  );
  expect(rules.filter((one) => one.startsWith('reference-missing'))).toHaveLength(1);
  await medplum.deleteResource('Task', lying.id);
  await medplum.deleteResource('QuestionnaireResponse', answers.id);

  await deployCode(real);
  const { failures, left } = await repairProject(medplum, config);
  expect(failures).toEqual([]);
  expect(left.findings.map(({ rule, resource }) => `${rule} ${resource}`)).toEqual([]);
  // Which of two appointments of the clinic on one Slot stays is for people to decide.
  expect(await medplum.searchResources('Task', 'status=requested&priority=urgent')).toHaveLength(1);
  const after = await slotsOf(schedule);
  const statusAt = (slot: Slot | undefined) =>
    after
      .filter(({ start, status }) => start === slot?.start && status !== 'entered-in-error')
      .map(({ status }) => status);
  expect([deleted, booked, lost, blocked].map(statusAt)).toEqual([['free'], ['busy'], ['free'], ['busy']]);
  expect(after.filter(({ comment }) => comment === 'buffer after appointment')).toEqual([]);
});
