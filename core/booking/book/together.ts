import { formatInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { overlaps } from '../../time/interval.ts';
import type { Situation } from './situation.ts';

const referencesOf = ({ resolved }: Situation): string =>
  [...resolved.participants.map(({ actor }) => actor?.reference), resolved.patient?.reference]
    .filter((one) => one?.startsWith('Patient/') || one?.startsWith('urn:'))
    .toSorted()
    .join();

/** A person cannot be at two places at once. */
function overlapIssues({ request: { appointment, interval }, before }: Situation): Issue[] {
  const other = before.find((one) => interval && one.request.interval && overlaps(interval, one.request.interval));
  const end = formatInstant(other?.request.interval?.end ?? 0);
  const diagnostics = `The appointments of one request must not overlap: another one ends at ${end}.`;
  return other ? [{ code: 'period-invalid', diagnostics, expression: `${appointment.path}.start` }] : [];
}

/** The problems of several appointments that are booked at once, beside those of each. */
export function issuesTogether(situations: readonly Situation[]): Issue[] {
  const [first, ...others] = situations;
  if (!first || others.length === 0) {
    return [];
  }
  const strangers = others.filter((one) => referencesOf(one) !== referencesOf(first));
  return [
    ...situations.flatMap(overlapIssues),
    ...strangers.map(({ request: { appointment } }): Issue => {
      const diagnostics = 'The appointments of one request must be for the same patient.';
      return { code: 'patient-mismatch', diagnostics, expression: `${appointment.path}.participant` };
    }),
    ...(first.request.ifMatch === undefined
      ? []
      : [
          {
            code: 'malformed-request',
            diagnostics: 'If-Match names one version: it cannot be sent with several appointments.',
            expression: 'http.If-Match',
          } as const,
        ]),
  ];
}
