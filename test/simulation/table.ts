import { formatTable } from '../../scripts/cli/table.ts';
import type { Play } from './play.ts';

/** A play as a person reads it: who did what when, and what was wrong. */
export function tableOf({ lines, violations }: Play): string {
  const rows = lines.map(({ time, actor, what, result }) => [time, actor, shortened(what), shortened(result)]);
  const found = violations.map(({ rule, text }) => `  BROKEN  ${rule}\n          ${text}`);
  return [formatTable(['time', 'who', 'what', 'result'], rows), ...found].join('\n');
}

const shortened = (text: string): string => (text.length > 110 ? `${text.slice(0, 109)}…` : text);
