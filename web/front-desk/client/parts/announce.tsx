import { Notification } from '@mantine/core';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from 'react';
import { useTexts } from './use-texts.ts';

const AnnounceContext = createContext<(text: string) => void>(() => undefined);

/** Says that something was done, on the screen and to screen readers. */
export const useAnnounce = (): ((text: string) => void) => useContext(AnnounceContext);

/** How long a message stays, in milliseconds. */
const STAY = 8_000;

/** Holds the last message, for all that is inside. */
export function Announcer({ children }: { readonly children: ReactNode }) {
  const { close } = useTexts();
  const [message, setMessage] = useState<{ readonly text: string; readonly number: number }>();
  const announce = useCallback(
    (text: string) => setMessage((before) => ({ text, number: (before?.number ?? 0) + 1 })),
    [],
  );
  useEffect(() => {
    const timer = message && setTimeout(() => setMessage(undefined), STAY);
    return () => clearTimeout(timer);
  }, [message]);
  return (
    <AnnounceContext.Provider value={announce}>
      {children}
      <div className="announcer" role="status">
        {message && (
          <Notification
            key={message.number}
            role="presentation"
            withBorder
            onClose={() => setMessage(undefined)}
            closeButtonProps={{ 'aria-label': close }}
          >
            {message.text}
          </Notification>
        )}
      </div>
    </AnnounceContext.Provider>
  );
}
