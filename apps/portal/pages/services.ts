import type { Extension } from '@medplum/fhirtypes';
import { type Html, html } from '../../../packages/web/html.ts';
import { type BookableService, hasWords } from '../clinic/services.ts';
import type { Reply, Visit } from '../http/visit.ts';

const MAX_NAMES = 4;

function namesOf({ schedules }: BookableService, { say, texts: { services } }: Visit): string {
  const names = [...new Set(schedules.map(({ name }) => name).filter((name) => name !== ''))];
  const left = names.length - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(' · ') + (left > 0 ? ` ${say(services.others, { number: left })}` : '');
}

/** The name of a payer kind: translated if the portal knows the code, else the clinic's display. */
function payerName({ texts }: Visit, { valueCoding = {} }: Extension): string {
  const { code = '', display } = valueCoding;
  const known: Readonly<Record<string, string>> = texts.payers.kinds;
  return (Object.hasOwn(known, code) ? known[code] : undefined) ?? display ?? code;
}

/** The choice of the payer kind, if the services differ by it. */
export function payerChoice(
  visit: Visit,
  payers: ReadonlyMap<string, Extension>,
  chosen: Extension | undefined,
  address: (code: string | undefined) => string,
): Html | false {
  const { title, any } = visit.texts.payers;
  const current = chosen?.valueCoding?.code;
  const link = (code: string | undefined, name: string): Html =>
    html`<li><a href="${address(code)}"${code === current && html` aria-current="true"`}>${name}</a></li>`;
  return (
    payers.size > 0 &&
    html`<nav aria-labelledby="payers-title" class="payers"><h2 id="payers-title">${title}</h2>
<ul>${link(undefined, any)}${[...payers].map(([code, payer]) => link(code, payerName(visit, payer)))}</ul></nav>`
  );
}

function payersNote(visit: Visit, { schedules }: BookableService): Html | false {
  const isForAll = schedules.some(({ payers }) => payers.length === 0);
  const names = new Set(schedules.flatMap(({ payers }) => payers.map((payer) => payerName(visit, payer))));
  return !isForAll && html`<span class="note">${new Intl.ListFormat(visit.texts.locale).format(names)}</span>`;
}

/** Maximum of listed services; the others are found by the search. */
const MAX_SERVICES = 40;

function serviceSearch({ texts, portal }: Visit, find: string, payer: string | undefined): Html {
  return html`<form action="${portal.options.path}/" class="from">${payer !== undefined && html`<input type="hidden" name="payer" value="${payer}">`}<label for="find">${texts.services.find}</label>
<input type="search" id="find" name="find" maxlength="100" value="${find}"> <button class="secondary">${texts.times.show}</button></form>`;
}

/** The first page: the bookable services, and the choice of the payer kind. */
export function servicesPage(
  visit: Visit,
  services: readonly BookableService[],
  payers: ReadonlyMap<string, Extension>,
): Reply {
  const { texts, say, portal } = visit;
  const { path } = portal.options;
  const { title, lead, none } = texts.services;
  const isMany = services.length > MAX_SERVICES;
  const find = isMany ? visit.query.get('find').slice(0, 100) : '';
  const found = services.filter(({ name, description = '', schedules }) =>
    hasWords([name, description, ...schedules.map((bookableSchedule) => bookableSchedule.name)].join(' '), find),
  );
  const left = found.length - MAX_SERVICES;
  const items = found.slice(0, MAX_SERVICES).map((service) => {
    const payer = service.payer?.valueCoding?.code;
    const query = new URLSearchParams({ service: service.key, ...(payer && { payer }) }).toString();
    const description = service.description ?? namesOf(service, visit);
    return html`<li><a href="${path}/times?${query}" class="card"><span class="name">${service.name || texts.appointment.title}</span>
${description !== service.name && description && html`<span class="note">${description}</span>`}${payersNote(visit, service)}</a></li>`;
  });
  const addressFor = (payer = ''): string => {
    const kept = new URLSearchParams(Object.entries({ find, payer }).filter(([, value]) => value)).toString();
    return `${path}/${kept && `?${kept}`}`;
  };
  const choice = payerChoice(visit, payers, services[0]?.payer, addressFor);
  const body = html`<p class="step">${say(texts.step, { step: 1, steps: 3 })}</p>
<h1>${title}</h1>
${services.length > 0 ? html`${choice}<p>${lead}</p>${isMany && serviceSearch(visit, find, services[0]?.payer?.valueCoding?.code)}<ul class="cards">${items}</ul>${left > 0 ? html`<p>${say(texts.services.others, { number: left })}</p>` : found.length === 0 && html`<p>${none}</p>`}` : html`<p>${none}</p>`}`;
  return { kind: 'page', title, body, isPublic: true };
}
