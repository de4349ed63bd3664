import { describe, expect, it } from '@jest/globals';
import type { Bundle, OperationOutcome, Patient, QuestionnaireResponse, RelatedPerson, Task } from '@medplum/fhirtypes';
import {
  completedBy,
  completing,
  failed,
  isRefusedAtOnce,
  jobIn,
  overdueQuery,
  taskOf,
  visibleTo,
} from '../../../../core/booking/async/task.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { appointment, config, now, patient, requestor, schedule, slot, stateOf } from '../support.ts';

const nine = slot('nine', '09:00', '09:30');
const requester = { reference: 'ClientApplication/portal', display: 'Portal' };
const state = stateOf(schedule, patient, nine);
const task: Task = {
  ...taskOf({ any: 'body' }, { requestor, requester, role: 'repository' }, state, config),
  id: 't1',
  meta: { versionId: '3' },
};

describe('an asynchronous booking', () => {
  it('is kept in a Task of its requestor, with the personal resources that it could see', () => {
    const { id: _, meta: __, ...kept } = task;
    expect(taskOf({ any: 'body' }, { requestor, requester, role: 'repository' }, state, config)).toEqual({
      ...kept,
      meta: { tag: [requestorTag(requestor, config)] },
    });
    expect(kept).toEqual({
      resourceType: 'Task',
      status: 'requested',
      intent: 'order',
      code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'book' }] },
      input: [{ type: { text: 'job' }, valueString: expect.any(String) }],
    });
  });

  it('remembers everything personal that could be seen, and nothing that all may see', () => {
    const answers: QuestionnaireResponse = { resourceType: 'QuestionnaireResponse', id: 'q', status: 'completed' };
    const related: RelatedPerson = { resourceType: 'RelatedPerson', id: 'r', patient: { reference: 'Patient/anna' } };
    const seen = stateOf(schedule, nine, appointment({ id: 'a' }), patient, answers, related);
    expect(jobIn(taskOf({}, { requestor, requester, role: 'requestor' }, seen, config))?.visible).toEqual([
      'Appointment/a',
      'Patient/anna',
      'QuestionnaireResponse/q',
      'RelatedPerson/r',
    ]);
  });

  it('is read from it', () => {
    const job = { body: { any: 'body' }, requestor, requester, role: 'repository', visible: ['Patient/anna'] };
    expect(jobIn(task)).toEqual(job);
    expect(jobIn({ ...task, input: [{ type: { text: 'x' }, valueString: '{}' }, ...(task.input ?? [])] })).toEqual(job);
  });

  it.each<[string, Partial<Task>]>([
    ['is over', { status: 'completed' }],
    ['has no input', { input: undefined }],
    ['has another input', { input: [{ type: { text: 'x' }, valueString: '{}' }] }],
    ['keeps no object', { input: [{ type: { text: 'job' }, valueString: '1' }] }],
    ['names no requestor', { input: [{ type: { text: 'job' }, valueString: '{"visible":[]}' }] }],
    ['says not what could be seen', { input: [{ type: { text: 'job' }, valueString: '{"requestor":"x"}' }] }],
  ])('is none if the Task %s', (_, changes) => {
    expect(jobIn({ ...task, ...changes })).toBeUndefined();
  });

  it('has a requestor that acts as one unless it says otherwise', () => {
    const valueString = '{"requestor":"x","visible":[1],"role":"other","requester":"y"}';
    expect(jobIn({ ...task, input: [{ type: { text: 'job' }, valueString }] })).toEqual({
      body: undefined,
      requestor: 'x',
      requester: undefined,
      role: 'requestor',
      visible: ['1'],
    });
  });

  it('is carried out with what its requestor could see then, or has submitted since', () => {
    const hidden: Patient = { ...patient, id: 'hidden', meta: {} };
    const submitted: Patient = { ...patient, id: 'submitted' };
    const seen: Patient = { ...patient, id: 'seen', meta: {} };
    const job = { body: {}, requestor, role: 'requestor' as const, visible: ['Patient/seen'] };
    const visible = visibleTo(job, stateOf(schedule, nine, hidden, submitted, seen), config);
    expect([...visible.keys()]).toEqual(['Schedule/calendar', 'Slot/nine', 'Patient/submitted', 'Patient/seen']);
  });

  it('that is left over is found after five seconds', () => {
    expect(overdueQuery(now, config)).toEqual({
      code: `${artefactUri(config, 'LocalTask')}|book`,
      status: 'requested',
      _lastUpdated: 'lt2026-12-31T23:59:55.000Z',
      _sort: '_lastUpdated',
      _count: '1000',
      _fields: 'id',
    });
  });
});

describe('the end of an asynchronous booking', () => {
  const { input: _, ...rest } = task;
  const request = { method: 'PUT', url: 'Task/t1', ifMatch: 'W/"3"' };
  const done = (reference: string) => ({
    request,
    resource: {
      ...rest,
      status: 'completed',
      output: [{ type: { text: 'appointment' }, valueReference: { reference } }],
    },
  });
  const transaction = (entry: Bundle['entry']): Bundle => ({ resourceType: 'Bundle', type: 'transaction', entry });
  const newId = () => 'urn:uuid:1';

  it('comes with a new appointment', () => {
    const made = { request: { method: 'POST' as const, url: 'Appointment' }, resource: appointment() };
    const other = { request: { method: 'DELETE' as const, url: 'Slot/x' } };
    expect(completing(transaction([made, other]), task, newId)).toEqual(
      transaction([{ ...made, fullUrl: 'urn:uuid:1' }, other, done('urn:uuid:1')] as Bundle['entry']),
    );
    const named = { ...made, fullUrl: 'urn:uuid:2' };
    expect(completing(transaction([named]), task, newId).entry).toEqual([named, done('urn:uuid:2')]);
  });

  it('comes with one that is moved', () => {
    const moved = { request: { method: 'PUT' as const, url: 'Appointment/a1' }, resource: appointment() };
    expect(completing(transaction([moved]), task, newId).entry).toEqual([moved, done('Appointment/a1')]);
  });

  it('comes with one that was booked before', () => {
    expect(completedBy(task, appointment({ id: 'a1' }))).toEqual(done('Appointment/a1'));
  });

  it('or with the reasons', () => {
    const outcome: OperationOutcome = { resourceType: 'OperationOutcome', issue: [] };
    expect(failed(task, outcome)).toEqual({
      request,
      resource: {
        ...rest,
        status: 'failed',
        contained: [{ ...outcome, id: 'outcome' }],
        output: [{ type: { text: 'outcome' }, valueReference: { reference: '#outcome' } }],
      },
    });
  });
});

it.each([
  ['malformed-request', true],
  ['slot-not-found', true],
  ['schedule-not-found', true],
  ['patient-not-found', true],
  ['replaced-appointment-not-found', true],
  ['portal-limit-reached', true],
  ['too-many-bookings', true],
  ['slot-not-free', false],
  ['patient-inactive', false],
] as const)('%s: refused at once: %s', (code, expected) => {
  expect(
    isRefusedAtOnce([
      { code: 'slot-not-free', diagnostics: '' },
      { code, diagnostics: '' },
    ]),
  ).toBe(expected);
  expect(isRefusedAtOnce([])).toBe(false);
});
