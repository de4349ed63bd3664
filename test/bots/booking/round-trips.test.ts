import { describe, expect, it } from '@jest/globals';
import type { Resource, Slot } from '@medplum/fhirtypes';
import { type BotName, botSource } from '../../../core/config/bots.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { bundleBot } from '../../../scripts/build/bots.ts';
import { config, patient, stored } from '../../core/booking/change.cases.ts';
import { compile, type FakeServer, issuesOf, run } from '../server.ts';

const theServer = (): FakeServer & { readonly asked: unknown[] } => ({
  appointment: stored,
  patients: [patient],
  written: [],
  asked: [],
});

/** The slots of the stored appointment, as a booking has left them. */
const slots = (stored.slot ?? []).map(({ reference }, index): Slot => {
  const times = ['2031-01-06T08:00:00.000Z', '2031-01-06T08:30:00.000Z', '2031-01-06T09:00:00.000Z'];
  const [start = '', end = ''] = times.slice(index);
  const schedule = { reference: 'Schedule/1' };
  const id = reference?.split('/')[1] ?? '';
  const identifier = [{ system: artefactUri(config, 'LocalSlotOrigin'), value: id }];
  return { resourceType: 'Slot', id, identifier, status: 'busy', start, end, schedule };
});

const patchOf = (operation: object) => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'id', valueId: stored.id },
    { name: 'patch', valueString: JSON.stringify([operation]) },
  ],
});

const comment = patchOf({ op: 'add', path: '/comment', value: 'On foot' });
const cancellation = patchOf({ op: 'replace', path: '/status', value: 'cancelled' });
const requester = { reference: 'Practitioner/1' };

/** What each request asked for: `GET url`. */
const requestsOf = ({ asked }: { readonly asked: readonly unknown[] }): string[][] =>
  asked.map((sent) =>
    isResource(sent, 'Bundle') ? (sent.entry ?? []).map(({ request }) => `${request?.method} ${request?.url}`) : [],
  );

const bot = async (name: BotName) => compile(await bundleBot(botSource(name), config));

describe('calls of the server', () => {
  it('the guard reads appointment and patients in one', async () => {
    const server = theServer();
    await run(await bot('validate-appointment'), { input: stored, headers: {} }, server);
    expect(requestsOf(server)).toEqual([
      [`GET Appointment?_id=${stored.id}`, `GET Patient?_id=${patient.id}&_count=1000`],
    ]);
  });

  it('a change is two reads at the same time, with the rights of the caller and of the Bot, and one write', async () => {
    const server = { ...theServer(), slots };
    await run(await bot('patch'), { input: comment, requester, headers: { authorization: 'Bearer caller' } }, server);
    expect(requestsOf(server).map(([first]) => first)).toEqual([
      `GET Appointment?_id=${stored.id}`,
      `GET Appointment?_id=${stored.id}`,
      `PUT Appointment/${stored.id}`,
    ]);
  });

  it('a cancellation reads once more, for what was split off its slots', async () => {
    const rounds: string[][] = [];
    const server = { ...theServer(), slots, rounds };
    await run(await bot('patch'), { input: cancellation, requester, headers: {} }, server);
    expect(rounds).toEqual([['batch', 'batch', '/auth/me'], ['batch'], ['transaction']]);
    expect(requestsOf(server)[2]?.[0]).toMatch(/^GET Slot\?_id=/);
    expect(requestsOf(server)[3]).toEqual([`PUT Appointment/${stored.id}`, ...slots.map(({ id }) => `PUT Slot/${id}`)]);
  });
});

describe('the cancellation of a requestor', () => {
  const accessPolicy = { resource: [{ resourceType: 'Appointment', interaction: ['read', 'search'] }] };
  const caller = { requester: { reference: 'ClientApplication/portal' }, headers: { authorization: 'Bearer caller' } };
  const policy = (until: number) => ({
    url: artefactUri(config, 'LocalBookingPolicy'),
    extension: [{ url: 'cancelUntil', valueDuration: { value: until, code: 'h' } }],
  });
  const valueReference = { reference: 'HealthcareService/1' };
  const serviceType = [{ extension: [{ url: 'https://medplum.com/fhir/service-type-reference', valueReference }] }];
  const schedule: Resource = { resourceType: 'Schedule', id: '1', actor: [{}], serviceType };
  const ofPolicy = (until: number): Resource[] => [
    schedule,
    { resourceType: 'HealthcareService', id: '1', extension: [policy(until)] },
  ];

  const cancelled = async (others: readonly Resource[]) => {
    const rounds: string[][] = [];
    const [start, end] = [48, 49].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString());
    const server = { ...theServer(), appointment: { ...stored, start, end }, slots, others, accessPolicy, rounds };
    const answer = await run(await bot('patch'), { input: cancellation, ...caller }, server);
    return { rounds, answer, written: server.written };
  };

  const first = ['batch', 'batch', '/auth/me'];

  it('asks for the policy of the service beside what was split off', async () => {
    const { rounds, written } = await cancelled(ofPolicy(1));
    expect(rounds).toEqual([first, ['batch', 'batch'], ['transaction']]);
    expect(written).not.toEqual([]);
  });

  it('is refused by that policy', async () => {
    const { rounds, answer, written } = await cancelled(ofPolicy(72));
    expect(issuesOf(answer)).toEqual(['cancellation-closed Appointment.status']);
    expect(rounds).toEqual([first, ['batch', 'batch']]);
    expect(written).toEqual([]);
  });

  it('reads a Schedule that was not found with the slots', async () => {
    const { rounds } = await cancelled([]);
    expect(rounds).toEqual([first, ['batch', 'batch'], ['transaction']]);
  });
});

it('a Bot that is not told who calls it writes nothing', async () => {
  const server = theServer();
  const call = run(await bot('patch'), { input: cancellation, headers: {} }, server);
  await expect(call).rejects.toThrow(/does not identify the caller to this Bot/);
  expect(server.written).toEqual([]);
});

describe('a booking', () => {
  const tag = [requestorTag('portal', config)];
  const schedule = (more: object = {}): Resource => ({ resourceType: 'Schedule', id: '1', actor: [{}], ...more });
  const free: Slot = {
    resourceType: 'Slot',
    id: 'free',
    meta: { versionId: '1' },
    schedule: { reference: 'Schedule/1' },
    status: 'free',
    start: '2031-01-06T08:00:00.000Z',
    end: '2031-01-06T08:30:00.000Z',
  };
  const body = {
    resourceType: 'Appointment',
    status: 'proposed',
    start: free.start,
    end: free.end,
    slot: [{ reference: 'Slot/free' }],
    participant: [{ actor: { reference: 'Patient/anna' }, status: 'accepted' }],
  };
  const anna: Resource = { resourceType: 'Patient', id: 'anna', meta: { tag } };
  const caller = { requester: { reference: 'ClientApplication/portal' }, headers: { authorization: 'Bearer caller' } };

  const callsOf = async (name: BotName, input: object, others: readonly Resource[]): Promise<string[]> => {
    const calls: string[] = [];
    await run(
      await bot(name),
      { input, ...caller },
      { ...theServer(), slots: [free], others: [anna, ...others], calls },
    );
    return calls.map((path) => (path === '/auth/me' ? 'who calls' : 'batch or transaction'));
  };

  const [read, write] = ['batch or transaction', 'batch or transaction'];
  const hours = (url: string, value: number) => ({ url, valueDuration: { value, code: 'h' } });
  const policed = schedule({
    extension: [
      { url: artefactUri(config, 'LocalBookingPolicy'), extension: [hours('leadTime', 1), hours('window', 80_000)] },
    ],
  });

  it('is one read and one write', async () => {
    expect(await callsOf('book', body, [schedule()])).toEqual([read, write]);
  });

  it('under a policy costs no more', async () => {
    expect(await callsOf('book', body, [policed])).toEqual([read, write]);
  });

  it('judged as a dry run is one read', async () => {
    const parameter = [
      { name: 'appt-resource', resource: body },
      { name: 'dry-run', valueBoolean: true },
    ];
    expect(await callsOf('book', { resourceType: 'Parameters', parameter }, [policed])).toEqual([read]);
  });
});
