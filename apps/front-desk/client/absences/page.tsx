import { Button, Stack } from '@mantine/core';
import type { Schedule } from '@medplum/fhirtypes';
import { useEffect } from 'react';
import { useLocation, useSearch } from 'wouter';
import { isLocalDay, localDayOf } from '../../../../core/time/local-day.ts';
import {
  absenceSearch,
  absencesIn,
  affectedSearch,
  type Concerned,
  concernedIn,
  inOrderOfTime,
  linesOf,
  type OpenAbsence,
} from '../../absence/absences.ts';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { useSchedules } from '../day/use-calendar.ts';
import { idSearches, searchAll } from '../fhir/client.ts';
import { Loading } from '../parts/loading.tsx';
import { useFound } from '../parts/use-found.ts';
import { useLoaded } from '../parts/use-loaded.ts';
import { useNow } from '../parts/use-now.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { AnnounceForm } from './announce-form.tsx';
import { AbsenceCard } from './card.tsx';

const nothing: Concerned = concernedIn([]);

async function readConcerned(ids: readonly string[]): Promise<Concerned | Refusal> {
  const found = await searchAll(idSearches('Appointment', ids, [['_include', 'Appointment:patient']]));
  return isRefusal(found) ? found : concernedIn(found.flat());
}

function AbsenceList({
  absences,
  schedules,
  open,
  onChanged,
}: {
  readonly absences: readonly OpenAbsence[];
  readonly schedules: ReadonlyMap<string, Schedule>;
  /** Id of the absence that gets the focus. */
  readonly open: string | undefined;
  readonly onChanged: () => Promise<void>;
}) {
  const ids = absences.map(({ id }) => id).toSorted();
  const rows = useFound(`affected ${ids.join()}`, [affectedSearch(ids, config)], (resources) => [...resources]);
  const lines = new Map(absences.map((openAbsence) => [openAbsence.id, linesOf(openAbsence, rows.value ?? [])]));
  const named = [...new Set([...lines.values()].flat().map(({ appointment }) => appointment))].toSorted();
  const read = useLoaded(`concerned ${named.join()}`, async () => (named.length > 0 ? readConcerned(named) : nothing));
  const concerned = read.value ?? nothing;
  const reloadAll = async (): Promise<void> => {
    await Promise.all([onChanged(), rows.reload(), read.reload()]);
  };
  const isThere = ids.includes(open ?? '');
  useEffect(() => {
    if (open && isThere) {
      const heading = document.getElementById(`absence-${open}`);
      heading?.focus({ preventScroll: true });
      heading?.scrollIntoView();
    }
  }, [open, isThere]);
  return (
    <>
      <Loading of={[{ ...rows, value: concerned, refusal: rows.refusal ?? read.refusal, reload: reloadAll }]} />
      {absences.map((openAbsence) => (
        <AbsenceCard
          key={openAbsence.id}
          absence={openAbsence}
          lines={inOrderOfTime(lines.get(openAbsence.id) ?? [], concerned)}
          known={{ concerned, schedules }}
          onChanged={reloadAll}
        />
      ))}
    </>
  );
}

/** The page on which staff announce, confirm and follow absences. */
export function AbsencesPage() {
  const { absences: words } = useTexts();
  const now = useNow();
  const schedules = useSchedules();
  const found = useFound('absences', [absenceSearch(config)], (resources) => absencesIn(resources, now, config));
  const { value, reload } = found;
  const [, navigate] = useLocation();
  const query = new URLSearchParams(useSearch());
  const day = query.get('new');
  const today = localDayOf(now, config.timeZone);
  const byId = new Map((schedules.value ?? []).map((schedule) => [schedule.id ?? '', schedule]));
  const go = (address: string): void => navigate(address, { replace: true });
  return (
    <>
      <h1>
        {words.title} {value && `(${value.length})`}
      </h1>
      <Loading of={[found, schedules]} />
      <Stack gap="md" className="absences">
        {schedules.value &&
          (day === null ? (
            <div>
              <Button onClick={() => go(`/absences?new=${today}`)}>{words.announce}</Button>
            </div>
          ) : (
            <AnnounceForm
              schedules={schedules.value}
              chosen={query.get('calendars')?.split(',').filter(Boolean) ?? []}
              day={isLocalDay(day) ? day : today}
              onPlanned={(id) => {
                go(id ? `/absences?open=${id}` : '/absences');
                void reload();
              }}
              onClose={() => go('/absences')}
            />
          ))}
        {value?.length === 0 && day === null && <p>{words.none}</p>}
        {value && value.length > 0 && (
          <AbsenceList absences={value} schedules={byId} open={query.get('open') ?? undefined} onChanged={reload} />
        )}
      </Stack>
    </>
  );
}
