import { html } from '../../server/html.ts';
import type { BookableService } from '../clinic/services.ts';
import type { Reply, Visit } from '../http/visit.ts';

/** How many names a card has room for. */
const MOST_NAMES = 4;

function namesOf({ schedules }: BookableService, { say, texts: { services } }: Visit): string {
  const names = [...new Set(schedules.map(({ name }) => name).filter((name) => name !== ''))];
  const left = names.length - MOST_NAMES;
  return names.slice(0, MOST_NAMES).join(' · ') + (left > 0 ? ` ${say(services.others, { number: left })}` : '');
}

/** The first page: what can be booked. */
export function servicesPage(visit: Visit, services: readonly BookableService[]): Reply {
  const { texts, say, portal } = visit;
  const { path } = portal.options;
  const { title, lead, none } = texts.services;
  const items = services.map((service) => {
    const query = new URLSearchParams({ service: service.key }).toString();
    const description = service.description ?? namesOf(service, visit);
    return html`<li><a href="${path}/times?${query}" class="card"><span class="name">${service.name || texts.appointment.title}</span>
${description !== service.name && description && html`<span class="note">${description}</span>`}</a></li>`;
  });
  const body = html`<p class="step">${say(texts.step, { step: 1, steps: 3 })}</p>
<h1>${title}</h1>
${services.length > 0 ? html`<p>${lead}</p><ul class="cards">${items}</ul>` : html`<p>${none}</p>`}`;
  return { kind: 'page', title, body, isPublic: true };
}
