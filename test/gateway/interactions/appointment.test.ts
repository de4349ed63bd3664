import { connect } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '../../lib/until.ts';
import { fhirJson, type Reply, withGateway } from '../fake-medplum.ts';

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
