import { sessionState } from '../session/session.ts';

/** The storage key of a signed-in person: the next person who signs in does not see the value. */
export function ownKey(name: string): string {
  const session = sessionState();
  return `front-desk-${name}:${'profile' in session ? session.profile.id : ''}`;
}

/** A choice that the person made before in this browser; empty if there is none. */
export const remembered = (storage: Storage, name: string): string => storage.getItem(ownKey(name)) ?? '';

/** Remembers a choice of the person. */
export const remember = (storage: Storage, name: string, value: string): void => storage.setItem(ownKey(name), value);
