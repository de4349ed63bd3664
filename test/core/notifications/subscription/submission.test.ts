import { describe, expect, test } from '@jest/globals';
import { backport } from '../../../../core/fhir/backport.ts';
import {
  newSubscription,
  parseSubmission,
  updatedSubscription,
} from '../../../../core/notifications/subscription/submission.ts';
import { storedParameters } from '../../../../core/notifications/subscription/subscription-parameters.ts';
import { begin, config, portal, subscription } from '../support.ts';

/** A submission, or an update of the Subscription s1. */
const parse = (body: unknown, kind: 'create' | 'update' = 'create') =>
  parseSubmission(body, kind === 'update' ? 's1' : undefined, begin, config);

describe('a submitted Subscription', () => {
  test.each(['x', null])('whose meta is %j is malformed', (meta) => {
    const { issues } = parse({ ...subscription(), meta });
    expect(issues).toMatchObject([{ code: 'malformed-request', expression: 'http.body' }]);
  });

  test.each([
    ['a modifier', { modifierExtension: [{ url: 'https://x.example', valueBoolean: true }] }],
    ['a script', { text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml"><script/></div>' } }],
  ])('with %s is refused, by an element of the Subscription', (_, changes) => {
    const { submission, issues } = parse(subscription(changes));
    expect(submission).toBeUndefined();
    expect(issues.map(({ expression }) => expression)).toEqual([expect.stringMatching(/^Subscription\./)]);
  });
});

describe('what is stored', () => {
  test('stays good when the service gets another address', () => {
    const filter = (patient: string) => ({
      extension: [{ url: backport.filterCriteria, valueString: `Appointment?status=booked,noshow&patient=${patient}` }],
    });
    const sent = parse({ ...subscription(), _criteria: filter(`${encodeURIComponent(config.baseUrl)}/Patient/1,2`) });
    const moved = { ...config, baseUrl: 'https://new.example/fhir/R4' };
    const kept = sent.submission && newSubscription(sent.submission, portal, config);
    expect(kept).toMatchObject({ _criteria: filter('Patient/1,2') });
    expect(kept && storedParameters(kept, moved)).toEqual(sent.submission?.settings);
    const long = parse({ ...subscription(), _criteria: filter(Array.from({ length: 1_900 }, () => '1').join()) });
    const whole = long.submission && newSubscription(long.submission, portal, config);
    expect(whole && storedParameters(whole, config)).toEqual(long.submission?.settings);
    expect(long.issues).toEqual([]);
  });

  const stored = { ...subscription({ id: 's1' }), status: 'active' as const };
  const update = (changes: object, before = stored) => {
    const { submission: changed } = parse(subscription({ id: 's1', status: 'active', ...changes }), 'update');
    return changed && updatedSubscription(changed, before, portal, begin, config);
  };

  test('of an update has the id that it was sent to, and its end in UTC', () => {
    expect(parse(subscription({ id: 'other' }), 'update').issues).toEqual([
      { code: 'malformed-request', diagnostics: expect.stringContaining("'s1'"), expression: 'Subscription.id' },
    ]);
    expect(update({ end: '2031-01-01T00:00:00+02:00' })).toMatchObject({ id: 's1', end: '2030-12-31T22:00:00.000Z' });
  });
});
