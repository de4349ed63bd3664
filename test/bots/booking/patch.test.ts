import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Extension, QuestionnaireResponse } from '@medplum/fhirtypes';
import { handler as patchBot } from '../../../bots/booking/patch.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { stepExtension } from '../../../core/visits/visit.ts';
import { schedules, step } from '../../core/visits/fixtures.ts';
import { config } from '../config.ts';
import { withMedplum } from '../medplum.ts';
import {
  aPortal,
  aSchedule,
  aService,
  asks,
  booked,
  bookedByPortal,
  cancelling,
  comment,
  eventOf,
  extension,
  inMinutes,
  meanwhile,
  type Operation,
  only,
  type Portal,
  patchOf,
  policy,
  staff,
  unavailable,
  writes,
} from './fixtures.ts';

const medplum = withMedplum();

const setting = (more: Parameters<typeof bookedByPortal>[1] = {}) => bookedByPortal(medplum(), more);

const patch = (portal: Portal, { id }: Appointment, operations: readonly Operation[], ifMatch?: string) =>
  patchBot(medplum().medplum, eventOf<unknown>(patchOf(id, operations, ifMatch), portal));

const read = ({ id }: Appointment) => medplum().read<Appointment>(`Appointment/${id}`);

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

describe('the cancellation of a visit', () => {
  /** Cancels the second step; the statuses of both afterwards. */
  async function cancelled(visit: Extension[], first: Partial<Appointment> = {}) {
    const { id = '' } = await aService(medplum(), { extension: visit });
    const partOf = (name: string) => ({
      identifier: [{ system: artefactUri(config, 'LocalVisitGroup'), value: id }],
      extension: [stepExtension({ service: id, step: name }, config)],
    });
    const { portal, appointment } = await setting({ ...partOf('Blood'), ...first });
    const ecg = await booked(medplum(), portal, partOf('ECG'));
    await patch(portal, ecg.appointment, [cancelling]);
    return (await Promise.all([appointment, ecg.appointment].map(read))).map((one) => one?.status);
  }
  const steps = ['Blood', 'ECG'].map((name) => step(name, ...schedules('a')));
  const visit = [extension('LocalVisit', { extension: steps })];

  it('leaves what has taken place of it as it was', async () => {
    expect(await cancelled(visit, { start: inMinutes(-60), end: inMinutes(-30) })).toEqual(['booked', 'cancelled']);
  });

  it('is that of all of it, although its service asks for no visit any more', async () => {
    expect(await cancelled([])).toEqual(['cancelled', 'cancelled']);
  });
});

it('a write that somebody overtakes is decided again', async () => {
  const { portal, appointment } = await setting();
  meanwhile(medplum(), writes, () => medplum().change<Appointment>(appointment, { description: 'Room 5' }));
  expect(await patch(portal, appointment, [comment])).toMatchObject({ comment: 'On foot', description: 'Room 5' });
});

it('who may change is nobody whom Medplum does not name', async () => {
  const { appointment } = await setting();
  const call = patchBot(medplum().medplum, eventOf<unknown>(patchOf(appointment.id, [comment])));
  await expect(call).rejects.toThrow('does not identify');
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
});
