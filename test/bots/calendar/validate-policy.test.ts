import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { MedplumClient } from '@medplum/core';
import type { Extension, OperationOutcome, Schedule } from '@medplum/fhirtypes';
import { handler } from '../../../bots/calendar/validate-policy.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { config } from '../config.ts';
import { visit } from './fixtures.ts';

const validate = (input: object) => handler({} as MedplumClient, { input } as Parameters<typeof handler>[1]);

/** The codes and elements of the issues. */
const issuesIn = (answer: true | OperationOutcome) =>
  answer === true
    ? []
    : answer.issue.map(({ details, expression }) => [details?.coding?.[0]?.code, expression?.[0]?.split(/[[.]/)[0]]);

const leadTime = (valueDuration: Extension['valueDuration']): Extension => ({
  url: artefactUri(config, 'LocalBookingPolicy'),
  extension: [{ url: 'leadTime', valueDuration }],
});

const schedule = (...extension: readonly Extension[]): Schedule => ({
  resourceType: 'Schedule',
  actor: [],
  extension: [...extension],
});

const badHorizon = { planningHorizon: { start: '2031-02-01', end: '2031-01-01' } };

describe('a Schedule or HealthcareService', () => {
  it.each([
    ['without a policy', schedule()],
    ['with a policy', schedule(leadTime({ value: 2, code: 'h' }))],
    ['with opening hours', visit()],
  ])('%s is allowed', async (_, resource) => {
    expect(await validate(resource)).toBe(true);
  });

  it('is refused with everything that is wrong', async () => {
    const answer = await validate({ ...schedule(leadTime({ value: -2, code: 'h' })), ...badHorizon });
    expect(answer).toMatchObject({ resourceType: 'OperationOutcome' });
    expect(issuesIn(answer)).toEqual([
      ['policy-invalid', 'Schedule'],
      ['opening-hours-invalid', 'Schedule'],
    ]);
  });

  it('is refused because of its policy or its opening hours alone', async () => {
    expect(issuesIn(await validate(schedule(leadTime({ value: 2, code: 'years' }))))).toHaveLength(1);
    expect(issuesIn(await validate({ ...schedule(), ...badHorizon }))).toHaveLength(1);
  });
});
