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
  [/\brivals?(Of)?\b/i, 'conflict'],
  [/\blosers?(Of)?\b/i, 'yielding appointment'],
  [/\bcompanions?\b/i, 'dependent appointments'],
  [/\bfillers?\b(?!-)/i, 'candidate schedule'],
  [/\bhopeless\b/, 'unreadable'],
  [/\b(hearing|untold)\b/i, 'subscription watch, not notified'],
  [/\b(in vain|inVain\w*)\b/i, 'without effect'],
  [/\bout of turn\b/i, 'retry in queue'],
  [/\b(Taking|takingSlot|newTaking|planTaking)\b/, 'ExternalSlot, external busy slot'],
  [/\b(tookPlace|toldGroupOf|mayBeTold)\b/, 'hasBegun, notifiedGroupOf, mayBeNotified'],
  [/\b(AnswerMemory|UpstreamAnswer|formatBookingAnswer)\b/, '…Response'],
];

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' })
  .split('\n')
  .filter(
    (file) => /\.(tsx?|md|json|css)$/.test(file) && !/package-lock|\/recordings\/|test\/source\/words/.test(file),
  );

it.each(retired)('%s is %s now', (word) => {
  expect(files.filter((file) => word.test(readFileSync(file, 'utf8')))).toEqual([]);
});
