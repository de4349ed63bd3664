import { Button, Loader } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { patientNameOf } from '../../appointment/people.ts';
import { withStatus } from '../../appointment/status-steps.ts';
import { timeOf } from '../../day/entries.ts';
import { localDayOf } from '../../day/local-day.ts';
import { nextAfter, requestSearches, requestsIn, type Waiting } from '../../requests/waiting.ts';
import { UnsentReason, useChange } from '../appointment/actions.tsx';
import { Behind } from '../parts/behind.tsx';
import { Problem } from '../parts/problem.tsx';
import { useFound } from '../parts/use-found.ts';
import { useNow } from '../parts/use-now.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { RequestList } from './list.tsx';
import { OpenRequest } from './open.tsx';

/** Gives the focus to a request in the list; where the list is above what was chosen in it, that comes into view instead. */
function focusOn(id: string): void {
  const isNarrow = window.matchMedia('(max-width: 48rem)').matches;
  const target = isNarrow ? '#open-request' : `[data-request="${CSS.escape(id)}"]`;
  const found = document.querySelector<HTMLElement>(target);
  found?.focus({ preventScroll: isNarrow });
  if (isNarrow) {
    found?.scrollIntoView();
  }
}

/** What is left of a request that was open when it went: what was typed, and the way to what became of it. */
function Gone({ id, onShow }: { readonly id: string; readonly onShow: () => void }) {
  const { requests: words } = useTexts();
  return (
    <div className="pane">
      <p role="status">{words.gone}</p>
      <UnsentReason id={id} />
      <Button variant="default" onClick={onShow}>
        {words.inCalendar}
      </Button>
    </div>
  );
}

/** What waits for an answer from the clinic. Requests are confirmed or declined one after the other, by keyboard too. */
export function RequestsPage() {
  const texts = useTexts();
  const { requests: words } = texts;
  const now = useNow();
  const { value, refusal, reload, isBehind } = useFound('requests', requestSearches(config), (found) =>
    requestsIn(found, config),
  );
  const [, navigate] = useLocation();
  const wanted = new URLSearchParams(useSearch()).get('open') ?? undefined;
  const waiting = value?.waiting ?? [];
  const first = waiting[0]?.id;
  // Nothing replaces the open request by itself: an answer must not go to a different one.
  const open = waiting.find(({ id }) => id === (wanted ?? first));
  const answered = useRef<string>(undefined);
  const goneId = value && open === undefined && wanted !== answered.current ? wanted : undefined;
  const last = useRef<Waiting>(undefined);
  last.current = open ?? last.current;
  const [isDeclining, setDeclining] = useState(false);
  const shouldFocus = useRef(false);
  const answer = useChange(() => undefined);

  const show = (id: string | undefined): void => {
    setDeclining(false);
    answer.forget();
    shouldFocus.current = id !== open?.id || isDeclining;
    if (open && id === open.id) {
      focusOn(id);
    }
    navigate(id ? `/requests?open=${id}` : '/requests', { replace: true });
  };
  useEffect(() => {
    if (wanted === undefined && first !== undefined) {
      navigate(`/requests?open=${first}`, { replace: true });
    }
  }, [wanted, first, navigate]);
  useEffect(() => {
    if (goneId && document.activeElement === document.body) {
      document.querySelector<HTMLElement>('[data-request][tabindex="0"]')?.focus();
    }
  }, [goneId]);
  // The focus follows what is open, once the list shows it.
  useEffect(() => {
    if (shouldFocus.current && !isDeclining && open) {
      focusOn(open.id);
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
  const showInCalendar = (id: string): void => {
    const time = last.current?.id === id ? timeOf(last.current.appointment) : undefined;
    const day = time ? `date=${localDayOf(time.start, config.timeZone)}&` : '';
    navigate(`/calendar?${day}open=Appointment/${id}`);
  };
  return (
    <>
      <h1>
        {words.title} {value && `(${waiting.length})`}
      </h1>
      <Behind isBehind={isBehind} />
      {refusal && <Problem refusal={refusal} onReload={() => void reload()} />}
      {!value && !refusal && <Loader aria-label={texts.loading} />}
      {value && waiting.length === 0 && <p>{words.none}</p>}
      <div className="two-panes">
        {value && waiting.length > 0 && (
          <div>
            <p className="help keys">{words.help}</p>
            <RequestList
              requests={value}
              openId={open?.id}
              now={now}
              onOpen={show}
              onConfirm={() => void confirm()}
              onDecline={() => setDeclining(open !== undefined)}
            />
          </div>
        )}
        {goneId && <Gone key={goneId} id={goneId} onShow={() => showInCalendar(goneId)} />}
        {value && open && (
          <OpenRequest
            request={open}
            name={patientNameOf(open.appointment, value.patients)}
            answer={answer}
            isDeclining={isDeclining}
            onConfirm={() => void confirm()}
            onDeclining={(isNow) => (isNow ? setDeclining(true) : show(open.id))}
            onDecline={async (one) => finish(await answer.change(one, 'declined'))}
            onReload={() => void reload()}
            onShow={() => showInCalendar(open.id)}
          />
        )}
      </div>
    </>
  );
}
