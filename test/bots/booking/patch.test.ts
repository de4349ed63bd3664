import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Extension } from '@medplum/fhirtypes';
import { handler as patchBot } from '../../../bots/booking/patch.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { stepExtension } from '../../../core/visits/visit.ts';
import { schedules, step } from '../../core/visits/fixtures.ts';
import { config } from '../config.ts';
import { withMedplum } from '../medplum.ts';
import {
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
  writes,
} from './fixtures.ts';

const medplum = withMedplum();

const setting = (more: Parameters<typeof bookedByPortal>[1] = {}) => bookedByPortal(medplum(), more);

const patch = (portal: Portal, { id }: Appointment, operations: readonly Operation[], ifMatch?: string) =>
  patchBot(medplum().medplum, eventOf<unknown>(patchOf(id, operations, ifMatch), portal));

const read = ({ id }: Appointment) => medplum().read<Appointment>(`Appointment/${id}`);

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

describe('an appointment that is not there', () => {
  const blind = () => medplum().addClient('blind', [{ resourceType: 'Patient' }]);

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
    const response = await patch(portal, appointment, [comment]);
    expect(response.resourceType === 'Appointment' ? 'changed' : response.id).toBe(expected);
  });
});
