import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri } from '../../config/config.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { type ReservedEntry, reservedEntries } from '../../fhir/reserved.ts';
import type { TagConfig } from '../../fhir/tags.ts';
import { isSameToken } from '../../fhir/token.ts';
import type { Changer } from './status.ts';

/** An entry in a canonical spelling, for comparison. */
const spelledOut = ({ path, entry }: ReservedEntry): string => JSON.stringify([path, Object.entries(entry).sort()]);

/** The entries that have no counterpart among others; each of the others is the counterpart of one entry only. */
function missingFrom(entries: readonly ReservedEntry[], others: readonly ReservedEntry[]): ReservedEntry[] {
  const counts = new Map<string, number>();
  for (const key of others.map(spelledOut)) {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return entries.filter((entry) => {
    const key = spelledOut(entry);
    const count = counts.get(key) ?? 0;
    counts.set(key, count - 1);
    return count <= 0;
  });
}

/**
 * Compares the elements of an appointment that only the service may set: its tags, extensions, identifiers and codes,
 * including the tags of owner and origin. Systems are compared without regard to letter case.
 *
 * The clinic may omit the tag of the author of a change, because it describes that single change, and the codes of the
 * service, because the clinic gives its own reasons.
 *
 * @param stored - the appointment as it is
 * @param result - the appointment as it would be
 * @returns an `immutable-element` for each element that differs
 */
export function reservedIssues(stored: Appointment, result: Appointment, changer: Changer, config: TagConfig): Issue[] {
  const [before, after] = [stored, result].map((one) => reservedEntries(one, 'Appointment', config));
  const mark = artefactUri(config, 'LocalChangedBy');
  const isLeftOut = ({ entry }: ReservedEntry): boolean =>
    changer === 'repository' && typeof entry.system === 'string' && isSameToken(entry.system, mark);
  const isCode = ({ path }: ReservedEntry): boolean => changer === 'repository' && path.endsWith('.coding');
  const removed = missingFrom(before ?? [], after ?? []).filter((entry) => !isLeftOut(entry));
  const added = missingFrom(after ?? [], before ?? []);
  const paths = new Set([...removed, ...added].filter((entry) => !isCode(entry)).map(({ path }) => path));
  return [...paths].map((expression) => ({
    code: 'immutable-element',
    diagnostics: `Only the service may set or change ${expression}.`,
    expression,
  }));
}
