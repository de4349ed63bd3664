import { Button } from '@mantine/core';
import type { Appointment } from '@medplum/fhirtypes';
import { useEffect, useRef, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { localDayOf } from '../../../../core/time/local-day.ts';
import { patientNameOf } from '../../appointment/people.ts';
import { withStatus } from '../../appointment/status-steps.ts';
import { timeOf } from '../../day/entries.ts';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { nextAfter, requestSearches, requestsIn, type Waiting } from '../../requests/waiting.ts';
import { UnsentReason } from '../appointment/actions.tsx';
import { update } from '../fhir/client.ts';
import { useAnnouncements } from '../parts/announce.tsx';
import { Loading } from '../parts/loading.tsx';
import { useFound } from '../parts/use-found.ts';
import { useNow } from '../parts/use-now.ts';
import { useRefused } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { Waitlist } from '../waitlist/list.tsx';
import { RequestList } from './list.tsx';
import { OpenRequest } from './open.tsx';

/** Focuses a request in the list. If the list is above the open request, the latter is scrolled into view instead. */
function focusOn(id: string): void {
  const isNarrow = window.matchMedia('(max-width: 48rem)').matches;
  const target = isNarrow ? '#open-request' : `[data-request="${CSS.escape(id)}"]`;
  const found = document.querySelector<HTMLElement>(target);
  found?.focus({ preventScroll: isNarrow });
  if (isNarrow) {
    found?.scrollIntoView();
  }
}

/** The rest of an open request that is gone: the typed reason, and the way to its appointment. */
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

/** The requests that wait for the clinic. Staff confirm or decline one after the other, by keyboard too. */
export function RequestsPage() {
  const texts = useTexts();
  const { requests: words } = texts;
  const now = useNow();
  const found = useFound('requests', requestSearches(config), (resources) => requestsIn(resources, config));
  const { value, reload } = found;
  const [, navigate] = useLocation();
  const { later, waiting: due } = useAnnouncements();
  const sayRefused = useRefused();
  const wanted = new URLSearchParams(useSearch()).get('open') ?? undefined;
  // An answered request disappears at once, although it can still be undone.
  const [answered, setAnswered] = useState<readonly string[]>([]);
  const waiting = (value?.waiting ?? []).filter(({ id }) => id !== due?.key && !answered.includes(id));
  const first = waiting[0]?.id;
  // Nothing replaces the open request automatically: a reply must not go to a different one.
  const open = waiting.find(({ id }) => id === (wanted ?? first));
  const goneId = value && open === undefined && !answered.includes(wanted ?? '') ? wanted : undefined;
  const last = useRef<Waiting>(undefined);
  last.current = open ?? last.current;
  const [isDeclining, setDeclining] = useState(false);
  const shouldFocus = useRef(false);

  const show = (id: string | undefined): void => {
    setDeclining(false);
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
  // The focus follows the open request, once the list shows it.
  useEffect(() => {
    if (shouldFocus.current && !isDeclining && open) {
      focusOn(open.id);
      shouldFocus.current = false;
    }
  });
  /** Replies to the open request after some seconds, and opens the next one. Resolves to whether it was written. */
  const answer = async ({ id }: Waiting, changed: Appointment, done: string): Promise<boolean> => {
    const text = `${patientNameOf(changed, value?.patients ?? new Map()) || texts.appointment.noPatient}: ${done}`;
    const answers: (Appointment | Refusal)[] = [];
    const write = async () => answers.push(await update('Appointment', changed));
    setAnswered((before) => [...before, id]);
    show(nextAfter(id, waiting, waiting));
    await later({ key: id, text, write });
    const [written] = answers;
    if (written) {
      await reload();
    } else {
      setDeclining(false);
      shouldFocus.current = true;
      navigate(`/requests?open=${id}`, { replace: true });
    }
    setAnswered((before) => before.filter((one) => one !== id));
    if (written && isRefusal(written)) {
      sayRefused(text, written);
      return false;
    }
    return written !== undefined;
  };
  const confirm = (): void => {
    if (open) {
      void answer(open, withStatus(open.appointment, 'booked'), texts.appointment.done.confirmed);
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
      <Loading of={[found]} />
      {value && waiting.length === 0 && <p>{words.none}</p>}
      <div className="two-panes">
        {value && waiting.length > 0 && (
          <div>
            <p className="help keys">{words.help}</p>
            <RequestList
              requests={{ ...value, waiting }}
              openId={open?.id}
              now={now}
              onOpen={show}
              onConfirm={confirm}
              onDecline={() => setDeclining(open !== undefined)}
            />
          </div>
        )}
        {goneId && <Gone key={goneId} id={goneId} onShow={() => showInCalendar(goneId)} />}
        {value && open && (
          <OpenRequest
            request={open}
            name={patientNameOf(open.appointment, value.patients)}
            isDeclining={isDeclining}
            onConfirm={confirm}
            onDeclining={(isNow) => (isNow ? setDeclining(true) : show(open.id))}
            onDecline={(appointment) => answer(open, appointment, texts.appointment.done.declined)}
            onShow={() => showInCalendar(open.id)}
          />
        )}
      </div>
      <Waitlist />
    </>
  );
}
