import { ClientStorage, MedplumClient, normalizeErrorString } from '@medplum/core';
import type { Practitioner } from '@medplum/fhirtypes';
import { FRONT_DESK_PATH, signedInAddress } from '../../settings.ts';
import { settings } from '../settings.ts';

/** Who is signed in; `expired` if a person was until a moment ago, whose work is still on the page. */
type SessionState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'out'; readonly problem?: string }
  | { readonly kind: 'in' | 'expired'; readonly profile: Person };

/** The person who has signed in; usually a Practitioner. */
export type Person = Pick<Practitioner, 'id' | 'name'> & { readonly resourceType: string };

/** Where people were when they had to sign in. */
const PLACE = 'front-desk-place';

const storage = new ClientStorage();

const medplum = new MedplumClient({
  baseUrl: settings.medplumUrl,
  clientId: settings.clientId,
  storage,
  cacheTime: 0,
  // A server that cannot answer now has refused nobody: Medplum's client would end the session.
  fetch: async (url, options) => {
    const response = await fetch(url, options);
    if (response.status === 429 || response.status >= 500) {
      throw new Error(`Medplum has answered with status ${response.status}.`);
    }
    return response;
  },
  onUnauthenticated: () => expire(),
});

let state: SessionState = { kind: 'loading' };
const listeners = new Set<() => void>();

function become(next: SessionState): void {
  state = next;
  for (const listener of listeners) {
    listener();
  }
}

/** The session as it is now. */
export const sessionState = (): SessionState => state;

/** Calls a listener when the session changes; returns a function that ends that. */
export function onSessionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Marks the session as one that the server no longer accepts. The page stays, so that nothing typed is lost. */
export function expire(): void {
  if (state.kind === 'in') {
    become({ kind: 'expired', profile: state.profile });
  }
}

function showProfile(problem?: string): void {
  const profile = medplum.getProfile();
  become(profile ? { kind: 'in', profile } : { kind: 'out', ...(problem !== undefined && { problem }) });
}

/** Goes to Medplum to sign in, and later comes back to the place where the person is now. */
export async function signIn(): Promise<void> {
  sessionStorage.setItem(PLACE, window.location.pathname + window.location.search);
  // Medplum's client would ask with an old token when the person comes back, and the refusal would end the new session.
  medplum.clearActiveLogin();
  const redirectUri = signedInAddress(window.location.origin);
  await medplum.signInWithRedirect({ redirectUri, scope: 'openid profile offline_access' });
}

/** Ends the session here and in Medplum. */
export async function signOut(): Promise<void> {
  await medplum.signOut().catch(() => undefined);
  medplum.clearActiveLogin();
  sessionStorage.clear();
  become({ kind: 'out' });
}

/** Where people go after they have signed in: an address of this page and no other. */
function placeBefore(): string {
  const place = sessionStorage.getItem(PLACE) ?? '';
  return place.startsWith(`${FRONT_DESK_PATH}/`) && !place.startsWith(`${FRONT_DESK_PATH}/signed-in`)
    ? place
    : `${FRONT_DESK_PATH}/`;
}

/** Handles what Medplum has sent people back with. Only an answer to a request of this browser counts (`state`). */
async function finishSignIn(answer: URLSearchParams): Promise<string | undefined> {
  const code = answer.get('code');
  const expected = storage.getString('pkceState');
  window.history.replaceState(null, '', placeBefore());
  if (!code) {
    return answer.get('error_description') ?? answer.get('error') ?? undefined;
  }
  if (!expected || answer.get('state') !== expected) {
    return undefined;
  }
  storage.setString('pkceState', undefined);
  try {
    await medplum.processCode(code, { redirectUri: signedInAddress(window.location.origin) });
    return undefined;
  } catch (error) {
    return normalizeErrorString(error);
  }
}

/** Finds out who is signed in, and finishes what a sign-in has begun. */
export async function startSession(): Promise<void> {
  const isBack = window.location.pathname === `${FRONT_DESK_PATH}/signed-in`;
  const problem = isBack ? await finishSignIn(new URLSearchParams(window.location.search)) : undefined;
  await medplum.getProfileAsync().catch(() => undefined);
  showProfile(problem);
}

/**
 * A token that stays valid for a while, or `undefined` if nobody is signed in.
 *
 * @throws Error when it has ended and could not be renewed now: to use it would end the session
 */
export async function accessToken(): Promise<string | undefined> {
  await medplum.refreshIfExpired().catch((error: unknown) => {
    if (medplum.getAccessToken() !== undefined && !medplum.isAuthenticated(0)) {
      throw error;
    }
  });
  return medplum.getAccessToken();
}
