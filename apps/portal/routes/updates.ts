import type { PageHandler, Visit } from '../http/visit.ts';
import { failurePage } from '../pages/failure.ts';
import type { AppointmentView } from '../visit/appointment.ts';

const WATCH_LENGTH = 24 * 3_600_000;

/** The sealed URL of updates since this request; its response needs no access check at the clinic. */
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
  return `${portal.options.path}/appointments/${id}/updates?${new URLSearchParams({ w: watch }).toString()}`;
}

/**
 * `GET /appointments/:id/updates`: whether the page should read the appointment again (`changed`), and whether the portal
 * is notified of all changes (`complete`). The clinic's service is not called.
 */
export const showUpdates: PageHandler = async (visit) => {
  const { portal, query, id, session } = visit;
  const watch = await portal.seal.open('watch', query.get('w'));
  const isOwn = typeof watch !== 'string' && watch.id === id && watch.browser === session.browser;
  if (!isOwn || typeof watch.at !== 'number') {
    return failurePage(visit, 'notFound');
  }
  portal.updates.keepComing();
  const { at, steps: named } = watch;
  const steps = Array.isArray(named) ? named.map(String) : [];
  return {
    kind: 'data',
    // A personal offer to a waitlist entry is another appointment, of which the portal is not notified.
    data: {
      changed: [id, ...steps].some((one) => portal.updates.hasChanged(one, at)),
      complete: !watch.waits && portal.updates.isComplete(),
    },
  };
};
