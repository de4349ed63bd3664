import type { PageHandler, Visit } from '../http/visit.ts';
import { failurePage } from '../pages/failure.ts';
import * as appointments from './appointments.ts';
import { sendDetails } from './booking.ts';
import { showDetails } from './details.ts';
import { holdTime } from './hold.ts';
import { leave, openLinkHere, showLink, switchLanguage } from './links.ts';
import { askMessageMove, moveByMessage, replyToMessage, showMessage } from './message.ts';
import { showSlot } from './slot.ts';
import { showColour, showEmbedScript, showPicture, showServices, showTimes } from './times.ts';
import { showUpdates } from './updates.ts';
import { joinWaitlist, showWait } from './wait.ts';

interface PortalRoute {
  readonly method: 'GET' | 'POST';
  /** Relative to `PortalOptions.path`. */
  readonly path: string;
  readonly handler: PageHandler;
  /** Whether the response needs no request to the clinic's service. Such routes have a limit of their own. */
  readonly isCheap?: boolean;
}

/** GET of a route for forms: a reload or a switch of the language redirects to a page. */
const leadTo =
  (page: (visit: Visit) => string): PageHandler =>
  async (visit) => ({ kind: 'redirect', to: `${visit.portal.options.path}${page(visit)}` });

export const portalRoutes: readonly PortalRoute[] = [
  { method: 'GET', path: '/', handler: showServices },
  { method: 'GET', path: '/times', handler: showTimes },
  { method: 'GET', path: '/pictures/Practitioner/:id', handler: showPicture('Practitioner'), isCheap: true },
  { method: 'GET', path: '/pictures/Organization/:id', handler: showPicture('Organization'), isCheap: true },
  { method: 'GET', path: '/colour.css', handler: showColour, isCheap: true },
  { method: 'GET', path: '/embed.js', handler: showEmbedScript, isCheap: true },
  { method: 'GET', path: '/slots/:id', handler: showSlot },
  {
    method: 'GET',
    path: '/hold',
    handler: leadTo(
      ({ query }) => `/times?${new URLSearchParams({ service: query.get('service'), payer: query.get('payer') })}`,
    ),
  },
  { method: 'POST', path: '/hold', handler: holdTime },
  { method: 'GET', path: '/details', handler: showDetails },
  { method: 'POST', path: '/details', handler: sendDetails },
  { method: 'GET', path: '/appointments', handler: appointments.showAppointments },
  { method: 'GET', path: '/appointments/:id', handler: appointments.showAppointment },
  { method: 'GET', path: '/appointments/:id/state', handler: appointments.showState },
  { method: 'GET', path: '/appointments/:id/updates', handler: showUpdates, isCheap: true },
  { method: 'GET', path: '/appointments/:id/calendar.ics', handler: appointments.showCalendarFile },
  { method: 'GET', path: '/appointments/:id/cancel', handler: appointments.askCancel },
  { method: 'POST', path: '/appointments/:id/cancel', handler: appointments.cancel },
  { method: 'GET', path: '/appointments/:id/move', handler: appointments.askMove },
  { method: 'POST', path: '/appointments/:id/move', handler: appointments.move },
  {
    method: 'GET',
    path: '/appointments/:id/accept',
    handler: leadTo(({ id }) => `/appointments/${encodeURIComponent(id)}`),
  },
  { method: 'POST', path: '/appointments/:id/accept', handler: appointments.accept },
  { method: 'GET', path: '/wait', handler: showWait },
  { method: 'POST', path: '/wait', handler: joinWaitlist },
  { method: 'GET', path: '/link', handler: showLink },
  { method: 'POST', path: '/link', handler: openLinkHere },
  { method: 'GET', path: '/message/:id', handler: showMessage },
  { method: 'POST', path: '/message/:id', handler: replyToMessage },
  { method: 'GET', path: '/message/:id/move', handler: askMessageMove },
  { method: 'POST', path: '/message/:id/move', handler: moveByMessage },
  { method: 'GET', path: '/leave', handler: appointments.askLeave },
  { method: 'POST', path: '/leave', handler: leave },
  { method: 'GET', path: '/language', handler: leadTo(() => '/') },
  { method: 'POST', path: '/language', handler: switchLanguage },
  { method: 'GET', path: '/*', handler: async (visit) => failurePage(visit, 'notFound') },
];
