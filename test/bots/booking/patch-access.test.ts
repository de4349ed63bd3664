import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, QuestionnaireResponse } from '@medplum/fhirtypes';
import { handler } from '../../../bots/booking/patch.ts';
import { withMedplum } from '../medplum.ts';
import {
  answerOf,
  aPortal,
  asks,
  booked,
  bookedByPortal,
  cancelling,
  comment,
  diagnosticsOf,
  eventOf,
  type Operation,
  only,
  type Portal,
  patchOf,
  refused,
  staff,
  unavailable,
} from './fixtures.ts';

const medplum = withMedplum();

const setting = (more: Parameters<typeof bookedByPortal>[1] = {}) => bookedByPortal(medplum(), more);

const patch = (portal: Portal, { id }: Appointment, operations: readonly Operation[], ifMatch?: string) =>
  handler(medplum().medplum, eventOf<unknown>(patchOf(id, operations, ifMatch), portal));

const read = ({ id }: Appointment) => medplum().read<Appointment>(`Appointment/${id}`);

describe('who may change', () => {
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
