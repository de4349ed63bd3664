import '../config.ts';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Communication, Parameters, Patient, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/messages/answer-message.ts';
import { offerExtensions } from '../../../core/booking/appointment/expiry.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { RECURRENCE_ID } from '../../../core/fhir/tags.ts';
import { communicationOf } from '../../../core/messages/message.ts';
import { knowledgeOf, type Thread, threadTask } from '../../../core/messages/thread.ts';
import { stepExtension } from '../../../core/visits/visit.ts';
import {
  aSchedule,
  aService,
  aSlot,
  booked,
  eventOf,
  extension,
  inMinutes,
  parameters,
  policy,
  problems,
} from '../booking/fixtures.ts';
import { later } from '../clock.ts';
import { config } from '../config.ts';
import { withMedplum } from '../medplum.ts';

const medplum = withMedplum();
const key = 'c0ffee'.padEnd(32, '0');

/** An appointment of a portal, of which its patient was told. */
async function aMessage(portal = 'portal', hours?: number, more: Partial<Appointment> = {}) {
  const schedule =
    hours === undefined ? undefined : await aSchedule(medplum(), { extension: [policy({ cancelUntil: hours })] });
  return told(await booked(medplum(), { id: portal }, { ...(schedule && { schedule }), ...more }));
}

/** A visit of two steps, of which its patient was told. */
async function aVisit(more: Partial<Appointment> = {}) {
  const system = artefactUri(config, 'LocalVisitGroup');
  const identifier = [{ system, value: randomUUID() }];
  const schedules = [await aSchedule(medplum()), await aSchedule(medplum())] as const;
  const visit = extension('LocalVisit', {
    extension: ['Blood', 'ECG'].map((name, index) => ({
      url: 'step',
      extension: [
        { url: 'name', valueString: name },
        { url: 'schedule', valueReference: { reference: `Schedule/${schedules[index]?.id}` } },
      ],
    })),
  });
  const service = await aService(medplum(), { extension: [visit] });
  const step = (name: string, schedule: Schedule) => ({
    ...more,
    schedule,
    identifier,
    extension: [...(more.extension ?? []), stepExtension({ service: service.id ?? '', step: name }, config)],
  });
  const made = await booked(medplum(), { id: 'portal' }, step('Blood', schedules[0]));
  const { patient } = made;
  const other = await booked(
    medplum(),
    { id: 'portal' },
    { patient, from: '10:00', to: '10:30', ...step('ECG', schedules[1]) },
  );
  const steps = [made, other];
  return { ...(await told(made, steps, identifier[0]?.value)), steps };
}

async function told(
  made: Awaited<ReturnType<typeof booked>>,
  steps: readonly { readonly appointment: Appointment }[] = [made],
  group?: string,
) {
  const appointments = steps.map(({ appointment }) => appointment);
  const known = knowledgeOf(appointments, config);
  const patient = `Patient/${made.patient.id}`;
  const thread: Thread = {
    appointment: made.appointment.id ?? '',
    group,
    patient,
    key,
    count: 1,
    sent: Date.now(),
    known,
    claimed: undefined,
    answerBy: undefined,
    isComing: false,
    due: known?.steps[0]?.start,
  };
  const row = await medplum().create<Task>(threadTask(thread, config));
  const recipient = { reference: patient, medium: 'email', address: 'a@example.org', language: 'en' } as const;
  const subject = {
    kind: 'confirmation',
    appointments,
    locations: [],
    recipient,
    members: [],
    now: Date.now(),
  } as const;
  const sent =
    known &&
    (await medplum().create<Communication>(communicationOf({ ...subject, thread: { ...thread, known } }, config)));
  return { ...made, row, sent };
}

type Made = Awaited<ReturnType<typeof aMessage>>;

const answering = (answer: string | undefined) => (answer ? [{ name: 'answer', valueCode: answer }] : []);

const ask = (
  { row }: Pick<Made, 'row'>,
  answer?: string,
  token = `${row.id}.${key}`,
  time: NonNullable<Parameters['parameter']> = [],
) =>
  handler(medplum().medplum, {
    ...eventOf(parameters({ name: 'token', valueString: token }, ...answering(answer), ...time)),
    requester: { reference: 'ClientApplication/portal' },
  });

const possible = (answer: Awaited<ReturnType<typeof ask>>) =>
  answer.resourceType === 'Parameters'
    ? answer.parameter?.flatMap(({ name, valueCode }) => (name === 'answer' ? (valueCode ?? []) : []))
    : problems(answer);

const read = <T extends Appointment | Slot | Patient | Communication>({ resourceType, id }: T) =>
  medplum().read<T>(`${resourceType}/${id}`);

describe('the link in a message', () => {
  it('shows what can be answered, and changes nothing', async () => {
    const own = await aMessage();
    const before = await read(own.appointment);
    expect(possible(await ask(own))).toEqual(['come', 'cancel', 'move', 'stop']);
    expect(possible(await ask(await aMessage('another')))).toEqual(['come', 'cancel', 'move', 'stop']);
    expect((await read(own.appointment))?.meta?.versionId).toBe(before?.meta?.versionId);
  });

  it('frees the time of who cannot come, once', async () => {
    const made = await aMessage();
    expect(possible(await ask(made, 'cancel'))).toEqual(['stop']);
    expect(await read(made.appointment)).toMatchObject({
      status: 'cancelled',
      cancelationReason: { coding: [{ code: 'pat' }] },
    });
    expect((await read(made.slot))?.status).toBe('free');
    expect(possible(await ask(made, 'cancel'))).toEqual(['transition-not-allowed Parameters.parameter']);
    expect((await read(made.sent as Communication))?.received).toBeDefined();
  });

  it.each([
    ['another portal', { id: 'another' }],
    ['the clinic', undefined],
    ['another portal, at the same time with somebody else,', { id: 'another' }, 'same time'],
  ])(
    'moves an appointment of %s by the rules of who has made it, once, and nobody passes for its author',
    async (_, portal, isSameTime = '') => {
      const schedule = await aSchedule(medplum(), { extension: [policy({ leadTime: 60 })] });
      const meta = portal ? {} : { meta: {} };
      const made = await told(await booked(medplum(), portal ?? { id: '' }, { schedule, ...meta }));
      const { appointment, patient } = made;
      const time = (slot: Slot) => [
        { name: 'slot', valueReference: { reference: `Slot/${slot.id}` } },
        { name: 'start', valueInstant: slot.start },
        { name: 'end', valueInstant: slot.end },
      ];
      const move = (to: NonNullable<Parameters['parameter']>) => ask(made, 'move', undefined, to);
      const [free, late] = [
        isSameTime
          ? await aSlot(medplum(), await aSchedule(medplum()), '10:00', '10:30', {
              start: made.slot.start,
              end: made.slot.end,
            })
          : await aSlot(medplum(), schedule, '11:00', '11:30'),
        await aSlot(medplum(), schedule, '12:00', '12:30', { start: inMinutes(20), end: inMinutes(50) }),
      ];
      const sought = await ask(made, 'move');
      expect(sought).toMatchObject({ parameter: expect.not.arrayContaining([{ name: 'appointment' }]) });
      expect(possible(await move(time(late)))).toEqual(['too-soon Appointment.start']);
      expect(possible(await move(time({ ...free, start: 'soon' })))).toEqual(['malformed-request Appointment.start']);
      for (const _time of ['first', 'again']) {
        expect(await move(time(free))).toMatchObject({
          parameter: expect.arrayContaining([{ name: 'start', valueInstant: free.start }]),
        });
      }
      const after = await read(appointment);
      expect(after).toMatchObject({ status: 'booked', start: free.start });
      expect(after?.participant.map(({ actor }) => actor?.reference)).toContain(`Patient/${patient.id}`);
      const tags = after?.meta?.tag?.map(({ system }) => system) ?? [];
      expect(tags.includes(artefactUri(config, 'LocalRequestor'))).toBe(portal !== undefined);
      expect(tags).not.toContain(artefactUri(config, 'LocalChangedBy'));
      expect([(await read(made.slot))?.status, (await read(free))?.status]).toEqual(['free', 'busy']);
    },
  );

  it('books what is offered, and frees what is declined, however late that is', async () => {
    const extension = offerExtensions({ reason: 'waitlist', for: [], until: Date.now() + 600_000 }, config);
    const offered = () => aMessage('portal', 24 * 60, { status: 'proposed', extension });
    const made = await offered();
    expect(possible(await ask(made))).toEqual(['come', 'cancel', 'stop']);
    expect(possible(await ask(made, 'come'))).toEqual(['come', 'cancel', 'move', 'stop']);
    expect((await read(made.appointment))?.status).toBe('booked');
    expect((await read(made.slot))?.status).toBe('busy');
    expect((await read(made.sent as Communication))?.received).toBeDefined();
    const other = await offered();
    expect(possible(await ask(other, 'cancel'))).toEqual(['stop']);
    expect((await read(other.slot))?.status).toBe('free');
  });

  it('frees or keeps a visit as a whole', async () => {
    const made = await aVisit();
    const answer = await ask(made);
    expect(possible(answer)).toEqual(['come', 'cancel', 'stop']);
    expect(answer).toMatchObject({
      parameter: expect.arrayContaining([
        { name: 'start', valueInstant: made.steps[0]?.appointment.start },
        { name: 'end', valueInstant: made.steps[1]?.appointment.end },
      ]),
    });
    expect(possible(await ask(made, 'come'))).toEqual(['come', 'cancel', 'stop']);
    expect(possible(await ask(made, 'cancel'))).toEqual(['stop']);
    const states = made.steps.map(async ({ appointment, slot }) => [
      (await read(appointment))?.status,
      (await read(slot))?.status,
    ]);
    expect(await Promise.all(states)).toEqual([
      ['cancelled', 'free'],
      ['cancelled', 'free'],
    ]);
  });

  it.each([
    ['visit', [], ['come', 'cancel', 'stop']],
    ['series', [{ url: RECURRENCE_ID, valuePositiveInt: 1 }], expect.arrayContaining(['cancel'])],
  ])('books a %s that is offered, as a whole', async (_, more, expected) => {
    const offer = offerExtensions({ reason: 'waitlist', for: [], until: Date.now() + 600_000 }, config);
    const { steps, ...made } = await aVisit({ status: 'proposed', extension: [...offer, ...more] });
    const [first] = steps;
    const answer = await ask(more.length > 0 && first ? await told(first) : made, 'come');
    expect(possible(answer)).toEqual(expected);
    const states = steps.map(async ({ appointment }) => (await read(appointment))?.status);
    expect(await Promise.all(states)).toEqual(['booked', 'booked']);
  });

  it('notes who comes, and who wants no more messages', async () => {
    const made = await aMessage();
    const { participant } = made.appointment;
    await medplum().change(made.appointment, {
      participant: participant.map((one) => ({ ...one, status: 'needs-action' })),
    });
    await ask(made, 'come');
    expect((await read(made.appointment))?.participant.map(({ status }) => status)).toContain('accepted');
    expect(possible(await ask(made, 'stop'))).toEqual(['come', 'cancel', 'move', 'start']);
    expect(possible(await later(90 * 86_400_000, () => ask(made)))).toEqual(['start']);
    expect(possible(await ask(made, 'start'))).toEqual(['come', 'cancel', 'move', 'stop']);
  });

  it.each<[string, (made: Made) => ReturnType<typeof ask>]>([
    ['with another secret', (made) => ask(made, 'cancel', `${made.row.id}.${'0'.repeat(32)}`)],
    ['of another kind of Task', (made) => ask(made, 'cancel', `${made.appointment.id}.${key}`)],
    ['that is none', (made) => ask(made, 'cancel', 'x')],
    ['with an answer that is none', (made) => ask(made, 'sing')],
    ['after the appointment has begun', (made) => later(90 * 86_400_000, () => ask(made, 'cancel'))],
  ])('%s is not found', async (_, use) => {
    const made = await aMessage();
    expect((await use(made)).id).toBe('not-found');
    expect((await read(made.appointment))?.status).toBe('booked');
  });

  it('answers nothing for an appointment that has been moved since', async () => {
    const made = await aMessage();
    const start = new Date(Date.parse(made.appointment.start ?? '') + 60_000).toISOString();
    await medplum().change(made.appointment, { start });
    expect(possible(await ask(made))).toEqual(['stop']);
    expect(possible(await ask(made, 'cancel'))).toEqual(['transition-not-allowed Parameters.parameter']);
  });
});
