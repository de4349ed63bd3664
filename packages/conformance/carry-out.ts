import { setTimeout as wait } from 'node:timers/promises';
import { isNotification, type NotificationStep, type RequestStep, type Sender, type Step } from './check.ts';
import { type Client, entriesOf, isNamed, type KitResponse, nameOf } from './client.ts';
import type { Expectation } from './expectation.ts';
import type { Listener } from './listener.ts';
import { isObject, isResource } from './resource.ts';
import { type Data, fill, fillRequest } from './template.ts';

/** The clients of all senders, and the endpoint of a subscriber. */
export interface Actors extends Readonly<Record<Exclude<Sender, 'staff'>, Client>> {
  /** Staff access to the server with the clinic's resources, if the tester has it. */
  readonly staff?: Client;
  readonly listener?: Listener;
}

/** The outcome of a step. */
export interface Outcome {
  /** The request or the awaited notification, with placeholders filled in. */
  readonly sent: string;
  readonly answer: KitResponse;
  readonly failed: readonly Expectation[];
  /** Values for placeholders of later steps. */
  readonly kept: Data;
}

const PAUSE = 100;

const nothing: KitResponse = { status: 0, header: {}, text: 'nothing arrived', resource: undefined };

function failures(expected: readonly Expectation[], response: KitResponse, data: Data): readonly Expectation[] {
  return expected.filter((expectation) => !expectation.holds(response, data));
}

/** A search with a `_count` of three digits wants all matches, but a server may return smaller pages. */
const ASKS_FOR_ALL = /[?&]_count=\d{3}/;

const MAX_ENTRIES = 2_000;

/** Completes a response: reads all pages of a search, or the resource that was created without a representation. */
async function wholeOf({ status, text, resource }: KitResponse, target: string, actor: Client): Promise<unknown> {
  if (status === 201 && text === '' && isNamed(resource)) {
    return (await actor.send({ method: 'GET', path: `/${nameOf(resource)}` })).resource;
  }
  const next = isResource(resource, 'Bundle')
    ? resource.link?.find(({ relation }) => relation === 'next')?.url
    : undefined;
  if (!isResource(resource, 'Bundle') || next === undefined || !ASKS_FOR_ALL.test(target)) {
    return resource;
  }
  const rest = await entriesOf(actor, next, MAX_ENTRIES);
  return 'status' in rest ? resource : { ...resource, entry: [...(resource.entry ?? []), ...rest.entries] };
}

async function request(step: RequestStep, data: Data, actors: Actors): Promise<Outcome> {
  const { by = 'requestor', format, headers, body, keep, expect } = step;
  const actor = actors[by];
  const { method, path } = fillRequest(step.request, data);
  const sent = `${by === 'requestor' ? '' : `${by}: `}${method} ${path}`;
  if (!actor) {
    return { sent, answer: nothing, failed: expect, kept: {} };
  }
  const answered = await actor.send({
    method,
    path,
    ...(format && { format }),
    ...(headers && { headers }),
    ...(body !== undefined && { body: fill(body, data) }),
  });
  const answer = { ...answered, resource: await wholeOf(answered, path, actor) };
  const kept = { ...(isObject(answer.resource) && answer.resource), header: answer.header };
  return { sent, answer, failed: failures(expect, answer, data), kept: keep ? { [keep]: kept } : {} };
}

function notification({ notification: what, expect }: NotificationStep, data: Data, { listener }: Actors): Outcome {
  const tries = (listener?.received ?? []).map((resource) => {
    const response: KitResponse = { status: 200, header: {}, text: JSON.stringify(resource), resource };
    return { sent: `waits for ${what}`, answer: response, failed: failures(expect, response, data), kept: {} };
  });
  const closest = tries.sort((one, other) => one.failed.length - other.failed.length)[0];
  return closest ?? { sent: `waits for ${what}`, answer: nothing, failed: expect, kept: {} };
}

const once = async (step: Step, data: Data, actors: Actors): Promise<Outcome> =>
  isNotification(step) ? notification(step, data, actors) : request(step, data, actors);

/**
 * Carries out a step; repeats it up to `within` seconds until the expectations are met.
 *
 * @throws Error if the server cannot be reached, or a placeholder has no value
 */
export async function carryOut(step: Step, data: Data, actors: Actors): Promise<Outcome> {
  const end = performance.now() + (step.within ?? 0) * 1_000;
  for (;;) {
    const outcome = await once(step, data, actors);
    if (outcome.failed.length === 0 || performance.now() >= end) {
      return outcome;
    }
    await wait(PAUSE);
  }
}
