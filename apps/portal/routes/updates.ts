import type { PageHandler, Visit } from '../http/visit.ts';
import { failurePage } from '../pages/failure.ts';
import type { AppointmentView } from '../visit/appointment.ts';

/** How long a page can wait for news of an appointment, in milliseconds. */
const WATCH_LENGTH = 24 * 3_600_000;

/**
 * The address that tells a page whether an appointment may have changed since it was read for this request. It is sealed: a
 * browser that was shown the appointment may ask, and nothing has to be read for the answer.
 */
export async function watchOf({ portal, at, session }: Visit, { id, state, steps }: AppointmentView): Promise<string> {
  const watch = await portal.seal.close(
    'watch',
    {
      id,
      at,
      browser: session.browser,
      waits: state === 'waiting',
      ...(steps.length > 0 && { steps: steps.map((view) => view.id) }),
    },
    at + WATCH_LENGTH,
  );
  return `${portal.options.path}/appointments/${id}/news?${new URLSearchParams({ w: watch }).toString()}`;
}

/**
 * `GET /appointments/:id/news`: whether the page should read the appointment again, and whether the portal would know. The
 * clinic's service is not asked.
 */
export const showUpdates: PageHandler = async (visit) => {
  const { portal, query, id, session } = visit;
  const watch = await portal.seal.open('watch', query.get('w'));
  const isOwn = typeof watch !== 'string' && watch.id === id && watch.browser === session.browser;
  if (!isOwn || typeof watch.at !== 'number') {
    return failurePage(visit, 'notFound');
  }
  portal.news.keepComing();
  const { at, steps: named } = watch;
  const steps = Array.isArray(named) ? named.map(String) : [];
  return {
    kind: 'data',
    // What is offered to those who wait is an appointment of its own: of that the portal hears nothing.
    data: {
      changed: [id, ...steps].some((one) => portal.news.hasChanged(one, at)),
      complete: !watch.waits && portal.news.isComplete(),
    },
  };
};
