import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, QuestionnaireResponse } from '@medplum/fhirtypes';
import { handler as findDeletedBot } from '../../../bots/booking/find-deleted.ts';
import { handler as patchBot } from '../../../bots/booking/patch.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { config } from '../config.ts';
import { withMedplum } from '../medplum.ts';
import {
  answerOf,
  aPatient,
  aPortal,
  aSchedule,
  asks,
  booked,
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
  patchBot(medplum().medplum, eventOf<unknown>(patchOf(id, operations, ifMatch), portal));

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

describe('who may change', () => {
  it.each([
    ['the answer is lost', 'no-answer'],
    ['it is refused', { status: 401, body: { profile: {} } }],
    ['it says nothing', { status: 200, body: {} }],
  ] as const)('is unknown if %s', async (_, answer) => {
    const { portal, appointment } = await setting();
    medplum().interfere(
      only(
        ({ type }) => type === 'read',
        () => answer,
      ),
    );
    expect(diagnosticsOf(await patch(portal, appointment, [comment]))).toEqual([
      'The FHIR server could not be reached. Nothing was changed; try again in a moment.',
    ]);
  });

  it('is nobody whom Medplum does not name', async () => {
    const { appointment } = await setting();
    const call = patchBot(medplum().medplum, eventOf<unknown>(patchOf(appointment.id, [comment])));
    await expect(call).rejects.toThrow('does not identify');
  });
});

describe('an appointment that is not there', () => {
  const blind = () => medplum().addClient('blind', [{ resourceType: 'Patient' }]);

  it('is gone to staff, whoever had booked it', async () => {
    const { appointment } = await setting();
    await medplum().fhir('DELETE', `Appointment/${appointment.id}`);
    expect((await patch(staff, appointment, [comment])).id).toBe('gone');
  });

  it.each([
    ['gone', true],
    ['not-found', false],
  ])('and is hidden from whoever asks is %s', async (id, isOwn) => {
    const other = await blind();
    const { appointment } = { ...(await booked(medplum(), isOwn ? other : { id: 'another' })) };
    await medplum().fhir('DELETE', `Appointment/${appointment.id}`);
    medplum().interfere(
      only(asks(/GET Appointment\/[^/]+$/), () => ({
        status: 200,
        body: {
          resourceType: 'Bundle',
          entry: [
            { response: { status: '200' }, resource: { resourceType: 'Bundle' } },
            { response: { status: '404' } },
          ],
        },
      })),
    );
    expect((await patch(other, appointment, [comment])).id).toBe(id);
  });

  it('and never was, or of which nothing can be learned, is unknown', async () => {
    const portal = await aPortal(medplum());
    const never: Appointment = {
      resourceType: 'Appointment',
      id: '00000000-0000-4000-8000-000000000000',
      status: 'booked',
      participant: [],
    };
    expect((await patch(portal, never, [comment])).id).toBe('not-found');
    medplum().interfere(only(asks(/_history\?_count=2/), unavailable));
    expect((await patch(portal, never, [comment])).id).toBe('not-found');
  });

  it.each([
    ['was deleted', true, 'gone'],
    ['is not found yet', false, 'changed'],
  ])('by a search although it can be read %s', async (_, isDeleted, expected) => {
    const { portal, appointment } = await setting();
    if (isDeleted) {
      await medplum().fhir('DELETE', `Appointment/${appointment.id}`);
    }
    medplum().interfere(
      only(asks(/GET Appointment\/[^/]+$/), () => ({
        status: 200,
        body: {
          resourceType: 'Bundle',
          entry: [
            { response: { status: '200' }, resource: { resourceType: 'Bundle' } },
            { response: { status: '200' }, resource: appointment },
          ],
        },
      })),
    );
    const answer = await patch(portal, appointment, [comment]);
    expect(answer.resourceType === 'Appointment' ? 'changed' : answer.id).toBe(expected);
  });
});

describe('answers that a patch attaches', () => {
  const attaching = ({ id }: QuestionnaireResponse): Operation => ({
    op: 'add',
    path: '/supportingInformation',
    value: [{ reference: `QuestionnaireResponse/${id}` }],
  });
  const answers = () =>
    medplum().create<QuestionnaireResponse>({ resourceType: 'QuestionnaireResponse', status: 'completed' });

  it('are those that the caller may read', async () => {
    const { portal, appointment } = await setting();
    const response = await answers();
    expect(await patch(portal, appointment, [attaching(response)])).toMatchObject({
      supportingInformation: [{ reference: `QuestionnaireResponse/${response.id}` }],
    });
  });

  it('stay if they were attached before, readable or not', async () => {
    const { portal, appointment } = await setting({
      supportingInformation: [{ reference: 'QuestionnaireResponse/00000000-0000-4000-8000-000000000000' }],
    });
    expect(await patch(portal, appointment, [comment])).toMatchObject({ comment: 'On foot' });
  });

  it.each([
    ['is refused', refused()],
    ['fails in part', { status: 200, body: { resourceType: 'Bundle', entry: [{ response: { status: '500' } }] } }],
  ])('cannot be judged if the answer %s', async (_, answer) => {
    const { portal, appointment } = await setting();
    const response = await answers();
    medplum().interfere(only(asks(/QuestionnaireResponse/), () => answer));
    expect(answerOf(await patch(portal, appointment, [attaching(response)]))).toEqual([
      'service-unavailable',
      'upstream-unavailable',
    ]);
  });
});

describe('a server that does not answer', () => {
  it.each([
    ['the appointment', asks(/GET Appointment\/[^/]+$/)],
    ['what it depends on', asks(/GET Slot\?_has/)],
    ['what lies around its slots', asks(/Slot\?schedule=/)],
  ])('for %s keeps everything as it is', async (_, isMeant) => {
    const { portal, appointment } = await setting();
    medplum().interfere(only(isMeant, refused));
    const answer = await patch(portal, appointment, [cancelling]);
    expect(answerOf(answer)).toEqual(['service-unavailable', 'upstream-unavailable']);
    expect(diagnosticsOf(answer)[0]).toContain('Nothing was changed');
    expect((await read(appointment))?.status).toBe('booked');
  });

  it('for another reason is an error', async () => {
    const { portal, appointment } = await setting();
    medplum().interfere(() => Promise.reject(new TypeError('broken')));
    await expect(patch(portal, appointment, [comment])).rejects.toThrow('broken');
  });
});

const find = (type: string, id: string | undefined, portal: Portal) =>
  findDeletedBot(
    medplum().medplum,
    eventOf<unknown>(
      parameters({ name: 'x', valueId: 'x' }, { name: 'type', valueCode: type }, { name: 'id', valueId: id }),
      portal,
    ),
  );

const unknown = (name: string) => ({
  id: 'not-found',
  issue: [{ code: 'not-found', diagnostics: `There is no such ${name}.` }],
});

async function gonePatient() {
  const portal = await aPortal(medplum());
  const patient = await aPatient(medplum(), portal);
  await medplum().fhir('DELETE', `Patient/${patient.id}`);
  return { portal, patient };
}

it('nothing is told without an answer of the server', async () => {
  const { portal, patient } = await gonePatient();
  medplum().interfere(unavailable);
  expect(await find('Patient', patient.id, portal)).toMatchObject(unknown('Patient'));
});
