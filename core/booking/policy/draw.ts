import { formatInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import type { EffectivePolicy } from './effective-policy.ts';

/** How long after the last moment to ask the draw begins, in milliseconds: by then every request waits for it. */
const DRAW_AFTER = 15_000;

/** How long after it the times that are left are for whoever comes first. */
const DRAWING = 10 * 60_000;

/**
 * Refuses times that are drawn: until `drawUntil` portals can only ask for them, asynchronously, and until the draw is over
 * nobody else can book them. Does not apply to clinic staff.
 *
 * @param now - milliseconds since 1970 UTC
 * @param asked - when an asynchronous booking was asked for; `undefined` if it is answered at once
 * @returns `draw-open`, which says when an asynchronous booking is tried again
 */
export function drawIssues(
  policies: readonly EffectivePolicy[],
  now: number,
  asked: number | undefined,
  expression: string,
): Issue[] {
  const drawUntil = Math.max(0, ...policies.map(({ policy }) => policy.drawUntil ?? 0));
  const isIn = asked !== undefined && asked < drawUntil;
  const notBefore = drawUntil + (isIn ? DRAW_AFTER : DRAWING);
  if (now >= notBefore) {
    return [];
  }
  const [until, open] = [formatInstant(drawUntil), formatInstant(drawUntil + DRAWING)];
  const diagnostics =
    now < drawUntil
      ? `Who asks before ${until} takes part in a draw: send the request with Prefer: respond-async. What is left can be booked from ${open} on.`
      : `The time is drawn among those who have asked before ${until}. What is left can be booked from ${open} on.`;
  return [{ code: 'draw-open', diagnostics, expression, notBefore }];
}
