import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { handler } from '../../../bots/booking/patch.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { config } from '../config.ts';
import { withMedplum } from '../medplum.ts';
import {
  answerOf,
  aSchedule,
  bookedByPortal,
  cancelling,
  comment,
  diagnosticsOf,
  eventOf,
  extension,
  inMinutes,
  invalid,
  type Operation,
  only,
  overtaken,
  type Portal,
  parameters,
  patchOf,
  policy,
  problems,
  refused,
  staff,
  unavailable,
  writes,
} from './fixtures.ts';

const medplum = withMedplum();

const setting = (more: Parameters<typeof bookedByPortal>[1] = {}) => bookedByPortal(medplum(), more);

const patch = (portal: Portal, { id }: Appointment, operations: readonly Operation[], ifMatch?: string) =>
  handler(medplum().medplum, eventOf<unknown>(patchOf(id, operations, ifMatch), portal));

const read = ({ id }: Appointment) => medplum().read<Appointment>(`Appointment/${id}`);

describe('a change', () => {
  it('says who has made it of which version', async () => {
    const { portal, appointment } = await setting();
    const answer = await patch(portal, appointment, [comment]);
    expect(answer).toMatchObject({ resourceType: 'Appointment', comment: 'On foot', status: 'booked' });
    expect((await read(appointment))?.meta?.tag).toContainEqual({
      system: artefactUri(config, 'LocalChangedBy'),
      code: portal.id,
      version: appointment.meta?.versionId,
    });
  });

  it('that changes nothing is answered without a write', async () => {
    const { portal, appointment } = await setting();
    expect(await patch(portal, appointment, [{ op: 'test', path: '/status', value: 'booked' }])).toMatchObject({
      id: appointment.id,
    });
  });

  it.each<[string, unknown]>([
    ['no id', patchOf(undefined, [comment])],
    ['no patch', parameters({ name: 'id', valueId: 'a' })],
    ['nothing', undefined],
  ])('with %s is refused', async (_, input) => {
    const answer = await handler(medplum().medplum, eventOf(input, staff));
    expect(problems(answer)[0]).toContain('patch-invalid');
  });
});

describe('a cancellation', () => {
  const closed = { extension: [policy({ cancelUntil: 8_000 })] };

  it('of a hold is not, nor a change of what is cancelled already', async () => {
    const schedule = await aSchedule(medplum(), closed);
    const held = extension('LocalHeldUntil', { valueInstant: inMinutes(9) });
    const hold = await setting({ schedule, status: 'proposed', extension: [held] });
    expect(await patch(hold.portal, hold.appointment, [cancelling])).toMatchObject({ status: 'cancelled' });
    const over = await setting({ schedule, status: 'cancelled', from: '10:00', to: '10:30' });
    expect(await patch(over.portal, over.appointment, [comment])).toMatchObject({ comment: 'On foot' });
  });
});

describe('a write', () => {
  it('that somebody overtakes is decided again', async () => {
    const { portal, appointment } = await setting();
    medplum().interfere(
      only(writes, async () => {
        await medplum().change<Appointment>(appointment, { description: 'Room 5' });
        return undefined;
      }),
    );
    expect(await patch(portal, appointment, [comment])).toMatchObject({ comment: 'On foot', description: 'Room 5' });
  });

  it('that others always overtake is given up', async () => {
    const { portal, appointment } = await setting();
    medplum().interfere((asked) => (writes(asked) ? overtaken() : undefined));
    const answer = await patch(portal, appointment, [comment]);
    expect(answerOf(answer)).toEqual(['conflict', 'booking-conflict']);
    expect(diagnosticsOf(answer)[0]).toContain('Other requests changed the same slots');
  });

  it.each([
    ['refused', refused, 'upstream-unavailable', 'Nothing was changed'],
    ['lost', unavailable, 'upstream-unavailable', 'may have been changed: read it'],
    ['invalid', invalid, 'patch-invalid', 'The server does not like it.'],
    [
      'invalid for no reason',
      () => ({
        status: 400,
        body: { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code: 'invalid' }] },
      }),
      'patch-invalid',
      'The server rejected the result as invalid.',
    ],
    [
      'answered without the appointment',
      () => ({ status: 200, body: { resourceType: 'Bundle' } }),
      'upstream-unavailable',
      'could not be reached',
    ],
    [
      'answered with nothing',
      () => ({ status: 200, body: { resourceType: 'Bundle', entry: [] } }),
      'upstream-unavailable',
      'could not be reached',
    ],
  ])('that is %s is not tried again', async (_, answer, code, text) => {
    const { portal, appointment } = await setting();
    medplum().interfere((asked) => (writes(asked) ? answer() : undefined));
    const given = await patch(portal, appointment, [comment]);
    expect(problems(given)[0]).toContain(code);
    expect(diagnosticsOf(given)[0]).toContain(text);
  });
});
