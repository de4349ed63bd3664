import type { PageHandler } from '../http/visit.ts';
import { failurePage } from '../pages/failure.ts';
import * as appointments from './appointments.ts';
import { sendDetails } from './booking.ts';
import { showDetails } from './details.ts';
import { holdTime } from './hold.ts';
import { leave, openLink, switchLanguage } from './links.ts';
import { showNews } from './news.ts';
import { showServices, showTimes } from './times.ts';

/** One address of the portal. */
export interface PortalRoute {
  readonly method: 'GET' | 'POST';
  /** Below the portal's folder. */
  readonly path: string;
  readonly handler: PageHandler;
  /**
   * The limit for one address in a minute, where it differs from that of the other pages: `changes` changes something at the
   * clinic, or can hold a time; `news` asks the portal alone.
   */
  readonly limit?: 'changes' | 'news';
}

/** All addresses of the portal. */
export const portalRoutes: readonly PortalRoute[] = [
  { method: 'GET', path: '/', handler: showServices },
  { method: 'GET', path: '/times', handler: showTimes },
  { method: 'POST', path: '/hold', handler: holdTime, limit: 'changes' },
  { method: 'GET', path: '/details', handler: showDetails },
  { method: 'POST', path: '/details', handler: sendDetails, limit: 'changes' },
  { method: 'GET', path: '/appointments', handler: appointments.showAppointments },
  { method: 'GET', path: '/appointments/:id', handler: appointments.showAppointment },
  { method: 'GET', path: '/appointments/:id/state', handler: appointments.showState },
  { method: 'GET', path: '/appointments/:id/news', handler: showNews, limit: 'news' },
  { method: 'GET', path: '/appointments/:id/calendar.ics', handler: appointments.showCalendarFile },
  { method: 'GET', path: '/appointments/:id/cancel', handler: appointments.askCancel },
  { method: 'POST', path: '/appointments/:id/cancel', handler: appointments.cancel, limit: 'changes' },
  { method: 'GET', path: '/appointments/:id/move', handler: appointments.askMove },
  { method: 'POST', path: '/appointments/:id/move', handler: appointments.move, limit: 'changes' },
  { method: 'GET', path: '/link', handler: openLink },
  { method: 'POST', path: '/leave', handler: leave },
  { method: 'POST', path: '/language', handler: switchLanguage },
  { method: 'GET', path: '/*', handler: async (visit) => failurePage(visit, 'notFound') },
];
