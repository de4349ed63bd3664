import type { HealthcareService, Slot } from '@medplum/fhirtypes';
import { formatInstant } from '../../../../core/fhir/instant.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import type { HoursData } from '../../../../core/fhir/scheduling/hours-data.ts';
import { visitPreview } from '../../../../core/visits/preview.ts';
import type { Placed, Proposal } from '../../../../core/visits/search.ts';
import { readVisit } from '../../../../core/visits/visit.ts';
import { titleOf } from '../../day/queries.ts';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { searchAll, searchUrl } from '../fhir/client.ts';
import { dayText, shortDayText, spanText } from '../parts/format.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

/** Proposals for a visit. */
export type VisitProposals = readonly Proposal[];

/** Time limit of the search in milliseconds: the page is blocked meanwhile. */
const MAX_SEARCH_MS = 300;

/** Proposals for a visit within a week, found in the current free Slots. Nothing is written. */
export async function previewVisit(
  service: HealthcareService,
  data: HoursData,
): Promise<{ readonly proposals: VisitProposals } | Refusal> {
  const { visit } = readVisit(service, config);
  if (!visit) {
    return { proposals: [] };
  }
  const { reads, offered } = visitPreview(visit, data, Date.now(), config);
  const found = await searchAll(
    reads.map(({ schedule, start, end }) =>
      searchUrl('Slot', [
        ['schedule', `Schedule/${schedule}`],
        ['status', 'free'],
        ['start', `lt${formatInstant(end)}`],
        ['_filter', `(end gt "${formatInstant(start)}")`],
      ]),
    ),
  );
  if (isRefusal(found)) {
    return found;
  }
  const slots = found.flat().filter((one): one is Slot => isResource(one, 'Slot'));
  const end = Date.now() + MAX_SEARCH_MS;
  return { proposals: offered(slots, () => Date.now() > end) };
}

/** The first proposals for a visit, with the calendar of each step. */
export function VisitPreviewList({
  proposals,
  data,
}: {
  readonly proposals: VisitProposals;
  readonly data: HoursData;
}) {
  const { language, visit: words } = useTexts();
  const nameOf = ({ candidates }: Placed): string =>
    candidates
      .flatMap(({ schedule }) => data.schedules.filter(({ id }) => id === schedule))
      .map(titleOf)
      .join(', ');
  return (
    <section aria-label={words.preview} className="pane" role="status">
      <p>
        <strong>{proposals.length > 0 ? words.offers : words.offersNothing}</strong>
      </p>
      <ul>
        {proposals.map(([first, ...others]) =>
          first ? (
            <li key={first.start}>
              {dayText(first.start, language)}
              <ol>
                {[first, ...others].map((one) => (
                  <li key={one.step}>
                    {shortDayText(one.start, language)}, {spanText(one, language)}, {one.step} ({nameOf(one)})
                  </li>
                ))}
              </ol>
            </li>
          ) : null,
        )}
      </ul>
    </section>
  );
}
