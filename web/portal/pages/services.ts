import { html } from '../../server/html.ts';
import type { BookableService } from '../clinic/services.ts';
import type { Reply, Visit } from '../http/visit.ts';

/** How many names a card has room for. */
const MOST_NAMES = 4;

function namesOf({ schedules }: BookableService, { services }: Visit['texts']): string {
  const names = [...new Set(schedules.map(({ name }) => name).filter((name) => name !== ''))];
  const left = names.length - MOST_NAMES;
  return names.slice(0, MOST_NAMES).join(' · ') + (left > 0 ? ` ${services.others(left)}` : '');
}

/** The first page: what can be booked. */
export function servicesPage({ texts, portal }: Visit, services: readonly BookableService[]): Reply {
  const { path } = portal.options;
  const { title, lead, none } = texts.services;
  const items = services.map((service) => {
    const query = new URLSearchParams({ service: service.key }).toString();
    const description = service.description ?? namesOf(service, texts);
    return html`<li><a href="${path}/times?${query}" class="card"><span class="name">${service.name || texts.appointment.title}</span>
${description !== service.name && description && html`<span class="note">${description}</span>`}</a></li>`;
  });
  const body = html`<p class="step">${texts.step(1)}</p>
<h1>${title}</h1>
${services.length > 0 ? html`<p>${lead}</p><ul class="cards">${items}</ul>` : html`<p>${none}</p>`}`;
  return { kind: 'page', title, body, isPublic: true };
}
