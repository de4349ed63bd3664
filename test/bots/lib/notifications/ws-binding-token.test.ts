import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Bundle, OperationOutcome, Parameters } from '@medplum/fhirtypes';
import type { Answer } from '../../../../bots/lib/medplum.ts';
import type { Subscriber } from '../../../../bots/lib/notifications/subscriber.ts';
import { createBindingToken } from '../../../../bots/lib/notifications/ws-binding-token.ts';
import { withMedplum } from '../../medplum.ts';

const medplum = withMedplum();

const handshake: Bundle = { resourceType: 'Bundle', type: 'history' };

const aCaller = (): Promise<Subscriber> => medplum().addClient('Caller');

const bind = (caller: Subscriber) => createBindingToken(medplum().medplum, 's1', handshake, caller);

const codesIn = (answer: Parameters | OperationOutcome) =>
  'issue' in answer ? answer.issue.map(({ details }) => details?.coding?.[0]?.code) : [];

describe('the token for a websocket', () => {
  it('is refused to whoever may not read what it is for: the channel cannot be used', async () => {
    const nobody = await medplum().addClient('Nobody', [{ resourceType: 'Patient' }]);
    const answer = (await bind(nobody)) as OperationOutcome;
    expect(codesIn(answer)).toEqual(['channel-unsupported']);
    expect(answer.issue[0]).toMatchObject({
      diagnostics: expect.stringMatching(/^Medplum did not issue a websocket token: Error reading subscription/),
      expression: ['Subscription.channel.type'],
    });
  });

  /** Medplum answers one of the two requests otherwise. */
  function answered(request: 'batch' | 'read', answer: Answer | 'no-answer'): void {
    medplum().interfere(({ type }) => (type === request ? answer : undefined));
  }

  const refusal = (...issue: object[]) => ({ status: 400, body: { resourceType: 'OperationOutcome', issue } });

  it.each([
    ['as text', { details: { text: 'Not enabled' }, diagnostics: 'other' }, 'Not enabled.'],
    ['as diagnostics', { diagnostics: 'Not enabled' }, 'Not enabled.'],
    ['not at all', {}, 'no reason given.'],
    ['by no issue', undefined, 'no reason given.'],
  ])('is refused with the reason that Medplum gives %s', async (_, issue, reason) => {
    answered('read', issue ? refusal(issue) : refusal());
    const answer = (await bind(await aCaller())) as OperationOutcome;
    expect(answer.issue[0]?.diagnostics).toBe(`Medplum did not issue a websocket token: ${reason}`);
  });

  const unavailable = ['upstream-unavailable'];

  it.each<[string, 'batch' | 'read', Answer | 'no-answer']>([
    ['what it is for cannot be made', 'batch', 'no-answer'],
    ['what it is for is refused', 'batch', refusal()],
    ['nothing is said of what it is for', 'batch', { status: 200, body: { resourceType: 'Bundle', type: 'batch' } }],
    ['it is not answered', 'read', 'no-answer'],
    ['Medplum fails', 'read', { ...refusal(), status: 500 }],
    ['Medplum answers something else', 'read', { status: 400, body: {} }],
    ['Medplum answers nothing', 'read', { status: 200, body: undefined }],
  ])('is not known if %s', async (_, request, answer) => {
    answered(request, answer);
    expect(codesIn(await bind(await aCaller()))).toEqual(unavailable);
  });

  it('may be all that Medplum leaves out', async () => {
    answered('read', { status: 200, body: { resourceType: 'Parameters' } });
    const answer = (await bind(await aCaller())) as Parameters;
    expect(answer.parameter?.map(({ name }) => name)).toEqual(['message-subscription', 'handshake']);
  });
});
