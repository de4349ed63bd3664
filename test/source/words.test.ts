/** Retired words, as the glossary lists them: no source, page or artefact uses one. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

/** Names and texts of others that contain a retired word. */
const exceptions: readonly (readonly [text: RegExp, reason: string])[] = [
  [/\bfiller-order\b/g, 'a code of FHIR'],
  [/\brefill(ed|ing|Notice)?\b/g, 'a part of LocalBookingPolicy, which the interface names'],
  [/\bstanding-appt-id\b/g, 'a parameter of $waitlist, which the interface names'],
];

/** Names that changed with a word. */
const retiredNames: readonly (readonly [name: RegExp, now: string])[] = [
  [/\b(MOST|LONGEST)(_|\b)/, 'MAX_…, MAX_…_LENGTH'],
  [/\w*_?AT_ONCE\b/, 'CONCURRENCY'],
  [/\bLocal(Offered|Withheld|Intent|Submitted|Place)\b/, 'LocalSlotOffer, LocalReservation, LocalSubmittedElements, …'],
  [/\b(without|remove)Consequences\b/, 'withoutDependentIssues'],
  [/\b(Taking|takingSlot|newTaking|planTaking)\b/, 'ExternalSlot, external busy slot'],
  [/\b(tookPlace|toldGroupOf|mayBeTold|isTold|wasTold|countTold)\b/, 'hasBegun, notifiedGroupOf, isNotified'],
  [/\b(AnswerMemory|UpstreamAnswer|formatBookingAnswer)\b/, '…Response'],
  [/role(: | === | !== )'(offer|void|repository)'/, 'bookable, ended, staff'],
  [/\b(feedRow|feedSearch|feedActor|feedFile)\b/, 'calendarFeed…'],
];

const table = readFileSync('docs/glossary.md', 'utf8').split('## Retired words')[1] ?? '';
const words = [...table.matchAll(/^- ([a-z ]+): (.+)$/gm)].flatMap(([, word = '', now = '']) => {
  const capital = word.charAt(0).toUpperCase() + word.slice(1);
  const inNames = `\\b${word}(?=[A-Z])|(?<=[a-z])${capital}(?![a-z])`;
  return [[new RegExp(`\\b(${word}|${capital})s?\\b|${inNames}`), now] as const];
});

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(tsx?|md|json|css)$/.test(file))
  .filter(
    (file) => !/package-lock|\/recordings\/|test\/source\/words|docs\/glossary|profiles\/(package|base)/.test(file),
  );

const textOf = (file: string): string =>
  exceptions.reduce((text, [exception]) => text.replace(exception, ''), readFileSync(file, 'utf8'));

it('the glossary lists retired words', () => {
  expect(words.length).toBeGreaterThan(15);
});

it.each([...words, ...retiredNames])('%s is %s now', (word) => {
  expect(files.filter((file) => word.test(file) || word.test(textOf(file)))).toEqual([]);
});
