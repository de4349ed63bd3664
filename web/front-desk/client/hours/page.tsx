import { Loader, NativeSelect } from '@mantine/core';
import { useLocation, useSearch } from 'wouter';
import { Problem } from '../parts/problem.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { ClosedForm } from './closed-form.tsx';
import { useHours } from './use-hours.ts';
import { WeeklyForm } from './weekly-form.tsx';

const CLOSED = 'closed-days';

/** Opening hours of the services, and the closed days of the clinic. */
export function HoursPage() {
  const texts = useTexts();
  const { hours: words } = texts;
  const { value: data, refusal, reload } = useHours();
  const [, navigate] = useLocation();
  const wanted = new URLSearchParams(useSearch()).get('of') ?? '';
  const services = data?.services ?? [];
  const service = services.find(({ id }) => id === wanted) ?? (wanted === CLOSED ? undefined : services[0]);
  return (
    <>
      <h1>{words.title}</h1>
      {refusal && <Problem refusal={refusal} onReload={() => void reload()} />}
      {!data && !refusal && <Loader aria-label={texts.loading} />}
      {data && (
        <div className="hours-page">
          <NativeSelect
            label={words.of}
            value={service?.id ?? CLOSED}
            onChange={(event) => navigate(`/hours?of=${event.currentTarget.value}`)}
            data={[
              ...services.map(({ id = '', name }) => ({ value: id, label: name || `HealthcareService/${id}` })),
              { value: CLOSED, label: words.closedDays },
            ]}
          />
          {service ? (
            <WeeklyForm
              key={`${service.id} ${service.meta?.versionId}`}
              service={service}
              data={data}
              onSaved={() => void reload()}
            />
          ) : (
            <ClosedForm data={data} onSaved={() => void reload()} />
          )}
        </div>
      )}
    </>
  );
}
