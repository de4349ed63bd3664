import { Button, Group, Loader } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { patientNameOf } from '../../appointment/people.ts';
import { withStatus } from '../../appointment/status-steps.ts';
import { timeOf } from '../../day/entries.ts';
import { localDayOf } from '../../day/local-day.ts';
import { nextAfter, type Waiting } from '../../requests/waiting.ts';
import { DeclineForm, useChange } from '../appointment/actions.tsx';
import { Answers, Facts, History } from '../appointment/facts.tsx';
import { useAppointment } from '../appointment/use-appointment.ts';
import { Behind } from '../parts/behind.tsx';
import { Problem } from '../parts/problem.tsx';
import { useNow } from '../parts/use-now.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { RequestList } from './list.tsx';
import { useRequests } from './use-requests.ts';

/** The request that is open: its answers and history beside it. */
function OpenRequest({ request }: { readonly request: Waiting }) {
  const texts = useTexts();
  const { value, refusal, reload } = useAppointment(request.id, request.appointment.meta?.versionId);
  if (value) {
    return (
      <>
        <Facts details={value} />
        <Answers details={value} />
        <History details={value} />
      </>
    );
  }
  return refusal ? <Problem refusal={refusal} onReload={() => void reload()} /> : <Loader aria-label={texts.loading} />;
}

/** What waits for an answer of the clinic. One after the other is confirmed or declined, by keyboard too. */
export function RequestsPage() {
  const texts = useTexts();
  const { requests: words, appointment: appointmentWords } = texts;
  const now = useNow();
  const { value, refusal, reload, isBehind } = useRequests();
  const [, navigate] = useLocation();
  const wanted = new URLSearchParams(useSearch()).get('open') ?? undefined;
  const waiting = value?.waiting ?? [];
  const first = waiting[0]?.id;
  // Nothing takes the place of what is open by itself: an answer must not meet another request.
  const open = waiting.find(({ id }) => id === (wanted ?? first));
  const answered = useRef<string>(undefined);
  const isGone = open === undefined && first !== undefined && wanted !== answered.current;
  const [isDeclining, setDeclining] = useState(false);
  const shouldFocus = useRef(false);
  const answer = useChange(() => undefined);

  const show = (id: string | undefined): void => {
    setDeclining(false);
    answer.forget();
    shouldFocus.current = true;
    navigate(id ? `/requests?open=${id}` : '/requests', { replace: true });
  };
  useEffect(() => {
    if (wanted === undefined && first !== undefined) {
      navigate(`/requests?open=${first}`, { replace: true });
    }
  }, [wanted, first, navigate]);
  useEffect(() => {
    if (isGone && document.activeElement === document.body) {
      document.querySelector<HTMLElement>('[data-request][tabindex="0"]')?.focus();
    }
  }, [isGone]);
  // The focus follows what is open, once the list shows it.
  useEffect(() => {
    if (shouldFocus.current && !isDeclining && open) {
      document.querySelector<HTMLElement>(`[data-request="${CSS.escape(open.id)}"]`)?.focus();
      shouldFocus.current = false;
    }
  });
  const finish = async (isDone: boolean): Promise<boolean> => {
    if (isDone && open) {
      const next = nextAfter(
        open.id,
        waiting,
        waiting.filter(({ id }) => id !== open.id),
      );
      answered.current = open.id;
      await reload();
      show(next);
    }
    return isDone;
  };
  const confirm = async (): Promise<void> => {
    if (open && !answer.isBusy) {
      await finish(await answer.change(withStatus(open.appointment, 'booked'), 'confirmed'));
    }
  };
  const time = open && timeOf(open.appointment);
  return (
    <>
      <h1>
        {words.title} {value && `(${waiting.length})`}
      </h1>
      <Behind isBehind={isBehind} />
      {refusal && <Problem refusal={refusal} onReload={() => void reload()} />}
      {!value && !refusal && <Loader aria-label={texts.loading} />}
      {value && waiting.length === 0 && <p>{words.none}</p>}
      {value && waiting.length > 0 && (
        <div className="two-panes">
          <div>
            <p className="help">{words.help}</p>
            <RequestList
              requests={value}
              openId={open?.id}
              now={now}
              onOpen={show}
              onConfirm={() => void confirm()}
              onDecline={() => setDeclining(open !== undefined)}
            />
          </div>
          {isGone && (
            <p role="status" className="pane">
              {words.gone}
            </p>
          )}
          {open && (
            <section aria-labelledby="open-request" className="pane">
              <h2 id="open-request">{patientNameOf(open.appointment, value.patients) || appointmentWords.noPatient}</h2>
              {answer.refusal && (
                <Problem
                  refusal={answer.refusal}
                  onReload={() => {
                    answer.forget();
                    void reload();
                  }}
                />
              )}
              {isDeclining ? (
                <DeclineForm
                  key={`decline ${open.id}`}
                  appointment={open.appointment}
                  isBusy={answer.isBusy}
                  onDecline={async (one) => finish(await answer.change(one, 'declined'))}
                  onBack={() => show(open.id)}
                />
              ) : (
                <Group gap="xs">
                  <Button loading={answer.isBusy} onClick={() => void confirm()}>
                    {appointmentWords.to.booked}
                  </Button>
                  <Button variant="default" onClick={() => setDeclining(true)}>
                    {appointmentWords.decline}
                  </Button>
                  {time && (
                    <Button
                      variant="default"
                      onClick={() =>
                        navigate(
                          `/calendar?date=${localDayOf(time.start, config.timeZone)}&open=Appointment/${open.id}`,
                        )
                      }
                    >
                      {words.inCalendar}
                    </Button>
                  )}
                </Group>
              )}
              <OpenRequest key={open.id} request={open} />
            </section>
          )}
        </div>
      )}
    </>
  );
}
