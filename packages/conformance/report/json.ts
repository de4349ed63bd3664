import { areaOf, count, type Report } from './summary.ts';

/** A run for programs. */
export function jsonReport({ results, left, baseUrl, stage }: Report): string {
  const checks = results.map(({ check, verdict, exchanges, reason, duration }) => ({
    name: check.name,
    area: areaOf(check),
    level: check.level,
    rule: check.rule,
    section: check.section,
    verdict,
    ...(reason !== '' && { reason }),
    exchanges,
    ...(check.covers && { covers: check.covers }),
    duration,
  }));
  return `${JSON.stringify({ baseUrl, stage, counts: count(results), left, checks }, undefined, 2)}\n`;
}
