import { presets } from '../../core/config/presets.ts';
import { isObject } from '../../core/fhir/resource.ts';
import type { Stage } from './check.ts';

const isStage = (value: unknown): value is Stage => typeof value === 'string' && Object.hasOwn(presets, value);

/**
 * What an installation of this project claims: its preset.
 *
 * @param settings - its configuration, as it is in the file
 */
export function stageOf(settings: unknown): Stage {
  const preset = isObject(settings) ? settings.preset : undefined;
  return isStage(preset) ? preset : 'default';
}
