import { isRefusal } from '../fhir/client.ts';
import type { PageHandler, Reply, Visit } from '../http/visit.ts';
import { failurePage } from '../pages/failure.ts';
import { linkPage } from '../pages/link.ts';
import { isEmpty, noSession, openLink, withMore } from '../session/session.ts';
import { isLanguage } from '../texts/texts.ts';
import { ownAppointments, search } from './appointments.ts';

const listOf = ({ portal }: Visit): string => `${portal.options.path}/appointments`;

async function linked({ portal, texts }: Visit, text: string): Promise<readonly string[] | Reply> {
  const found = await openLink(portal.seal, text);
  return typeof found === 'string'
    ? failurePage({ portal, texts }, found === 'expired' ? 'linkExpired' : 'linkInvalid')
    : found;
}

/**
 * `GET /link`: opens a session from a personal link and removes the secret from the address. If the session already has
 * other appointments, the visitor is asked before they are combined.
 */
export const showLink: PageHandler = async (visit) => {
  const { portal, query, session } = visit;
  const text = query.get('t') || visit.link;
  const appointments = await linked(visit, text);
  if ('kind' in appointments) {
    return { ...appointments, link: null };
  }
  if (isEmpty(session) || appointments.every((id) => session.appointments.includes(id))) {
    return { kind: 'redirect', to: listOf(visit), session: withMore(session, { appointments }), link: null };
  }
  if (query.get('t') !== '') {
    return { kind: 'redirect', to: `${portal.options.path}/link`, link: text };
  }
  const own = { ...noSession, appointments };
  const [ofLink, here] = await Promise.all([
    search({ portal, session: own }, { _id: appointments.join(',') }),
    ownAppointments(visit),
  ]);
  return isRefusal(ofLink) || isRefusal(here)
    ? failurePage(visit, 'unavailable')
    : linkPage(
        visit,
        ofLink.map(({ view }) => view),
        here,
      );
};

/** `POST /link`: the visitor's decision. The secret of the link is in a cookie, so that no other page can submit it. */
export const openLinkHere: PageHandler = async (visit) => {
  const appointments = await linked(visit, visit.link);
  if ('kind' in appointments) {
    return { ...appointments, link: null };
  }
  const choice = visit.form.get('show');
  const session =
    choice === 'both'
      ? { session: withMore(visit.session, { appointments }) }
      : choice === 'only' && { session: withMore(noSession, { appointments }), draft: null };
  return { kind: 'redirect', to: listOf(visit), link: null, ...session };
};

/** `POST /leave`: removes the session from the device. */
export const leave: PageHandler = async ({ portal }) => ({
  kind: 'redirect',
  to: `${portal.options.path}/appointments?left=1`,
  session: null,
  draft: null,
  link: null,
  isForgotten: true,
});

/** `POST /language`: switches the language and redirects back to the page. */
export const switchLanguage: PageHandler = async ({ portal, form }) => {
  const [language, back] = [form.get('language'), form.get('back')];
  const { origin, path } = portal.options;
  // No open redirect: the target must be a page of the portal.
  const target = URL.canParse(back, origin) ? new URL(back, origin) : undefined;
  const isOwn =
    target?.origin === new URL(origin).origin && (target.pathname === path || target.pathname.startsWith(`${path}/`));
  const to = isOwn ? `${target.pathname}${target.search}` : `${path}/`;
  return { kind: 'redirect', to, ...(isLanguage(language) && { language }) };
};
