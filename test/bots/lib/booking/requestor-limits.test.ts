import '../../config.ts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Appointment, Bundle, BundleEntry, Task } from '@medplum/fhirtypes';
import { checkLimits, type LimitContext } from '../../../../bots/lib/booking/requestor-limits.ts';
import type { Answer } from '../../../../bots/lib/medplum.ts';
import type { RequestorLimit } from '../../../../core/booking/policy/requestor-limits.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { aPortal, at, byChance, type Portal, tagsOf } from '../../booking/fixtures.ts';
import { config, configured } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';

const medplum = withMedplum();

const contextOf = ({ id, authorization }: Portal, more: Partial<LimitContext> = {}): LimitContext => ({
  id,
  authorization,
  now: Date.now(),
  isDry: false,
  ...more,
});

/** So many open appointments of a portal. */
const appointments = (portal: Portal, count: number) =>
  medplum().transaction(
    Array.from({ length: count }, () => ({
      request: { method: 'POST', url: 'Appointment' },
      resource: {
        resourceType: 'Appointment',
        meta: tagsOf(portal),
        status: 'booked',
        start: at('09:00'),
        end: at('09:30'),
        participant: [{ actor: { display: 'Kim' }, status: 'accepted' }],
      } satisfies Appointment,
    })),
  );

const jobs = (portal: Portal, count: number) =>
  medplum().transaction(
    Array.from({ length: count }, () => ({
      request: { method: 'POST', url: 'Task' },
      resource: {
        resourceType: 'Task',
        meta: tagsOf(portal),
        status: 'requested',
        intent: 'order',
        code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'book' }] },
      } satisfies Task,
    })),
  );

/** Answers the entries of a check with the rights of the portal. */
async function answersTo(entry: readonly BundleEntry[], { authorization }: Portal): Promise<BundleEntry[]> {
  const bundle = { resourceType: 'Bundle', type: 'batch', entry };
  const { body } = await medplum().fhir<Bundle>('POST', '', bundle, { authorization });
  return body.entry ?? [];
}

/** The limits that are reached. */
async function reached(
  client: ReturnType<typeof medplum>['medplum'],
  limits: readonly RequestorLimit[],
  portal: Portal,
  more = {},
) {
  const check = checkLimits(client, limits, contextOf(portal, more));
  return [...(await check.conclude(await answersTo(check.entry, portal)))];
}

const few = <T>(act: () => Promise<T>) =>
  configured({ requestors: { maxOpenAppointments: 3, maxBookingsPerMinute: 2 } }, act);

describe('where the process goes on', () => {
  it('a limit is reached by as many appointments', async () => {
    const portal = await aPortal(medplum());
    await few(async () => {
      expect(await reached(medplum().medplum, ['open', 'rate', 'jobs'], portal)).toEqual([]);
      await appointments(portal, 2);
      await jobs(portal, 2);
      expect(await reached(medplum().medplum, ['open', 'rate', 'jobs'], portal)).toEqual(['rate', 'jobs']);
      await appointments(portal, 1);
      expect(await reached(medplum().medplum, ['open'], portal)).toEqual(['open']);
    });
  });

  it.each([
    ['too few answers', []],
    ['too many answers', [{ response: { status: '200' } }, { response: { status: '200' } }]],
    ['an answer without a status', [{}]],
    ['an error', [{ response: { status: '500' } }]],
  ])('%s are no decision', async (_, answers) => {
    const check = checkLimits(medplum().medplum, ['open'], contextOf(await aPortal(medplum())));
    await expect(check.conclude(answers)).rejects.toThrow('The limits of a requestor could not be read.');
  });

  it('what a portal may not search for does not limit it', async () => {
    const check = checkLimits(medplum().medplum, ['open'], contextOf(await aPortal(medplum())));
    expect([...(await check.conclude([{ response: { status: '403' } }]))]).toEqual([]);
  });
});

describe('where each run stands for itself', () => {
  let interfering: (body: Bundle) => Answer | undefined = () => undefined;
  const { fetch } = globalThis;
  const shortLived = () =>
    ({ ...medplum().medplum, connections: undefined }) as unknown as ReturnType<typeof medplum>['medplum'];

  beforeEach(() => {
    interfering = () => undefined;
  });
  afterEach(() => {
    globalThis.fetch = fetch;
  });

  /** Asks for the limits, chance being what it is, and notes what is asked besides. */
  async function asked(limits: readonly RequestorLimit[], portal: Portal, chance = 0.999, more = {}) {
    const check = await byChance(chance, async () => checkLimits(shortLived(), limits, contextOf(portal, more)));
    const answers = await answersTo(check.entry, portal);
    globalThis.fetch = async (url, init) => {
      const body: Bundle = JSON.parse(String(init?.body));
      const answer = interfering(body);
      return answer ? new Response(JSON.stringify(answer.body), { status: answer.status }) : fetch(url, init);
    };
    const found = [
      ...(await check.conclude(answers).finally(() => {
        globalThis.fetch = fetch;
      })),
    ];
    return { first: check.entry.length, found };
  }

  const sampled = <T>(act: () => Promise<T>) =>
    configured({ requestors: { maxOpenAppointments: 100, maxBookingsPerMinute: 200 } }, act);

  it('a limit holds for whoever has come near it before', async () => {
    const portal = await aPortal(medplum());
    await sampled(async () => {
      await appointments(portal, 80);
      expect(await asked(['open', 'rate'], portal, 0)).toEqual({ first: 3, found: ['near-open'] });
      await appointments(portal, 20);
      expect((await asked(['open', 'rate'], portal)).found).toEqual(['marked', 'near-open', 'open']);
    });
  });

  it.each([
    ['is refused', { status: 503, body: {} }],
    ['says nothing', { status: 200, body: { resourceType: 'Bundle', type: 'batch-response' } }],
    [
      'fails in part',
      {
        status: 200,
        body: { resourceType: 'Bundle', type: 'batch-response', entry: [{ response: { status: '500' } }] },
      },
    ],
  ])('a further question that %s is no decision', async (_, answer) => {
    const portal = await aPortal(medplum());
    interfering = ({ type }) => (type === 'batch' ? answer : undefined);
    await sampled(async () => {
      await appointments(portal, 80);
      await expect(asked(['open', 'rate'], portal, 0)).rejects.toThrow('could not be read');
    });
  });
});
