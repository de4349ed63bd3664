import { ClientStorage, MedplumClient, normalizeErrorString } from '@medplum/core';
import type { Practitioner } from '@medplum/fhirtypes';
import { FRONT_DESK_PATH, signedInAddress } from '../../settings.ts';
import { settings } from '../settings.ts';

/** The state of the session; `expired` if it has just ended and its work is still on the page. */
type SessionState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'out'; readonly problem?: string }
  | { readonly kind: 'in' | 'expired'; readonly profile: Person };

/** The signed-in person; usually a Practitioner. */
export type Person = Pick<Practitioner, 'id' | 'name'> & { readonly resourceType: string };

/** Storage key of the route before the sign-in. */
const PLACE = 'front-desk-place';

const storage = new ClientStorage();

const medplum = new MedplumClient({
  baseUrl: settings.medplumUrl,
  clientId: settings.clientId,
  storage,
  cacheTime: 0,
  // Server errors must not end the session, but Medplum's client treats them as a refusal.
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

/** The current session. */
export const sessionState = (): SessionState => state;

/** Calls a listener when the session changes; returns a function that removes it. */
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

/** Redirects to Medplum's sign-in, which leads back to the current route. */
export async function signIn(): Promise<void> {
  sessionStorage.setItem(PLACE, window.location.pathname + window.location.search);
  // With an old token, the request after the return would be refused, and Medplum's client would end the new session.
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

/** The route after the sign-in: never outside this page. */
function routeBefore(): string {
  const route = sessionStorage.getItem(PLACE) ?? '';
  return route.startsWith(`${FRONT_DESK_PATH}/`) && !route.startsWith(`${FRONT_DESK_PATH}/signed-in`)
    ? route
    : `${FRONT_DESK_PATH}/`;
}

/** Handles the redirect from Medplum. Only a response to a request of this browser counts (`state`). */
async function finishSignIn(answer: URLSearchParams): Promise<string | undefined> {
  const code = answer.get('code');
  const expected = storage.getString('pkceState');
  window.history.replaceState(null, '', routeBefore());
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

/** Loads the session, and completes a sign-in. */
export async function startSession(): Promise<void> {
  const isBack = window.location.pathname === `${FRONT_DESK_PATH}/signed-in`;
  const problem = isBack ? await finishSignIn(new URLSearchParams(window.location.search)) : undefined;
  await medplum.getProfileAsync().catch(() => undefined);
  showProfile(problem);
}

/**
 * A token that stays valid for a while; `undefined` if nobody is signed in.
 *
 * @throws Error if it has ended and cannot be renewed now: its use would end the session
 */
export async function accessToken(): Promise<string | undefined> {
  await medplum.refreshIfExpired().catch((error: unknown) => {
    if (medplum.getAccessToken() !== undefined && !medplum.isAuthenticated(0)) {
      throw error;
    }
  });
  return medplum.getAccessToken();
}
