import { type Content, type Html, html, icon } from '../../../packages/web/html.ts';
import type { Visit } from '../http/visit.ts';
import type { Portal } from '../portal.ts';
import { isEmpty } from '../session/session.ts';
import { languages, textsOf } from '../texts/texts.ts';
import { mapLink } from './appointment.ts';

type ShownClinic = Awaited<ReturnType<Portal['clinic']>>;

interface Frame {
  readonly title: string;
  readonly body: Html;
  /** Whether the window title begins with "Error". */
  readonly isProblem?: boolean;
  /** The id of the form that switching the language submits, so that the input is kept. */
  readonly form?: string;
}

/** Whether the browser stores personal data: appointments or a draft. */
const hasSomething = ({ session, draft }: Visit): boolean => !isEmpty(session) || draft !== undefined;

function navigation({ portal: { options }, texts, url }: Visit): Html {
  const { path } = options;
  const current = (isHere: boolean): Content => isHere && html` aria-current="page"`;
  const isMine = url.startsWith(`${path}/appointments`);
  const isStart = url.split('?')[0]?.replace(/\/$/, '') === path;
  return html`<nav aria-label="${texts.navigation}"><ul>
<li><a href="${path}/"${current(isStart)}>${texts.book}</a></li>
<li><a href="${path}/appointments"${current(isMine)}>${texts.mine}</a></li>
</ul></nav>`;
}

const globe = html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M1 8h14M8 1a7 7 0 1 0 0 14A7 7 0 1 0 8 1c-4 4-4 10 0 14 4-4 4-10 0-14"/></svg>`;

/** The URL of the page. For the response to a form, the chosen time is added. */
function addressOf({ url, form }: Visit): string {
  const chosen = ['service', 'payer', 'time'].map((name) => [name, form.get(name)]);
  return form.get('time') === '' || url.includes('?') ? url : `${url}?${new URLSearchParams(chosen).toString()}`;
}

/** Languages are buttons, so that the input is submitted with the choice. */
function languageSwitch(visit: Visit, form: string | undefined): Html {
  const { portal, texts } = visit;
  const attributes = form === undefined ? html` name="language"` : html` form="${form}" name="action" formnovalidate`;
  const buttons = languages
    .filter((language) => language !== texts.language)
    .map(
      (language) =>
        html`<li><button${attributes} value="${language}" lang="${language}" class="quiet">${textsOf[language].languageName}</button></li>`,
    );
  // The Enter key presses the first button of a form, which must be the normal submit.
  return html`<details class="language"><summary aria-label="${texts.languages}: ${texts.languageName}">${globe}${texts.languageName}</summary>
${
  form === undefined
    ? html`<form method="post" action="${portal.options.path}/language"><input type="hidden" name="back" value="${addressOf(visit)}"><ul>${buttons}</ul></form>`
    : html`<button form="${form}" class="first" tabindex="-1" aria-hidden="true"></button><ul>${buttons}</ul>`
}</details>`;
}

export const phoneLine = ({ texts }: Visit, phone: string | undefined): Html | undefined =>
  phone === undefined
    ? undefined
    : html`<p>${texts.call} <bdi dir="ltr"><a href="tel:${phone.replace(/[^\d+]/g, '')}">${phone}</a></bdi></p>`;

/** A link out of the frame, because browsers may block its cookies. It opens in a new tab. */
function ownTab({ isEmbedded, portal, texts, url }: Visit): Html | false {
  const { path } = portal.options;
  const to = /^[^?]*\/(times|appointments)?(\?|$)/.test(url) ? url : `${path}/`;
  return isEmbedded && html`<p><a href="${to}" target="_blank" rel="noopener">${texts.ownTab}</a></p>`;
}

function footer(visit: Visit, { name, phone, address, map, imprint, privacy }: ShownClinic): Html {
  const { portal, texts, say, clock } = visit;
  const { path, timeZone } = portal.options;
  const target = visit.isEmbedded && html` target="_blank" rel="noopener"`;
  return html`<footer>
${ownTab(visit)}
${address && html`<p>${name}, ${address}${mapLink(visit, map)}</p>`}
${phoneLine(visit, phone)}
<p class="zone" data-zone="${timeZone}">${say(texts.zone, { zone: timeZone, name: clock.zoneName(portal.now()) })}</p>
${(imprint || privacy) && html`<p>${imprint && html`<a href="${imprint}"${target}>${texts.imprint}</a>`} ${privacy && html`<a href="${privacy}"${target}>${texts.privacy}</a>`}</p>`}
${hasSomething(visit) && html`<p><a href="${path}/leave">${isEmpty(visit.session) ? texts.leave.forget : texts.leave.title}</a></p>`}
</footer>`;
}

/** Renders a whole page. */
export function layout(visit: Visit, { title, body, isProblem, form }: Frame, clinic: ShownClinic): string {
  const { portal, texts } = visit;
  const { path, assets } = portal.options;
  const { id, name, logo, colour } = clinic;
  const { script, style } = assets.page();
  return html`<!doctype html>
<html lang="${texts.language}" dir="${texts.direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${icon}
<title>${isProblem && `${texts.error}: `}${title} – ${name}</title>
${style && html`<link rel="stylesheet" href="${path}/assets/${style}">`}
${colour && html`<link rel="stylesheet" href="${path}/colour.css?c=${colour}">`}
<script type="module" src="${path}/assets/${script}"></script>
</head>
<body${visit.isEmbedded && html` data-sites="${(portal.options.embeddedIn ?? []).join(' ')}"`}>
<a class="skip" href="#content">${texts.skip}</a>
<header>
<p class="clinic"><a href="${path}/">${logo && html`<img src="${path}/pictures/Organization/${id}?v=${logo.version}" height="40" alt=""> `}${name}</a></p>
${navigation(visit)}
${languageSwitch(visit, form)}
</header>
<main id="content" tabindex="-1">
${body}
</main>
${footer(visit, clinic)}
</body>
</html>`.text;
}
