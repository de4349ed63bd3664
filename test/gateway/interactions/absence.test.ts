import { describe, expect, test } from '@jest/globals';
import { absentOutcome } from '../../../core/booking/deleted.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { bearer, config, type Reply, withGateway } from '../fake-medplum.ts';

const { fake, inject } = withGateway();

const wasDeleted: Reply = { status: 410, body: absentOutcome('deleted') };
const bot = '/fhir/R4/Bot/$execute';

/** Reads what Medplum refuses, while the Bot answers something else. */
async function readRefused(path: string, refusal: Reply, ofBot: Reply, headers: Record<string, string> = bearer) {
  fake.answer = (received) => (received.path === bot ? ofBot : refusal);
  const answer = await inject({ url: `/fhir/R4/${path}`, headers });
  return { status: answer.statusCode, body: answer.json(), calls: fake.received.filter((one) => one.path === bot) };
}

const paths = ['Appointment/a1', 'Appointment/a1/_history', 'Appointment/a1/_history/v1'];

describe('what Medplum does not find', () => {
  test.each(paths)('was deleted, by the word of the Bot: 410 for %s', async (path) => {
    const { status, body, calls } = await readRefused(path, { status: 404 }, wasDeleted);
    expect([status, body.issue[0].code]).toEqual([410, 'deleted']);
    expect(calls.map(({ query }) => query.get('identifier'))).toEqual([
      `${artefactUri(config, 'LocalBot')}|find-deleted`,
    ]);
    expect(JSON.parse(calls[0]?.body ?? '')).toEqual({
      resourceType: 'Parameters',
      parameter: [
        { name: 'type', valueCode: 'Appointment' },
        { name: 'id', valueId: 'a1' },
      ],
    });
  });

  test.each<[string, Reply]>([
    ['knows nothing of it', { status: 404, body: absentOutcome('unknown') }],
    ['may not be called', { status: 403 }],
    ['fails', { status: 500 }],
    ['refuses', { body: toOperationOutcome([{ code: 'malformed-request', diagnostics: 'No.' }], config) }],
    ['answers something else', { body: { resourceType: 'Patient' } }],
  ])('is not found if the Bot %s', async (_, ofBot) => {
    const { status, body } = await readRefused('Appointment/a1', { status: 404 }, ofBot);
    expect([status, body.issue]).toEqual([
      404,
      [
        {
          severity: 'error',
          code: 'not-found',
          details: { text: 'There is no such resource, or the caller may not see it.' },
          diagnostics: 'There is no such resource, or the caller may not see it.',
        },
      ],
    ]);
  });
});

describe('the Bot is not asked', () => {
  test.each<[string, string, Reply, number]>([
    ['about what the caller may not see', 'Appointment/a1', { status: 403 }, 403],
    ['about what Medplum itself calls deleted', 'Appointment/a1', { status: 410 }, 410],
    ['about types that nobody deletes', 'Slot/s1', { status: 404 }, 404],
  ])('%s', async (_, path, refusal, status) => {
    expect(await readRefused(path, refusal, wasDeleted)).toMatchObject({ status, calls: [] });
  });

  test('for staff, who find what was deleted by themselves', async () => {
    const ofRequestors = fake.verify;
    fake.verify = () => ({ body: { profile: { resourceType: 'Practitioner', id: 'x' } } });
    const headers = { authorization: 'Bearer staff' };
    expect(await readRefused('Appointment/a1', { status: 404 }, wasDeleted, headers)).toMatchObject({
      status: 404,
      calls: [],
    });
    fake.verify = ofRequestors;
  });
});
