import './config.ts';
import type { Bounds, Exploration } from './explore.ts';
import { install as installInside } from './inside.ts';
import type { Scene } from './scenes.ts';

/** How much of a scene is played. */
type SceneBounds = Omit<Bounds, 'jobs'>;

/**
 * Loads everything that the simulation consists of, the sources of the Bots among it, behind the clock and the network of
 * the simulated worlds.
 */
export async function loadSimulation() {
  installInside();
  const { install, loadBots } = await import('./medplum.ts');
  const { prepare } = await import('./play.ts');
  const { explore } = await import('./explore.ts');
  const { BEGIN } = await import('./clinic.ts');
  const { scenes } = await import('./scenes.ts');
  const { tableOf } = await import('./table.ts');
  await loadBots();
  const installed = await install(BEGIN);

  /** Plays a scene: first the orders of the acts, with the jobs of Medplum after them, then those of acts and jobs. */
  async function exploreScene(scene: Scene, bounds: SceneBounds): Promise<Exploration> {
    const prepared = await prepare(installed, scene);
    const after = await explore(prepared, { ...bounds, jobs: 'after' });
    if (after.failed) {
      return after;
    }
    const among = await explore(prepared, { ...bounds, jobs: 'among' });
    return { ...among, plays: after.plays + among.plays, isComplete: after.isComplete && among.isComplete };
  }
  return { scenes, exploreScene, tableOf };
}
