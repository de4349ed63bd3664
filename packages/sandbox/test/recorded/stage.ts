import { randomBytes } from 'node:crypto';
import type { AccessPolicyResource, Bot, ProjectMembershipAccess } from '@medplum/fhirtypes';
import { z } from 'zod';
import { scaled } from '../../../../test/lib/time-scale.ts';
import { until } from '../../../../test/lib/until.ts';
import { createScrubber, type Scrubber } from './scrub.ts';

/** A server to play scenarios on, and the credentials of an administrator of a project that holds nothing else. */
export interface Target {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A request and its answer, without anything that another run would have otherwise. */
export interface Exchange {
  /** Method and path; without a slash at its beginning the path is below `fhir/R4/`. */
  readonly request: string;
  /** Who sends it, if it is not the administrator. */
  readonly as?: string;
  readonly sent?: unknown;
  readonly headers?: unknown;
  readonly answer: unknown;
}

const resourceShape = z.looseObject({
  resourceType: z.string(),
  id: z.string(),
  meta: z.looseObject({ versionId: z.string() }),
});

/** A stored resource as a scenario goes on with it. */
export type Stored = z.infer<typeof resourceShape>;

/** What a server answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
  /** The resource in the body. @throws Error if it is none that is stored */
  readonly resource: Stored;
  readonly id: string;
  /** `ETag` of the resource. */
  readonly etag: string;
}

/** Sends a request as one member of the project: `send('PUT Slot/…', body, headers)`. A string is sent as it is. */
type Send = (request: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<Answer>;

/** A member of the project whose requests are recorded. */
export interface Member {
  readonly send: Send;
  /** Sends a GET until the answer is as it shall be, and records the last one. */
  until(path: string, isThere: (body: string) => boolean): Promise<Answer>;
  /** Id of its ClientApplication. */
  readonly id: string;
  readonly secret: string;
  readonly token: string;
}

/** What a scenario acts with. What it sets up by `member` and `bot` is not recorded. */
export interface Stage {
  readonly baseUrl: string;
  readonly projectId: string;
  readonly admin: Member;
  /** Whoever sends no credentials. */
  readonly nobody: Member;
  /** A word that no other run uses, for identifiers and codes. */
  readonly unique: string;
  /** Makes a client with an access policy of its own. */
  member(
    name: string,
    resource: readonly AccessPolicyResource[],
    parameters?: NonNullable<ProjectMembershipAccess['parameter']>,
  ): Promise<Member>;
  /** Makes a Bot that runs the code; returns its id. */
  bot(code: string, fields?: Partial<Bot>): Promise<string>;
  /** Records what is no answer to a request. */
  note(request: string, answer: unknown): void;
}

/** The headers that the project, or a client of Medplum, may rely on. */
const compared = ['content-type', 'etag', 'last-modified', 'location', 'content-location', 'www-authenticate'] as const;

/** Not all that Medplum says is JSON is JSON. */
function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const body = bodyOf(text);
  const resource = (): Stored => {
    const parsed = resourceShape.safeParse(body);
    if (!parsed.success) {
      throw new Error(`No resource in the answer ${response.status} ${text}`);
    }
    return parsed.data;
  };
  return {
    status: response.status,
    headers: response.headers,
    body,
    get resource() {
      return resource();
    },
    get id() {
      return resource().id;
    },
    get etag() {
      return `W/"${resource().meta.versionId}"`;
    },
  };
}

type Ask = (request: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<Answer>;

/** Makes the function that sends requests with a token, or without one. */
export function asker(baseUrl: string, token: string | undefined): Ask {
  return async (request, body, headers = {}) => {
    const [method = '', path = ''] = request.split(/ (.*)/s);
    const url = new URL(path, path.startsWith('/') ? baseUrl : `${baseUrl}fhir/R4/`);
    const all = {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/fhir+json' }),
      ...headers,
    };
    const init = { method, headers: all, redirect: 'manual' as const, signal: AbortSignal.timeout(scaled(10_000)) };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return readAnswer(await fetch(url, body === undefined ? init : { ...init, body: text }));
  };
}

function expectOk(response: Answer, what: string): Answer {
  if (response.status >= 300) {
    throw new Error(`${what} failed: ${response.status} ${JSON.stringify(response.body)}`);
  }
  return response;
}

const tokenShape = z.object({ access_token: z.string() });
const meShape = z.object({
  project: z.object({ id: z.string(), name: z.string() }),
  profile: z.object({ name: z.string() }),
});
const clientShape = z.object({ id: z.string(), secret: z.string() });
const membershipsShape = z.object({ entry: z.tuple([z.object({ resource: resourceShape })]) });

/** Gets a token by client credentials. */
export async function logIn({ baseUrl, clientId, clientSecret }: Target): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const response = await asker(baseUrl, undefined)('POST /oauth2/token', new URLSearchParams(form).toString(), headers);
  return tokenShape.parse(expectOk(response, 'Logging in').body).access_token;
}

/** How the names of the Bots begin that scenarios leave behind. */
export const BOT_NAME = 'Scenario';

/**
 * Makes the stage for one run of a scenario.
 *
 * @returns the stage, and what is recorded on it
 */
export async function openStage(target: Target): Promise<{ stage: Stage; exchanges: Exchange[] }> {
  const { baseUrl } = target;
  const exchanges: Exchange[] = [];
  const adminToken = await logIn(target);
  const setUp = asker(baseUrl, adminToken);
  const me = meShape.parse(expectOk(await setUp('GET /auth/me'), 'Asking who the administrator is').body);
  const projectId = me.project.id;
  const unique = `u${randomBytes(6).toString('hex')}`;
  const scrubber: Scrubber = createScrubber({
    [baseUrl]: '<base>/',
    [baseUrl.slice(0, -1)]: '<base>',
    [encodeURIComponent(baseUrl)]: '<base>/',
    [baseUrl.replace(/^http/, 'ws')]: '<websocket base>/',
    [unique]: '<unique>',
    [projectId]: '<project>',
    [target.clientId]: '<administrator>',
    [me.project.name]: '<project name>',
    [me.profile.name]: '<administrator name>',
  });

  function record(name: string, request: string, sent: unknown, headers: unknown, response: Answer): void {
    const shown = Object.fromEntries(
      compared.flatMap((header) => {
        const value = response.headers.get(header);
        return value === null ? [] : [[header, value]];
      }),
    );
    scrubber.learn([shown, response.body]);
    exchanges.push({
      request: String(scrubber.scrub(request)),
      ...(name !== 'admin' && { as: name }),
      ...(sent !== undefined && { sent: scrubber.scrub(sent) }),
      ...(headers !== undefined && { headers: scrubber.scrub(headers) }),
      answer: scrubber.scrub({ status: response.status, headers: shown, body: response.body }),
    });
  }

  function memberOf(name: string, id: string, secret: string, token: string | undefined): Member {
    const ask = asker(baseUrl, token);
    return {
      id,
      secret,
      token: token ?? '',
      async send(request, body, headers) {
        const response = await ask(request, body, headers);
        record(name, request, body, headers, response);
        return response;
      },
      async until(path, isThere) {
        const response = await until(
          () => ask(`GET ${path}`),
          ({ body }) => isThere(JSON.stringify(body)),
        );
        record(name, `GET ${path}`, undefined, undefined, response);
        return response;
      },
    };
  }

  async function giveParameters(profile: string, parameter: NonNullable<ProjectMembershipAccess['parameter']>) {
    const found = await setUp(`GET ProjectMembership?profile=${profile}`);
    const [
      {
        resource: { accessPolicy, ...membership },
      },
    ] = membershipsShape.parse(found.body).entry;
    const access = [{ policy: accessPolicy, parameter }];
    expectOk(await setUp(`PUT ProjectMembership/${membership.id}`, { ...membership, access }), 'Giving parameters');
  }

  const stage: Stage = {
    baseUrl,
    projectId,
    unique,
    admin: memberOf('admin', target.clientId, target.clientSecret, adminToken),
    nobody: memberOf('nobody', '', '', undefined),
    async member(name, resource, parameters) {
      const policy = expectOk(await setUp('POST AccessPolicy', { resourceType: 'AccessPolicy', name, resource }), name);
      const body = { name, accessPolicy: { reference: `AccessPolicy/${policy.id}` } };
      const made = expectOk(await setUp(`POST /admin/projects/${projectId}/client`, body), name);
      scrubber.learn([policy.body, made.body]);
      const { id, secret } = clientShape.parse(made.body);
      if (parameters) {
        await giveParameters(`ClientApplication/${id}`, parameters);
      }
      return memberOf(name, id, secret, await logIn({ baseUrl, clientId: id, clientSecret: secret }));
    },
    async bot(code, fields = {}) {
      const body = { name: BOT_NAME, runtimeVersion: 'vmcontext' };
      const made = expectOk(await setUp(`POST /admin/projects/${projectId}/bot`, body), 'Making a Bot');
      expectOk(await setUp(`POST Bot/${made.id}/$deploy`, { code, filename: 'index.js' }), 'Deploying a Bot');
      const { resource } = await setUp(`GET Bot/${made.id}`);
      const settings = { auditEventDestination: ['log'], ...fields };
      expectOk(await setUp(`PUT Bot/${made.id}`, { ...resource, ...settings }), 'Setting a Bot up');
      scrubber.learn(made.body);
      return made.id;
    },
    note(request, answer) {
      scrubber.learn(answer);
      exchanges.push({ request: String(scrubber.scrub(request)), answer: scrubber.scrub(answer) });
    },
  };
  return { stage, exchanges };
}
