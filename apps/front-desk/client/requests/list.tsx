import type { KeyboardEvent } from 'react';
import { patientNameOf, payersOf, servicesOf } from '../../appointment/people.ts';
import { timeOf } from '../../day/entries.ts';
import type { Requests, Waiting } from '../../requests/waiting.ts';
import { momentText } from '../parts/format.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

function Request({
  request,
  requests,
  isOpen,
  isTabStop,
  now,
  onOpen,
}: {
  readonly request: Waiting;
  readonly requests: Requests;
  readonly isOpen: boolean;
  /** Whether the Tab key reaches it; arrow keys go on from there. */
  readonly isTabStop: boolean;
  readonly now: number;
  readonly onOpen: () => void;
}) {
  const { language, requests: words, appointment: appointmentWords, payers } = useTexts();
  const { appointment, deadline, requester, isUrgent } = request;
  const time = timeOf(appointment);
  const isOver = deadline !== undefined && deadline <= now;
  const details = [servicesOf(appointment), payersOf(appointment, payers, config), requester]
    .filter(Boolean)
    .join(' · ');
  return (
    <button
      type="button"
      className="request"
      data-request={request.id}
      aria-current={isOpen ? 'true' : undefined}
      tabIndex={isTabStop ? 0 : -1}
      onClick={onOpen}
    >
      <span className="deadline">
        {isUrgent && !isOver && <strong>{words.urgent} </strong>}
        {deadline === undefined ? words.noDeadline : isOver ? words.over : words.until(momentText(deadline, language))}
      </span>
      <span className="name">{patientNameOf(appointment, requests.patients) || appointmentWords.noPatient}</span>
      <span>{time ? momentText(time.start, language) : words.noTime}</span>
      {details && <span className="service">{details}</span>}
    </button>
  );
}

/** The requests, the earliest deadline first. Arrow keys choose; c confirms and d declines the chosen one. */
export function RequestList({
  requests,
  openId,
  now,
  onOpen,
  onConfirm,
  onDecline,
}: {
  readonly requests: Requests;
  readonly openId: string | undefined;
  readonly now: number;
  readonly onOpen: (id: string) => void;
  readonly onConfirm: () => void;
  readonly onDecline: () => void;
}) {
  const { requests: words } = useTexts();
  const { waiting } = requests;
  const onKeyDown = (event: KeyboardEvent<HTMLOListElement>): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const index = waiting.findIndex(({ id }) => id === openId);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: index + 1,
      ArrowUp: index - 1,
      Home: 0,
      End: waiting.length - 1,
    };
    const wanted = moves[event.key];
    if (wanted !== undefined) {
      const next = waiting[Math.min(Math.max(wanted, 0), waiting.length - 1)];
      event.preventDefault();
      if (next) {
        onOpen(next.id);
      }
    } else if (event.key === 'c' || event.key === 'd') {
      event.preventDefault();
      (event.key === 'c' ? onConfirm : onDecline)();
    }
  };
  return (
    <ol className="requests" aria-label={words.title} onKeyDown={onKeyDown}>
      {waiting.map((request) => (
        <li key={request.id}>
          <Request
            request={request}
            requests={requests}
            isOpen={request.id === openId}
            isTabStop={request.id === (openId ?? waiting[0]?.id)}
            now={now}
            onOpen={() => onOpen(request.id)}
          />
        </li>
      ))}
    </ol>
  );
}
