import type { Appointment } from '@medplum/fhirtypes';
import { drawOf } from '../clinic/services.ts';
import { isRefusal, type Refusal, resourcesIn } from '../fhir/client.ts';
import type { PageHandler, Visit } from '../http/visit.ts';
import { noSessionPage } from '../pages/appointments.ts';
import { drawPage } from '../pages/draw.ts';
import { failureOf, failurePage } from '../pages/failure.ts';
import { LINK_AFTER, sealLink, withMore } from '../session/session.ts';
import { openPending, type Pending, sealPending } from '../visit/pending.ts';
import { reasonOf } from './refusals.ts';
import { identifierOf, serviceOf } from './under-way.ts';

/** The statuses of answers about a job: not yet known, or not booked. */
const aboutBooking: readonly number[] = [202, 409, 412, 422];

/** The address of a time that was asked for: a link if it names no browser, else it is worth nothing in another one. */
export async function drawAddress({ portal }: Visit, asked: Pending): Promise<string> {
  const sealed = await sealPending(portal.seal, asked, portal.now(), 'draw');
  return `${portal.options.path}/draw?${new URLSearchParams({ a: sealed }).toString()}`;
}

/** What has become of what was asked for. A job that was cleared away since is known by its appointment. */
async function becameOf({ portal }: Visit, { hold: job, key }: Pending): Promise<Appointment | Refusal> {
  const answer = await portal.service.asked(job);
  if (!isRefusal(answer) || answer.status !== 404) {
    return answer;
  }
  const { system, value } = identifierOf(portal, key);
  const found = await portal.service.search('Appointment', { identifier: `${system}|${value}`, _count: '1' });
  return isRefusal(found) ? found : (resourcesIn(found, 'Appointment')[0] ?? answer);
}

/** `GET /draw`: what has become of a time that was asked for. The script of the page asks when to look again. */
export const showDraw: PageHandler = async (visit) => {
  const { portal, query } = visit;
  const { path, origin } = portal.options;
  const asked = await openPending(portal.seal, query.get('a'), 'draw');
  const service = asked && (await serviceOf(visit, asked.service, asked.payer));
  if (!asked || !service) {
    return failurePage(visit, 'linkInvalid');
  }
  if (isRefusal(service)) {
    return failurePage(visit, 'unavailable');
  }
  const { time, key } = asked;
  const session = withMore(visit.session);
  const byLink = `link ${session.browser}`;
  if (asked.browser === '') {
    // The secret of a link leaves the address. What becomes of it joins no other appointments unless the visitor says so.
    return { kind: 'redirect', to: await drawAddress(visit, { ...asked, browser: byLink }), session };
  }
  if (![session.browser, byLink].includes(asked.browser)) {
    return visit.isScript ? failurePage(visit, 'notFound') : noSessionPage(visit, false);
  }
  if (visit.isScript) {
    const isOpen = drawOf(service, time.schedule, portal.now()) !== undefined;
    return { kind: 'data', data: { changed: false, complete: isOpen } };
  }
  const answer = await becameOf(visit, asked);
  if (!isRefusal(answer)) {
    const { id = '', status } = answer;
    if (asked.browser === byLink) {
      const t = await sealLink(portal.seal, [id], time.end);
      return { kind: 'redirect', to: `${path}/link?${new URLSearchParams({ t }).toString()}` };
    }
    const seen = { appointments: [id], booked: { [key]: id } };
    const news = status === 'pending' ? 'asked' : 'booked';
    return { kind: 'redirect', to: `${path}/appointments/${id}?news=${news}`, session: withMore(session, seen) };
  }
  if (!aboutBooking.includes(answer.status)) {
    return failurePage(visit, failureOf(answer));
  }
  const link = {
    url: `${origin}${await drawAddress(visit, { ...asked, browser: '' })}`,
    until: time.end + LINK_AFTER,
    count: 1,
    email: '',
    clinic: (await portal.clinic()).name,
  };
  return drawPage(visit, { service, time, link, refusal: answer.status === 202 ? undefined : reasonOf(answer) });
};
