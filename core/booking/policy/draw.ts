import { formatInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import type { EffectivePolicy } from './effective-policy.ts';

/** An asynchronous booking: when it was asked for, in milliseconds since 1970 UTC, and whether it has waited for a draw. */
export interface Asked {
  readonly at: number;
  readonly hasWaited: boolean;
}

/** How long after the last moment to ask the draw begins, in milliseconds: by then every request waits for it. */
const DRAW_AFTER = 15_000;

/** How long after it the times that are left are for whoever comes first. */
const DRAWING = 10 * 60_000;

/**
 * Refuses times that are drawn: until `drawUntil` portals can only ask for them, asynchronously, and until the draw is over
 * nobody else can book them. Whoever has asked in time waits for the draw, however late the request is first looked at: none
 * comes before those that wait. Does not apply to clinic staff.
 *
 * @param now - milliseconds since 1970 UTC
 * @param asked - `undefined` if the booking is answered at once
 * @returns `draw-open`, which says when an asynchronous booking is tried again
 */
export function drawIssues(
  policies: readonly EffectivePolicy[],
  now: number,
  asked: Asked | undefined,
  expression: string,
): Issue[] {
  const drawUntil = Math.max(0, ...policies.map(({ policy }) => policy.drawUntil ?? 0));
  const isIn = asked !== undefined && asked.at < drawUntil;
  if (now >= drawUntil + (isIn && asked.hasWaited ? DRAW_AFTER : DRAWING)) {
    return [];
  }
  const notBefore = isIn ? Math.max(now, drawUntil + DRAW_AFTER) : drawUntil + DRAWING;
  const [until, open] = [formatInstant(drawUntil), formatInstant(drawUntil + DRAWING)];
  const diagnostics =
    now < drawUntil
      ? `Who asks before ${until} takes part in a draw: send the request with Prefer: respond-async. What is left can be booked from ${open} on.`
      : `The time is drawn among those who have asked before ${until}. What is left can be booked from ${open} on.`;
  return [{ code: 'draw-open', diagnostics, expression, notBefore }];
}
