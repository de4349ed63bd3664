import { sessionState } from '../session/session.ts';

/** Where something of the person who is signed in is kept: nobody who signs in after them sees it. */
export function ownKey(name: string): string {
  const session = sessionState();
  return `front-desk-${name}:${'profile' in session ? session.profile.id : ''}`;
}

/** What the person has chosen before, as far as this browser knows; empty: nothing. */
export const remembered = (storage: Storage, name: string): string => storage.getItem(ownKey(name)) ?? '';

/** Keeps what the person has chosen. */
export const remember = (storage: Storage, name: string, value: string): void => storage.setItem(ownKey(name), value);
