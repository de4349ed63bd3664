import { describe, expect, test } from '@jest/globals';
import { refusedByBot } from '../../../gateway/bots/error-response.ts';
import type { GatewayContext } from '../../../gateway/context.ts';
import type { MedplumResponse, UpstreamFailure } from '../../../gateway/medplum/client.ts';
import { config } from '../fake-medplum.ts';

const context = { config } as GatewayContext;
const answer = (status: number, body?: unknown): MedplumResponse => ({ status, headers: {}, body });

const said = (given: MedplumResponse | UpstreamFailure) => {
  const { status, resource } = refusedByBot(given, context);
  const [issue] = resource?.resourceType === 'OperationOutcome' ? resource.issue : [];
  return [status, issue?.code, issue?.diagnostics];
};

describe('a Bot that did not answer', () => {
  test.each<[MedplumResponse | UpstreamFailure, number, string]>([
    [{ failure: 'unavailable' }, 503, 'did not answer. It may'],
    [{ failure: 'timeout' }, 504, 'did not answer in time. It may'],
    [{ failure: 'broken' }, 503, 'gave an invalid response. It may'],
    [answer(504), 504, 'did not answer in time. It may'],
    [answer(200, { resourceType: 'Patient' }), 503, 'gave an invalid response. It may'],
  ])('%j: %i, and the caller learns what to do', (given, status, words) => {
    const [found, , diagnostics] = said(given);
    expect([found, diagnostics]).toEqual([status, expect.stringContaining(words)]);
    expect(diagnostics).toContain('send it again with the same Appointment.identifier, or read first.');
  });

  test.each([
    ['unavailable', 503],
    ['timeout', 504],
  ] as const)('because it was never asked has changed nothing: %s', (failure, expected) => {
    const [status, , diagnostics] = said({ failure, isUnsent: true });
    expect([status, diagnostics]).toEqual([expected, expect.stringContaining('Nothing was changed: try again.')]);
  });
});
