import { isLanguage } from '../../server/language.ts';
import type { PageHandler } from '../http/visit.ts';
import { failurePage } from '../pages/failure.ts';
import { joined, sessionIn } from '../session/session.ts';

/** `GET /link`: a personal link opens a session, and its secret leaves the address. */
export const openLink: PageHandler = async (visit) => {
  const { portal, query, session } = visit;
  const content = await portal.seal.open('link', query.get('t'));
  if (typeof content === 'string') {
    return failurePage(visit, content === 'expired' ? 'linkExpired' : 'linkInvalid');
  }
  return { kind: 'redirect', to: `${portal.options.path}/appointments`, session: joined(session, sessionIn(content)) };
};

/** `POST /leave`: forgets the session on this device. */
export const leave: PageHandler = async ({ portal }) => ({
  kind: 'redirect',
  to: `${portal.options.path}/appointments?left=1`,
  session: null,
  draft: null,
});

/** `POST /language`: the language of the pages from now on, and back to the same page. */
export const switchLanguage: PageHandler = async ({ portal, form }) => {
  const [language, back] = [form.get('language'), form.get('back')];
  const { origin, path } = portal.options;
  // Only a page of the portal: a forged address must not lead elsewhere.
  const target = URL.canParse(back, origin) ? new URL(back, origin) : undefined;
  const isOwn =
    target?.origin === new URL(origin).origin && (target.pathname === path || target.pathname.startsWith(`${path}/`));
  const to = isOwn ? `${target.pathname}${target.search}` : `${path}/`;
  return { kind: 'redirect', to, ...(isLanguage(language) && { language }) };
};
