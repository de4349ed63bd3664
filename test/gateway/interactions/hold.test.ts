import { beforeEach, describe, expect, test } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { until } from '../../lib/until.ts';
import { base, config, fhirJson, withGateway } from '../fake-medplum.ts';

const { fake, inject } = withGateway();

beforeEach(() => {
  fake.answer = () => ({ body: held });
});

const held = { resourceType: 'Appointment', id: 'a1', status: 'proposed', meta: { versionId: 'v1' } };
const wanted = (slot: string) => ({ resourceType: 'Appointment', slot: [{ reference: `Slot/${slot}` }] });
const hold = (payload: object = wanted('s1'), headers = {}) =>
  inject({
    method: 'POST',
    url: '/fhir/R4/Appointment/$hold',
    headers: { ...fhirJson, ...headers },
    payload,
  });

describe('POST /Appointment/$hold', () => {
  test('hands the body to the Bot with the token of the caller, and asks whether the hold is new', async () => {
    await hold();
    const [call] = fake.received;
    expect(call?.query.get('identifier')).toBe(`${artefactUri(config, 'LocalBot')}|hold`);
    expect(JSON.parse(call?.body ?? '')).toEqual(wanted('s1'));
    expect(call?.headers).toMatchObject({ authorization: 'Bearer portal-a', 'x-booking-answer': 'parameters' });
  });

  test('held: 201, Location, ETag, the Appointment', async () => {
    const answer = await hold();
    expect([answer.statusCode, answer.json()]).toEqual([201, held]);
    expect(answer.headers).toMatchObject({ location: `${base}/Appointment/a1`, etag: 'W/"v1"' });
  });

  test('the answer is as the client prefers', async () => {
    const answer = await hold(wanted('s1'), { prefer: 'return=minimal' });
    expect([answer.statusCode, answer.body, answer.headers['preference-applied']]).toEqual([201, '', 'return=minimal']);
  });

  test('what the Bot refuses is refused in its words', async () => {
    const outcome = toOperationOutcome([{ code: 'slot-not-free', diagnostics: 'The slot is taken.' }], config);
    fake.answer = () => ({ body: outcome });
    const answer = await hold();
    expect([answer.statusCode, answer.json()]).toEqual([409, outcome]);
  });

  test.each([
    [{ status: 403 }, 403],
    [{ status: 500 }, 503],
    [{ body: { resourceType: 'Patient' } }, 503],
  ])('where Medplum says %j: %i', async (reply, status) => {
    fake.answer = () => reply;
    expect((await hold()).statusCode).toBe(status);
  });

  test.each([
    ['one caller', wanted('s1'), wanted('s2'), fhirJson],
    ['one slot', wanted('s1'), wanted('s1'), { authorization: 'Bearer portal-b' }],
  ])('those of %s take turns; others do not wait for them', async (_, first, second, headers) => {
    const gate = Promise.withResolvers<void>();
    fake.answer = async ({ body }) => {
      await (body.includes('s3') ? undefined : gate.promise);
      return { body: held };
    };
    const early = hold(first);
    await until(() => fake.received.length === 1);
    const late = hold(second, headers);
    const other = await hold(wanted('s3'), { authorization: 'Bearer portal-c' });
    expect([other.statusCode, fake.received.length]).toEqual([201, 2]);
    gate.resolve();
    expect([(await early).statusCode, (await late).statusCode, fake.received.length]).toEqual([201, 201, 3]);
  });
});
