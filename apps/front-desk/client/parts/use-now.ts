import { useEffect, useState } from 'react';

const MINUTE = 60_000;

/** The time, to the minute, in milliseconds since 1970 UTC. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), MINUTE);
    return () => clearInterval(timer);
  }, []);
  return now;
}
