/** Words that sources, pages and artefacts no longer use, each with the one that has taken its place. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

const retired: readonly (readonly [word: RegExp, now: string])[] = [
  [/\b(MOST|LONGEST)(_|\b)/, 'MAX_…, MAX_…_LENGTH'],
  [/\w*_?AT_ONCE\b/, 'CONCURRENCY'],
  [/\bLocalOffered\b/, 'LocalSlotOffer'],
  [/\bLocal(Withheld|Intent)\b/, 'LocalReservation'],
  [/\bLocalSubmitted\b/, 'LocalSubmittedElements'],
  [/\bLocalPlace\b/, 'LocalPosition'],
  [/\b(leeway|leeways)\b/i, 'remaining quota'],
  [/\bwithoutConsequences\b/, 'withoutDependentIssues'],
  [/\bheirs?(Of)?\b/i, 'successor patient'],
  [/\brefillRows?\b/, 'releaseRows'],
  [/\breadCompanions\b/, 'readDependentAppointments'],
  [/\b(rivalsOf|loserOf)\b/, 'conflictsOf, yieldingAppointmentOf'],
];

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' })
  .split('\n')
  .filter(
    (file) => /\.(tsx?|md|json|css)$/.test(file) && !/package-lock|\/recordings\/|test\/source\/words/.test(file),
  );

it.each(retired)('%s is %s now', (word) => {
  expect(files.filter((file) => word.test(readFileSync(file, 'utf8')))).toEqual([]);
});
