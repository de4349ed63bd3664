import { Button, Group, Notification } from '@mantine/core';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { useTexts } from './use-texts.ts';

/** A change that is written after some seconds, so that it can be taken back. */
export interface Later {
  /** What it changes: the id of a resource. */
  readonly key: string;
  /** What has been done, for the person who did it. */
  readonly text: string;
  readonly write: () => Promise<unknown>;
}

interface Announcements {
  /** Says that something was done, on the screen and to screen readers. */
  readonly announce: (text: string) => void;
  /** Writes a change unless it is taken back in time. What waited before is written at once. */
  readonly later: (change: Later) => void;
  /** What waits. */
  readonly waiting: Later | undefined;
  readonly takeBack: () => void;
  /** Writes what waits. */
  readonly settle: () => Promise<void>;
}

const AnnounceContext = createContext<Announcements | undefined>(undefined);

/** What is said and waits on this page. */
export function useAnnouncements(): Announcements {
  const found = useContext(AnnounceContext);
  if (!found) {
    throw new Error('There is no Announcer around this.');
  }
  return found;
}

/** Says that something was done, on the screen and to screen readers. */
export const useAnnounce = (): Announcements['announce'] => useAnnouncements().announce;

/** How long a message stays, and a change can be taken back, in milliseconds. */
const STAY = 8_000;

/** Holds the last message, and the last change that can be taken back, for all that is inside. */
export function Announcer({ children }: { readonly children: ReactNode }) {
  const { close, undo, undone } = useTexts();
  const [message, setMessage] = useState<{ readonly text: string; readonly number: number }>();
  const [waiting, setWaiting] = useState<Later>();
  const due = useRef<Later>(undefined);
  const announce = useCallback(
    (text: string) => setMessage((before) => ({ text, number: (before?.number ?? 0) + 1 })),
    [],
  );
  const put = useCallback((change: Later | undefined) => {
    due.current = change;
    setWaiting(change);
  }, []);
  const settle = useCallback(async () => {
    const change = due.current;
    put(undefined);
    await change?.write();
  }, [put]);
  const later = useCallback(
    (change: Later) => {
      void settle();
      put(change);
    },
    [settle, put],
  );
  const takeBack = useCallback(() => {
    put(undefined);
    announce(undone);
  }, [put, announce, undone]);
  useEffect(() => {
    const timer = message && setTimeout(() => setMessage(undefined), STAY);
    return () => clearTimeout(timer);
  }, [message]);
  useEffect(() => {
    const timer = waiting && setTimeout(() => void settle(), STAY);
    return () => clearTimeout(timer);
  }, [waiting, settle]);
  // Whoever leaves the page does not take anything back any more.
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
  return (
    <AnnounceContext.Provider value={announcements}>
      {children}
      <div className="announcer" role="status">
        {text && (
          <Notification
            key={waiting?.key ?? message?.number}
            role="presentation"
            withBorder
            onClose={() => (waiting ? void settle() : setMessage(undefined))}
            closeButtonProps={{ 'aria-label': close }}
          >
            <Group gap="xs">
              {text}
              {waiting && (
                <Button variant="default" size="xs" onClick={takeBack}>
                  {undo}
                </Button>
              )}
            </Group>
          </Notification>
        )}
      </div>
    </AnnounceContext.Provider>
  );
}
