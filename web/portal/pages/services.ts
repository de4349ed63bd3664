import { html } from '../../server/html.ts';
import type { BookableService } from '../clinic/services.ts';
import type { Reply, Visit } from '../http/visit.ts';

const namesOf = ({ schedules }: BookableService): string =>
  [...new Set(schedules.map(({ name }) => name).filter((name) => name !== ''))].slice(0, 4).join(' · ');

/** The first page: what can be booked. */
export function servicesPage({ texts, portal }: Visit, services: readonly BookableService[]): Reply {
  const { path } = portal.options;
  const { title, lead, none } = texts.services;
  const items = services.map((service) => {
    const query = new URLSearchParams({ service: service.key }).toString();
    const description = service.description ?? namesOf(service);
    return html`<li><a href="${path}/times?${query}" class="card"><span class="name">${service.name || texts.appointment.title}</span>
${description !== service.name && description && html`<span class="note">${description}</span>`}</a></li>`;
  });
  const body = html`<p class="step">${texts.step(1)}</p>
<h1>${title}</h1>
${services.length > 0 ? html`<p>${lead}</p><ul class="cards">${items}</ul>` : html`<p>${none}</p>`}`;
  return { kind: 'page', title, body, isPublic: true };
}
