import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, QuestionnaireResponse, Slot, Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/booking/patch.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { config } from '../config.ts';
import { withMedplum } from '../medplum.ts';
import {
  aPortal,
  aSchedule,
  aService,
  asks,
  at,
  booked,
  eventOf,
  extension,
  inMinutes,
  invalid,
  only,
  overtaken,
  type Portal,
  parameters,
  policy,
  problems,
  refused,
  staff,
  unavailable,
  writes,
} from './fixtures.ts';

const medplum = withMedplum();

type Operation = { readonly op: string; readonly path: string; readonly value?: unknown };

const cancelling: Operation = { op: 'replace', path: '/status', value: 'cancelled' };
const comment: Operation = { op: 'add', path: '/comment', value: 'On foot' };

async function setting(more: Parameters<typeof booked>[2] = {}) {
  const portal = await aPortal(medplum());
  return { portal, ...(await booked(medplum(), portal, more)) };
}

const patchOf = (id: string | undefined, operations: readonly Operation[], ifMatch?: string) =>
  parameters({ name: 'id', valueId: id }, ...(ifMatch ? [{ name: 'ifMatch', valueString: ifMatch }] : []), {
    name: 'patch',
    valueString: JSON.stringify(operations),
  });

const patch = (portal: Portal, { id }: Appointment, operations: readonly Operation[], ifMatch?: string) =>
  handler(medplum().medplum, eventOf<unknown>(patchOf(id, operations, ifMatch), portal));

const read = ({ id }: Appointment) => medplum().read<Appointment>(`Appointment/${id}`);

const answerOf = (answer: Awaited<ReturnType<typeof patch>>) => [answer.id, ...problems(answer)];

const diagnosticsOf = (answer: Awaited<ReturnType<typeof patch>>) =>
  answer.resourceType === 'OperationOutcome' ? answer.issue.map(({ diagnostics }) => diagnostics) : [];

describe('a change', () => {
  it('is written once, and says who has made it of which version', async () => {
    const { portal, appointment } = await setting();
    const answer = await patch(portal, appointment, [comment]);
    expect(answer).toMatchObject({ resourceType: 'Appointment', comment: 'On foot', status: 'booked' });
    expect((await read(appointment))?.meta?.tag).toContainEqual({
      system: artefactUri(config, 'LocalChangedBy'),
      code: portal.id,
      version: appointment.meta?.versionId,
    });
    expect(
      medplum()
        .asked.filter(writes)
        .map(({ entries }) => entries),
    ).toEqual([[`PUT Appointment/${appointment.id}`]]);
    expect(medplum().asked.map(({ authorization }) => authorization)).toEqual([
      portal.authorization,
      'Bearer admin',
      portal.authorization,
      'Bearer admin',
    ]);
  });

  it('by FHIRPath names elements of the appointment', async () => {
    const { portal, appointment } = await setting();
    const run = (path: string) =>
      handler(
        medplum().medplum,
        eventOf<unknown>(
          parameters(
            { name: 'id', valueId: appointment.id },
            {
              name: 'patch',
              resource: parameters({
                name: 'operation',
                part: [
                  { name: 'type', valueCode: 'replace' },
                  { name: 'path', valueString: path },
                  { name: 'value', valueCode: 'cancelled' },
                ],
              }),
            },
          ),
          portal,
        ),
      );
    for (const path of ["'booked'", 'Appointment.slot.count()']) {
      const answer = await run(path);
      expect(problems(answer)).toEqual(['patch-invalid Parameters.parameter[0]']);
      expect(diagnosticsOf(answer)).toEqual([`The path ${path} cannot be evaluated.`]);
    }
    expect(await run('Appointment.status')).toMatchObject({ status: 'cancelled' });
  });

  it('that changes nothing is answered without a write', async () => {
    const { portal, appointment } = await setting();
    expect(await patch(portal, appointment, [{ op: 'test', path: '/status', value: 'booked' }])).toMatchObject({
      id: appointment.id,
    });
    expect(medplum().asked.filter(writes)).toEqual([]);
  });

  it('keeps the spelling of what stays the same', async () => {
    const { portal, appointment, slot } = await setting();
    const value = `${config.baseUrl}/Slot/${slot.id}`;
    const answer = await patch(portal, appointment, [comment, { op: 'replace', path: '/slot/0/reference', value }]);
    expect(answer).toMatchObject({ comment: 'On foot', slot: [{ reference: `Slot/${slot.id}` }] });
  });

  it('is refused with everything that speaks against it', async () => {
    const { portal, appointment } = await setting();
    const answer = await patch(portal, appointment, [
      { op: 'replace', path: '/start', value: at('10:00') },
      { op: 'replace', path: '/status', value: 'arrived' },
    ]);
    expect(answerOf(answer)).toEqual([
      'bad-request',
      'immutable-element Appointment.start',
      'transition-not-allowed Appointment.status',
    ]);
    expect(medplum().asked.filter(writes)).toEqual([]);
  });

  it('that makes the appointment malformed is an invalid patch', async () => {
    const { portal, appointment } = await setting();
    const answer = await patch(portal, appointment, [{ op: 'replace', path: '/status', value: 'gone' }]);
    expect(problems(answer)).toEqual(['patch-invalid Appointment.status']);
  });

  it('with a reference that only a search could resolve is refused', async () => {
    const { portal, appointment } = await setting();
    const answer = await patch(portal, appointment, [
      { op: 'add', path: '/reasonReference', value: [{ reference: 'Condition?code=1' }] },
    ]);
    expect(problems(answer).join()).toContain('Appointment.reasonReference[0]');
  });

  it.each<[string, unknown]>([
    ['no id', patchOf(undefined, [comment])],
    ['no patch', parameters({ name: 'id', valueId: 'a' })],
    ['nothing', undefined],
  ])('with %s is refused, and nothing is read', async (_, input) => {
    const answer = await handler(medplum().medplum, eventOf(input, staff));
    expect(problems(answer)[0]).toContain('patch-invalid');
    expect(medplum().asked).toEqual([]);
  });

  it('whose operation cannot be applied is refused', async () => {
    const { portal, appointment } = await setting();
    const answer = await patch(portal, appointment, [{ op: 'test', path: '/status', value: 'pending' }]);
    expect(answer).toMatchObject({ resourceType: 'OperationOutcome' });
    expect(medplum().asked.filter(writes)).toEqual([]);
  });
});

describe('who may change', () => {
  it('is not a portal that sees the appointment of another', async () => {
    const { appointment } = await setting();
    const answer = await patch(await aPortal(medplum()), appointment, [comment]);
    expect(answer).toMatchObject({ id: 'not-found', issue: [{ diagnostics: 'There is no such appointment.' }] });
    expect(medplum().asked.filter(writes)).toEqual([]);
  });

  it('is staff, who may do more', async () => {
    const { appointment } = await setting();
    expect(await patch(staff, appointment, [{ op: 'replace', path: '/status', value: 'arrived' }])).toMatchObject({
      status: 'arrived',
    });
  });

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
    const call = handler(medplum().medplum, eventOf<unknown>(patchOf(appointment.id, [comment])));
    await expect(call).rejects.toThrow('does not identify');
  });
});

describe('an appointment that is not there', () => {
  const blind = () => medplum().addClient('blind', [{ resourceType: 'Patient' }]);

  it('is gone to its owner', async () => {
    const { portal, appointment } = await setting();
    await medplum().fhir('DELETE', `Appointment/${appointment.id}`);
    const answer = await patch(portal, appointment, [comment]);
    expect(answer).toMatchObject({ id: 'gone', issue: [{ code: 'deleted' }] });
  });

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

describe('a version that the caller names', () => {
  it('must be the current one', async () => {
    const { portal, appointment } = await setting();
    const answer = await patch(portal, appointment, [comment], 'older');
    expect(answerOf(answer)).toEqual(['precondition-failed', 'version-conflict']);
    expect(diagnosticsOf(answer)).toEqual(['The appointment has a newer version: read it again.']);
    expect(await patch(portal, appointment, [comment], appointment.meta?.versionId)).toMatchObject({
      comment: 'On foot',
    });
  });
});

describe('a cancellation', () => {
  it('gives the slot back and closes the Task of a request', async () => {
    const deadline = extension('LocalConfirmationDeadline', { valueInstant: inMinutes(600) });
    const { portal, appointment, slot } = await setting({ status: 'pending', extension: [deadline] });
    const task = await medplum().create<Task>({
      resourceType: 'Task',
      status: 'requested',
      intent: 'order',
      code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'confirm' }] },
      focus: { reference: `Appointment/${appointment.id}` },
    });
    expect(await patch(portal, appointment, [cancelling])).toMatchObject({ status: 'cancelled' });
    expect(await medplum().read<Slot>(`Slot/${slot.id}`)).toMatchObject({ status: 'free' });
    expect(await medplum().read(`Task/${task.id}`)).toMatchObject({ status: 'completed' });
    expect(medplum().asked.filter(writes)).toHaveLength(1);
  });

  const closed = { extension: [policy({ cancelUntil: 8_000 })] };

  it.each([
    ['its own', async () => aSchedule(medplum(), closed)],
    [
      'of its service',
      async () => {
        const service = await aService(medplum(), closed);
        return aSchedule(medplum(), { actor: [{ reference: `HealthcareService/${service.id}` }] });
      },
    ],
  ])('by a portal is refused by the policy of the Schedule, %s', async (_, schedule) => {
    const { portal, appointment } = await setting({ schedule: await schedule() });
    expect(problems(await patch(portal, appointment, [cancelling]))).toEqual([
      'cancellation-closed Appointment.status',
    ]);
    expect(await patch(portal, appointment, [comment])).toMatchObject({ comment: 'On foot' });
    expect(medplum().asked.filter(asks(/Schedule\?_id/))).toEqual([]);
  });

  it('by staff is not', async () => {
    const { appointment } = await setting({ schedule: await aSchedule(medplum(), closed) });
    expect(await patch(staff, appointment, [cancelling])).toMatchObject({ status: 'cancelled' });
  });

  it('of a hold is not, nor a change of what is cancelled already', async () => {
    const schedule = await aSchedule(medplum(), closed);
    const held = extension('LocalHeldUntil', { valueInstant: inMinutes(9) });
    const hold = await setting({ schedule, status: 'proposed', extension: [held] });
    expect(await patch(hold.portal, hold.appointment, [cancelling])).toMatchObject({ status: 'cancelled' });
    const over = await setting({ schedule, status: 'cancelled', from: '10:00', to: '10:30' });
    expect(await patch(over.portal, over.appointment, [comment])).toMatchObject({ comment: 'On foot' });
  });

  it('reads what its slot was split into, which a change of something else does not', async () => {
    const { portal, appointment } = await setting();
    await patch(portal, appointment, [comment]);
    expect(medplum().asked.filter(asks(/Slot\?identifier/))).toEqual([]);
    await patch(portal, appointment, [cancelling, { op: 'replace', path: '/start', value: at('10:00') }]);
    expect(medplum().asked.filter(asks(/Slot\?identifier/))).toEqual([]);
    await patch(portal, appointment, [cancelling]);
    expect(medplum().asked.filter(asks(/Slot\?identifier/))).toHaveLength(1);
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
    expect(medplum().asked.filter(asks(/QuestionnaireResponse/))).toMatchObject([
      { type: 'batch', entries: [`GET QuestionnaireResponse/${response.id}`], authorization: portal.authorization },
    ]);
  });

  it('and cannot be seen are refused', async () => {
    const { portal, appointment } = await setting();
    const answer = await patch(portal, appointment, [
      attaching({
        resourceType: 'QuestionnaireResponse',
        status: 'completed',
        id: '00000000-0000-4000-8000-000000000000',
      }),
    ]);
    expect(answerOf(answer)).toEqual(['bad-request', 'profile-violation Appointment.supportingInformation[0]']);
  });

  it('stay if they were attached before, readable or not', async () => {
    const { portal, appointment } = await setting({
      supportingInformation: [{ reference: 'QuestionnaireResponse/00000000-0000-4000-8000-000000000000' }],
    });
    expect(await patch(portal, appointment, [comment])).toMatchObject({ comment: 'On foot' });
    expect(medplum().asked.filter(asks(/QuestionnaireResponse/))).toEqual([]);
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
    ['what its slots were split into', asks(/Slot\?identifier/)],
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
    expect(medplum().asked.filter(writes)).toHaveLength(config.maxAttempts);
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
    expect(medplum().asked.filter(writes)).toHaveLength(1);
  });
});
