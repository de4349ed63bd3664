import { Button, Group, Notification } from '@mantine/core';
import type { Appointment } from '@medplum/fhirtypes';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { useTexts } from './use-texts.ts';

/** A change that is written after some seconds, so that it can be undone. */
interface Later {
  readonly key: string;
  /** Description of the change for the user. */
  readonly text: string;
  readonly write: () => Promise<unknown>;
  /** The changed appointment, which is shown at once. */
  readonly becomes?: Appointment | undefined;
}

interface Waiting extends Later {
  readonly onEnd: () => void;
}

interface Announcements {
  /** Shows a message, also to screen readers. A problem stays until it is closed. */
  readonly announce: (text: string, isProblem?: boolean) => void;
  /** Writes a change after some seconds, or when the next one comes. Resolves when it was written or undone. */
  readonly later: (change: Later) => Promise<void>;
  readonly waiting: Later | undefined;
  readonly takeBack: () => void;
  /** Writes the waiting change now. */
  readonly settle: () => Promise<void>;
}

const AnnounceContext = createContext<Announcements | undefined>(undefined);

/** The messages and the waiting change of this page. */
export function useAnnouncements(): Announcements {
  const found = useContext(AnnounceContext);
  if (!found) {
    throw new Error('There is no MessageRegion around this.');
  }
  return found;
}

/** Milliseconds for which a message stays, and in which a change can be undone. */
const STAY = 8_000;

function Undo({ onClick }: { readonly onClick: () => void }) {
  const { undo } = useTexts();
  return (
    <Button variant="default" size="xs" data-autofocus onClick={onClick}>
      {undo}
    </Button>
  );
}

/** Shows a waiting change with a button to undo it, in place of the children. */
export function TakeBack({ of, children }: { readonly of: string; readonly children: ReactNode }) {
  const { waiting, takeBack } = useAnnouncements();
  return waiting?.key === of ? (
    <Group gap="xs">
      <strong>{waiting.text}</strong>
      <Undo onClick={takeBack} />
    </Group>
  ) : (
    children
  );
}

/** Provides messages and undo to its children. */
export function MessageRegion({ children }: { readonly children: ReactNode }) {
  const { close, undone } = useTexts();
  const [message, setMessage] = useState<{
    readonly text: string;
    readonly isProblem: boolean;
    readonly number: number;
  }>();
  const [waiting, setWaiting] = useState<Waiting>();
  const due = useRef<Waiting>(undefined);
  const announce = useCallback(
    (text: string, isProblem = false) =>
      setMessage((before) => ({ text, isProblem, number: (before?.number ?? 0) + 1 })),
    [],
  );
  const put = useCallback((change: Waiting | undefined) => {
    due.current = change;
    setWaiting(change);
  }, []);
  const settle = useCallback(async () => {
    const change = due.current;
    put(undefined);
    await change?.write();
    change?.onEnd();
  }, [put]);
  const later = useCallback(
    (change: Later) => {
      void settle();
      return new Promise<void>((onEnd) => put({ ...change, onEnd }));
    },
    [settle, put],
  );
  const takeBack = useCallback(() => {
    const change = due.current;
    put(undefined);
    announce(undone);
    change?.onEnd();
  }, [put, announce, undone]);
  useEffect(() => {
    const timer = message?.isProblem === false ? setTimeout(() => setMessage(undefined), STAY) : undefined;
    return () => clearTimeout(timer);
  }, [message]);
  useEffect(() => {
    const timer = waiting && setTimeout(() => void settle(), STAY);
    return () => clearTimeout(timer);
  }, [waiting, settle]);
  // A change can no longer be undone after the user has left the page.
  useEffect(() => {
    const leave = () => void (document.hidden && settle());
    document.addEventListener('visibilitychange', leave);
    return () => document.removeEventListener('visibilitychange', leave);
  }, [settle]);
  const announcements = useMemo(
    () => ({ announce, later, waiting, takeBack, settle }),
    [announce, later, waiting, takeBack, settle],
  );
  const text = waiting?.text ?? message?.text;
  // The waiting change is shown first; a problem reappears after it.
  const isProblem = !waiting && message?.isProblem === true;
  return (
    <AnnounceContext.Provider value={announcements}>
      {children}
      <div className="announcer" role="status">
        {text && (
          <Notification
            key={waiting?.key ?? message?.number}
            role={isProblem ? 'alert' : 'presentation'}
            className={isProblem ? 'failed' : ''}
            {...(isProblem && { color: 'red.9' })}
            withBorder
            onClose={() => (waiting ? void settle() : setMessage(undefined))}
            closeButtonProps={{ 'aria-label': close }}
          >
            <Group gap="xs">
              {text}
              {waiting && <Undo onClick={takeBack} />}
            </Group>
            {waiting && <div className="time-left" aria-hidden="true" style={{ animationDuration: `${STAY}ms` }} />}
          </Notification>
        )}
      </div>
    </AnnounceContext.Provider>
  );
}
