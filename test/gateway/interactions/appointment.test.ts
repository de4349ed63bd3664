import { connect } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { until } from '../../lib/until.ts';
import { bearer, config, fhirJson, gatewayTo, type Reply, withGateway } from '../fake-medplum.ts';

describe('book', () => {
  const { fake, gateway } = withGateway();

  beforeEach(() => {
    respond({ body: booked });
  });

  const request = { resourceType: 'Appointment', status: 'proposed', comment: 'Grüße' };
  const booked = { resourceType: 'Appointment', id: 'a1', status: 'booked', meta: { versionId: 'v1' } };

  const respond = (reply: Reply) => {
    fake.answer = () => reply;
  };

  const book = (headers = {}, payload: object | string = request, asked = gateway()) =>
    asked.inject({ method: 'POST', url: '/fhir/R4/Appointment/$book', headers: { ...fhirJson, ...headers }, payload });

  describe('POST /Appointment/$book', () => {
    test("one caller's bookings of a slot take turns; those of others do not wait for them", async () => {
      const gate = Promise.withResolvers<void>();
      fake.answer = async () => {
        await gate.promise;
        return { body: booked };
      };
      const wanted = { ...request, slot: [{ reference: 'Slot/s1' }] };
      const early = book({}, wanted);
      await until(() => fake.received.length === 1);
      const late = book({}, wanted);
      const other = book({}, { ...request, slot: [{ reference: 'Slot/s2' }] });
      await until(() => fake.received.length === 2);
      const stranger = book({ authorization: 'Bearer portal-b' }, wanted);
      await until(() => fake.received.length === 3);
      expect(fake.received.map(({ body }) => body.includes('Slot/s2'))).toEqual([false, true, false]);
      gate.resolve();
      const answers = await Promise.all([early, late, other, stranger]);
      expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 201, 201, 201]);
    });

    test.each([
      ['W/"v3"', 'v3'],
      [undefined, undefined],
      ['*', undefined],
    ])('with If-Match %s the Bot is told the version %s', async (sent, version) => {
      await book(sent === undefined ? {} : { 'if-match': sent });
      expect(fake.received.map(({ headers }) => headers['x-booking-if-match'])).toEqual([version]);
    });

    test('no answer in time: 504 upstream-timeout', async () => {
      const answered = Promise.withResolvers<Reply>();
      fake.answer = () => answered.promise;
      const impatient = gatewayTo(fake, { upstreamTimeoutMs: 200 });
      const answer = await book({}, request, impatient);
      answered.resolve({ body: booked });
      expect(answer.statusCode).toBe(504);
      expect(answer.json().issue[0].details.coding[0].code).toBe('upstream-timeout');
    });

    test('a client that goes away does not end the booking', async () => {
      const gate = Promise.withResolvers<void>();
      fake.answer = async () => {
        await gate.promise;
        return { body: booked };
      };
      const { port } = new URL(await gateway().listen({ port: 0, host: '127.0.0.1' }));
      const body = JSON.stringify(request);
      const isGone = new Promise<void>((resolve) => {
        gateway().server.once('connection', (socket) => socket.once('close', () => resolve()));
      });
      const client = connect(Number(port), '127.0.0.1');
      client.write(
        `POST /fhir/R4/Appointment/$book HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer portal-a\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
      await until(() => fake.received.length === 1);
      const { answered, abandoned } = fake.finished;
      client.destroy();
      await isGone;
      gate.resolve();
      await until(() => fake.finished.answered + fake.finished.abandoned > answered + abandoned);
      expect(fake.finished).toEqual({ answered: answered + 1, abandoned });
    });
  });
});

describe('hold', () => {
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
});

describe('async book', () => {
  const { fake, inject } = withGateway();
  const task = (more: object) => ({ resourceType: 'Task', id: 't1', status: 'requested', intent: 'order', ...more });
  const refused = toOperationOutcome([{ code: 'slot-not-free', diagnostics: 'The slot is taken.' }], config);

  describe('asynchronous bookings', () => {
    test.each([
      ['runs', task({}), 202],
      ['was refused', task({ status: 'failed', contained: [{ ...refused, id: 'outcome' }] }), 409],
      ['was dropped', task({ status: 'cancelled' }), 404],
      ['cannot be understood', task({ status: 'failed' }), 502],
      ['is something else', { resourceType: 'Task', id: 't1', status: 'draft' }, 404],
      ['is no Task', { resourceType: 'Patient', id: 't1', status: 'requested' }, 404],
      ['has booked, but not what', task({ status: 'completed' }), 404],
      [
        'has booked something else',
        task({ status: 'completed', output: [{ valueReference: { reference: 'Patient/t1' } }] }),
        404,
      ],
    ])('a job that %s', async (_, body, status) => {
      fake.answer = () => ({ body });
      const answer = await inject({ url: '/fhir/R4/async/t1', headers: bearer });
      expect(answer.statusCode).toBe(status);
      expect(answer.headers['retry-after']).toBe(status === 202 ? '1' : undefined);
      expect(fake.received.map(({ path }) => path)).toEqual(['/fhir/R4/Task/t1']);
    });
  });
});
