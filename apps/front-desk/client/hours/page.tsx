import { NativeSelect } from '@mantine/core';
import { useMemo } from 'react';
import { useLocation, useSearch } from 'wouter';
import { inOrder, titleOf } from '../../day/queries.ts';
import { Loading } from '../parts/loading.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { ClosedForm } from './closed-form.tsx';
import { CalendarFeedLink } from './feed.tsx';
import { ScheduleForm } from './schedule-form.tsx';
import { useHours } from './use-hours.ts';
import { VisitForm } from './visit-form.tsx';
import { WeeklyForm } from './weekly-form.tsx';

const CLOSED = 'closed-days';

/** Opening hours of the services and of single calendars, and the closed days of the clinic. */
export function HoursPage() {
  const texts = useTexts();
  const { hours: words } = texts;
  const hours = useHours();
  const { value: data, reload } = hours;
  const [, navigate] = useLocation();
  const wanted = new URLSearchParams(useSearch()).get('of') ?? '';
  const services = data?.services ?? [];
  const schedules = useMemo(() => inOrder(data?.schedules ?? []), [data]);
  const schedule = data?.schedules.find(({ id }) => id === wanted);
  const isOther = schedule !== undefined || wanted === CLOSED;
  const service = services.find(({ id }) => id === wanted) ?? (isOther ? undefined : services[0]);
  return (
    <>
      <h1>{words.title}</h1>
      <Loading of={[hours]} />
      {data && (
        <div className="hours-page">
          <NativeSelect
            label={words.of}
            value={schedule?.id ?? service?.id ?? CLOSED}
            onChange={(event) => navigate(`/hours?of=${event.currentTarget.value}`)}
            data={[
              {
                group: words.services,
                items: services.map(({ id = '', name }) => ({ value: id, label: name || `HealthcareService/${id}` })),
              },
              {
                group: texts.day.calendars,
                items: schedules.map((one) => ({ value: one.id ?? '', label: titleOf(one) })),
              },
              { value: CLOSED, label: words.closedDays },
            ]}
          />
          {schedule && (
            <ScheduleForm
              key={`${schedule.id} ${schedule.meta?.versionId}`}
              schedule={schedule}
              data={data}
              onSaved={() => void reload()}
            />
          )}
          {schedule?.id && <CalendarFeedLink key={`feed ${schedule.id}`} schedule={schedule.id} />}
          {service && (
            <WeeklyForm
              key={`${service.id} ${service.meta?.versionId}`}
              service={service}
              data={data}
              onSaved={() => void reload()}
            />
          )}
          {service && (
            <VisitForm
              key={`visit ${service.id} ${service.meta?.versionId}`}
              service={service}
              data={data}
              onSaved={() => void reload()}
            />
          )}
          {!schedule && !service && <ClosedForm data={data} onSaved={() => void reload()} />}
        </div>
      )}
    </>
  );
}
