import { describe, expect, test } from '@jest/globals';
import { isVisible, versionAccesses } from '../../../gateway/medplum/access-policy.ts';
import type { MedplumResponse, Upstream, UpstreamFailure } from '../../../gateway/medplum/client.ts';
import {
  createCallers,
  fingerprint,
  hasBearerToken,
  isCaller,
  nameOf,
} from '../../../gateway/medplum/current-profile.ts';

const profile = { resourceType: 'ClientApplication', id: 'p1' };
const ok = (body: unknown): MedplumResponse => ({ status: 200, headers: {}, body });

/** Callers of a Medplum that answers so, and the tokens that it was asked about. */
function callersOf(response: (authorization: string) => Promise<MedplumResponse | UpstreamFailure>) {
  const clock = { now: 0 };
  const asked: string[] = [];
  const upstream = {
    call: ({ method, path, headers }) => {
      asked.push(`${method} ${path} ${headers?.authorization}`);
      return response(headers?.authorization ?? '');
    },
  } as Pick<Upstream, 'call'> as Upstream;
  return { callers: createCallers(upstream, () => clock.now), clock, asked };
}

describe('who calls', () => {
  test('is what Medplum says of the token, for a minute', async () => {
    const { callers, clock, asked } = callersOf(async () =>
      ok({ profile, membership: { profile: { display: 'The portal' } }, accessPolicy: { resource: [] } }),
    );
    const caller = await callers.find('Bearer a');
    expect(caller).toMatchObject({
      profileType: 'ClientApplication',
      profileId: 'p1',
      display: 'The portal',
      role: 'requestor',
      findsAllOf: [],
    });
    expect(isCaller(caller) && nameOf(caller)).toBe('ClientApplication/p1');
    clock.now = 59_999;
    expect(callers.recall('Bearer a')).toEqual(caller);
    expect([await callers.find('Bearer a'), callers.recall('Bearer b')]).toEqual([caller, undefined]);
    clock.now = 120_000;
    expect(callers.recall('Bearer a')).toBeUndefined();
    expect(asked).toEqual(['GET auth/me Bearer a']);
    await callers.find('Bearer a');
    expect(asked).toHaveLength(2);
  });

  test('a token that was good and is refused now is no longer known', async () => {
    const answers: MedplumResponse[] = [ok({ profile }), { status: 401, headers: {}, body: undefined }];
    const { callers, asked } = callersOf(async () => answers.shift() ?? { failure: 'unavailable' });
    await callers.find('Bearer a');
    await callers.verify('Bearer a');
    expect(asked).toHaveLength(2);
    expect(callers.recall('Bearer a')).toMatchObject({ status: 401 });
  });

  test.each([
    ['401', { status: 401, headers: { x: 'y' }, body: 'secret' }],
    [
      'a client that is gone',
      { status: 400, headers: {}, body: { issue: [{ details: { text: 'Authentication error' } }] } },
    ],
  ])('a token that Medplum refuses (%s) is refused for ten seconds', async (_name, answer) => {
    const { callers, clock, asked } = callersOf(async () => answer);
    const refused = { status: 401, headers: {}, body: undefined };
    expect([await callers.find('Bearer a'), await callers.find('Bearer a')]).toEqual([refused, refused]);
    clock.now = 9_999;
    expect(callers.recall('Bearer a')).toEqual(refused);
    clock.now = 10_000;
    expect(callers.recall('Bearer a')).toBeUndefined();
    expect(asked).toHaveLength(1);
  });

  test.each<[string, MedplumResponse | UpstreamFailure, object]>([
    ['no answer', { failure: 'timeout' }, { failure: 'timeout' }],
    ['500', { status: 500, headers: {}, body: undefined }, { status: 500 }],
    ['another 400', { status: 400, headers: {}, body: { issue: [{ details: { text: 'x' } }] } }, { status: 400 }],
    ['a 400 without words', { status: 400, headers: {}, body: { issue: 'x' } }, { status: 400 }],
    ['201', { status: 201, headers: {}, body: { profile } }, { status: 201 }],
    ['a 400 that is nothing', { status: 400, headers: {}, body: { issue: [null] } }, { status: 400 }],
    ['a 400 of details in words', { status: 400, headers: {}, body: { issue: [{ details: 'x' }] } }, { status: 400 }],
    [
      'another status with these words',
      { status: 403, headers: {}, body: { issue: [{ details: { text: 'Authentication error' } }] } },
      { status: 403 },
    ],
    ['no profile', ok({}), { failure: 'broken' }],
    ['a profile in words', ok({ profile: 'x' }), { failure: 'broken' }],
    ['an id that is no text', ok({ profile: { ...profile, id: 7 } }), { failure: 'broken' }],
    ['a profile without an id', ok({ profile: { resourceType: 'Practitioner' } }), { failure: 'broken' }],
    ['a profile without a type', ok({ profile: { id: 'x' } }), { failure: 'broken' }],
    ['nothing', ok(undefined), { failure: 'broken' }],
  ])('%s is not remembered', async (_name, response, expected) => {
    const { callers } = callersOf(async () => response);
    const found = await callers.find('Bearer a');
    expect([found, isCaller(found)]).toEqual([expect.objectContaining(expected), false]);
    expect(callers.recall('Bearer a')).toBeUndefined();
  });

  test.each<[string, object]>([
    ['no membership', {}],
    ['a membership that is nothing', { membership: null }],
    ['a membership without a profile', { membership: {} }],
    ['a name that is no text', { membership: { profile: { display: 7 } } }],
  ])('has no name, by %s', async (_name, more) => {
    const { callers } = callersOf(async () => ok({ profile, ...more }));
    expect(Object.keys(await callers.find('Bearer a'))).not.toContain('display');
  });

  test('may see what its AccessPolicy says, and acts as it says', async () => {
    const accessPolicy = {
      resource: [{ resourceType: 'Slot' }, { resourceType: 'Appointment', interaction: ['read'] }],
    };
    const [portal, clinic] = [{ profile, accessPolicy }, { profile }].map((body) => callersOf(async () => ok(body)));
    expect(await portal?.callers.find('Bearer a')).toMatchObject({
      role: 'requestor',
      findsAllOf: ['Slot'],
      versions: { Appointment: [] },
    });
    expect(await clinic?.callers.find('Bearer a')).toMatchObject({
      role: 'staff',
      findsAllOf: [],
      versions: { Appointment: 'all' },
    });
  });

  test('is one question for a token at a time, and 32 in all', async () => {
    const { promise, resolve } = Promise.withResolvers<MedplumResponse>();
    const { callers, asked } = callersOf(() => promise);
    const waiting = Array.from({ length: 32 }, (_, index) => callers.find(`Bearer ${index}`));
    const same = callers.find('Bearer 0');
    expect(await callers.find('Bearer 32')).toEqual({ failure: 'unavailable' });
    resolve(ok({ profile }));
    expect((await Promise.all([...waiting, same])).every(isCaller)).toBe(true);
    expect(asked).toHaveLength(32);
    expect(isCaller(await callers.find('Bearer 32'))).toBe(true);
  });
});

test.each([
  ['Bearer a', true],
  ['bearer   a.b-c_d~e+f/g==', true],
  ['Bearer', false],
  ['Bearer ', false],
  ['Bearera', false],
  ['Bearer a b', false],
  ['Bearer a=b', false],
  ['x Bearer a', false],
  ['Basic YTpi', false],
  [undefined, false],
])('%s is a bearer token: %s', (authorization, expected) => {
  expect(hasBearerToken(authorization)).toBe(expected);
});

test('a fingerprint does not tell the token, and is another for another', () => {
  expect(fingerprint('Bearer a')).toMatch(/^[\w-]{43}$/);
  expect(fingerprint('Bearer a')).not.toBe(fingerprint('Bearer b'));
});

const own = 'https://example.org/fhir/CodeSystem/LocalRequestor|portal-a';

const tagged = (...tokens: string[]) => ({
  meta: { tag: tokens.map((token) => ({ system: token.split('|')[0] ?? '', code: token.split('|')[1] ?? '' })) },
});

const accessBy = (...resource: unknown[]) => versionAccesses({ resource }).Appointment;

describe('the versions that a caller may see', () => {
  test.each<[string, unknown, unknown]>([
    ['everything of the type', { resourceType: 'Appointment' }, 'all'],
    ['everything', { resourceType: '*', interaction: ['read', 'vread'] }, 'all'],
    ['what has a tag', { resourceType: 'Appointment', criteria: `Appointment?_tag=${own}` }, [own]],
    ['another type', { resourceType: 'Patient' }, []],
    ['no versions', { resourceType: 'Appointment', interaction: ['read', 'search'] }, []],
    ['a compartment', { resourceType: 'Appointment', compartment: { reference: 'Organization/1' } }, []],
    ['other criteria', { resourceType: 'Appointment', criteria: 'Appointment?status=booked' }, []],
    ['a tag and more', { resourceType: 'Appointment', criteria: `Appointment?_tag=${own}&status=booked` }, []],
    ['criteria that are none', { resourceType: 'Appointment', criteria: 7 }, []],
    ['criteria without a tag', { resourceType: 'Appointment', criteria: 'Appointment?_tag=,' }, []],
    ['criteria without a query', { resourceType: 'Appointment', criteria: 'Appointment' }, []],
    ['a tag and an empty one', { resourceType: 'Appointment', criteria: `Appointment?_tag=,${own}` }, [own]],
    ['a tag with a question mark', { resourceType: 'Appointment', criteria: 'Appointment?_tag=a|b?c' }, ['a|b?c']],
    ['histories', { resourceType: 'Appointment', interaction: ['history'] }, 'all'],
    ['interactions that are no list', { resourceType: 'Appointment', interaction: 'read' }, 'all'],
    [
      'a tag in a compartment',
      { resourceType: 'Appointment', criteria: `Appointment?_tag=${own}`, compartment: {} },
      [],
    ],
    ['a rule that is none', 'Appointment', []],
    ['nothing', null, []],
  ])('by a rule for %s', (_, rule, expected) => {
    expect(accessBy(rule)).toEqual(expected);
  });

  test.each([
    ['without rules', {}],
    ['whose rules are no list', { resource: { resourceType: '*' } }],
    ['that is no policy', 'all'],
  ])('by a policy %s: none', (_, policy) => {
    expect(versionAccesses(policy)).toMatchObject({ Appointment: [], Patient: [] });
  });

  test('are those of types that have versions, without a policy all of them', () => {
    for (const policy of [null, undefined, {}]) {
      expect(Object.keys(versionAccesses(policy))).toEqual([
        'Appointment',
        'Patient',
        'QuestionnaireResponse',
        'Encounter',
        'RelatedPerson',
      ]);
    }
    expect(versionAccesses(null).Patient).toBe('all');
  });

  test('have one of the tags, whole', () => {
    expect(isVisible(tagged('x|y', own), [own])).toBe(true);
    for (const other of [tagged(), {}, tagged(`${own}-2`), tagged(own.replace('|', '/|')), tagged('|portal-a')]) {
      expect(isVisible(other, [own])).toBe(false);
    }
    const odd = [{ tag: { system: 'a', code: 'b' } }, { tag: [null, 'a|b'] }] as object[];
    expect(odd.map((meta) => isVisible({ meta }, ['a|b']))).toEqual([false, false]);
    expect([
      isVisible({ meta: { tag: [{ code: 'b' }] } }, ['|b']),
      isVisible({ meta: { tag: [{ system: 'a' }] } }, ['a|']),
    ]).toEqual([true, true]);
    expect([isVisible({}, 'all'), isVisible(tagged(own), []), isVisible(tagged(own))]).toEqual([true, false, false]);
  });
});
