import type { FastifyRequest } from 'fastify';
import { isObject } from '../../../core/fhir/resource.ts';
import { addressGroups } from '../../../packages/web/address-group.ts';
import type { Html } from '../../../packages/web/html.ts';
import { preferredLanguage } from '../../../packages/web/language.ts';
import { type Clock, clockOf } from '../clinic/clock.ts';
import type { Portal } from '../portal.ts';
import { openSession, type Session } from '../session/session.ts';
import type { Visitor } from '../session/visitor-quotas.ts';
import { isLanguage, type Language, languages, type Say, sayIn, type Texts, textsOf } from '../texts/texts.ts';
import { type FormValues, formValues } from '../visit/form.ts';

/** A page request of a visitor. */
export interface Visit {
  readonly portal: Portal;
  readonly texts: Texts;
  readonly say: Say;
  readonly clock: Clock;
  readonly session: Session;
  /** Time of the request, in milliseconds since 1970 UTC. Resources that the request reads are not older. */
  readonly at: number;
  /** Path and query. */
  readonly url: string;
  readonly query: FormValues;
  readonly form: FormValues;
  readonly id: string;
  /** The form as it was filled in before another time was chosen. */
  readonly draft: FormValues | undefined;
  /** The sealed part of an opened link that waits for a decision. */
  readonly link: string;
  /** The client's address, for rate limits and quotas. */
  readonly visitor: Visitor;
  /** Whether a site of the clinic shows the page in a frame. */
  readonly isEmbedded: boolean;
  /** Whether a script of the page sent the request: the response has no page around it. */
  readonly isScript: boolean;
}

export const cookies = {
  session: 'portal_session',
  language: 'portal_language',
  draft: 'portal_draft',
  link: 'portal_link',
} as const;

const MAX_KEPT = 2_500;

/** Whether a form is short enough for a cookie. */
export const isKept = ({ text }: FormValues): boolean => text.length <= MAX_KEPT;

/** Changes of the visitor's cookies; `null` removes one. */
export interface Changes {
  readonly session?: Session | null;
  readonly draft?: FormValues | null;
  readonly link?: string | null;
  readonly language?: Language;
  /** Whether the browser must clear its cache. */
  readonly isForgotten?: boolean;
}

/** A response of the portal: a page, a redirect, a part of a page or data for a script, or a file. */
export type Reply = Changes &
  (
    | {
        readonly kind: 'page';
        readonly title: string;
        readonly body: Html;
        readonly status?: number;
        readonly isProblem?: boolean;
        /** The id of the form with the visitor's input: switching the language submits it. */
        readonly form?: string;
        /** Whether the page contains no personal data. Only such a page is compressed. */
        readonly isPublic?: boolean;
      }
    | { readonly kind: 'redirect'; readonly to: string }
    /** Content that is the same for everybody, at a URL that changes with the content. */
    | { readonly kind: 'asset'; readonly mediaType: string; readonly content: Buffer | string }
    | { readonly kind: 'embed'; readonly script: string }
    | { readonly kind: 'part'; readonly body: Html }
    | { readonly kind: 'data'; readonly data: Readonly<Record<string, string | boolean>> }
    | { readonly kind: 'file'; readonly name: string; readonly mediaType: string; readonly text: string }
  );

export type PageHandler = (visit: Visit) => Promise<Reply>;

function languageOf({ cookies: sent, headers }: FastifyRequest): Language {
  const chosen = sent[cookies.language];
  return chosen !== undefined && isLanguage(chosen)
    ? chosen
    : (preferredLanguage(headers['accept-language'], languages) ?? 'en');
}

async function draftOf(
  { seal }: Portal,
  { browser }: Session,
  sealed: string | undefined,
): Promise<FormValues | undefined> {
  const content = sealed === undefined ? 'invalid' : await seal.open('draft', sealed);
  const isOwn = typeof content !== 'string' && content.browser === browser && typeof content.form === 'string';
  return isOwn ? formValues(content.form) : undefined;
}

/** Parses a request for the page handlers. */
export async function visitOf(portal: Portal, request: FastifyRequest): Promise<Visit> {
  const { params, url, body } = request;
  const texts = textsOf[languageOf(request)];
  const session = portal.sessions.whole(await openSession(portal.seal, request.cookies[cookies.session]));
  const [, query = ''] = url.split('?', 2);
  return {
    portal: { ...portal, services: (key) => portal.services(key, texts.language) },
    texts,
    say: sayIn(texts.locale),
    clock: clockOf(portal.options.timeZone, texts.locale),
    at: portal.now(),
    session,
    url,
    query: formValues(query),
    form: formValues(body),
    id: isObject(params) && typeof params.id === 'string' ? params.id : '',
    draft: await draftOf(portal, session, request.cookies[cookies.draft]),
    link: request.cookies[cookies.link] ?? '',
    visitor: addressGroups(request.ip),
    isEmbedded: (portal.options.embeddedIn ?? []).length > 0 && request.headers['sec-fetch-dest'] === 'iframe',
    isScript: request.headers.accept?.startsWith('application/json') ?? false,
  };
}
