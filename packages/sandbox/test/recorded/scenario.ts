import { z } from 'zod';
import { type Exchange, openStage, type Stage, type Target } from './stage.ts';

/** Requests that build on each other. What it waits for must come on every server. */
export type Scenario = (stage: Stage) => Promise<void>;

const exchangeShape = z.object({
  request: z.string(),
  as: z.string().optional(),
  sent: z.unknown().optional(),
  headers: z.unknown().optional(),
  answer: z.unknown(),
});

/** What a server has answered to a scenario, and which version it was. */
export const recordingShape = z.object({ server: z.string(), exchanges: z.array(exchangeShape) });

/**
 * Plays a scenario on a server.
 *
 * @returns what was said, scrubbed of ids, times and secrets
 * @throws Error when the scenario cannot go on
 */
export async function play(scenario: Scenario, target: Target): Promise<Exchange[]> {
  const { stage, exchanges } = await openStage(target);
  await scenario(stage);
  return exchanges;
}
