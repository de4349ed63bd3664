import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { badRequest, OperationOutcomeError, type WithId } from '@medplum/core';
import type { ClientApplication, ProjectMembership, User } from '@medplum/fhirtypes';
import { resourcesOf, type UnitOfWork } from '../storage/unit-of-work.ts';
import { isPassword } from './passwords.ts';
import { isSame } from './tokens.ts';

interface LoginRequest {
  readonly clientId?: string | undefined;
  readonly email: string;
  readonly password: string;
  readonly scope?: string | undefined;
  readonly codeChallenge?: string | undefined;
  readonly codeChallengeMethod?: string | undefined;
}

/** The sign-in of a person. The sandbox remembers it until it stops. */
export interface Login {
  readonly id: string;
  readonly code: string;
  readonly clientId: string | undefined;
  readonly user: WithId<User>;
  readonly membership: WithId<ProjectMembership>;
  readonly scope: string;
  readonly codeChallenge: string | undefined;
  readonly codeChallengeMethod: string | undefined;
  /** Allows a new access token without a password; it changes with each use. */
  refreshSecret: string | undefined;
  isGranted: boolean;
  isRevoked: boolean;
}

/** The people who have signed in. */
export interface Logins {
  /**
   * Signs a person in.
   *
   * @throws OperationOutcomeError (400) in Medplum's words
   */
  start(request: LoginRequest): Login;
  byCode(code: string): Login | undefined;
  byId(id: string): Login | undefined;
}

type Reader = Pick<UnitOfWork, 'newest'>;

/** A new secret for codes and refresh tokens. */
export const newSecret = (): string => randomBytes(32).toString('hex');

/** Whether the code verifier belongs to the challenge (RFC 7636, section 4.6). */
export function isVerified({ codeChallenge = '', codeChallengeMethod }: Login, verifier: string): boolean {
  const answer = codeChallengeMethod === 'S256' ? createHash('sha256').update(verifier).digest('base64url') : verifier;
  return isSame(answer, codeChallenge);
}

/** The redirect URIs that a client has registered. */
export function redirectUris({ redirectUri, redirectUris: others = [] }: ClientApplication): string[] {
  return [...(redirectUri ? [redirectUri] : []), ...others];
}

function validate({ email, password, codeChallenge, codeChallengeMethod }: LoginRequest): void {
  const problem = !/^[^\s@]+@\S+$/.test(email)
    ? badRequest('Valid email address is required', 'email')
    : password.length < 8
      ? badRequest('Invalid password, must be at least 8 characters', 'password')
      : codeChallenge && !codeChallengeMethod
        ? badRequest('Invalid code challenge method', 'code_challenge_method')
        : undefined;
  if (problem) {
    throw new OperationOutcomeError(problem);
  }
}

/** @param unit - where people and their memberships are read, bypassing all rules */
export function createLogins(unit: Reader): Logins {
  const logins = new Map<string, Login>();
  const where = (isWanted: (login: Login) => boolean) => [...logins.values()].find(isWanted);
  return {
    start(request) {
      validate(request);
      const email = request.email.toLowerCase();
      const user = resourcesOf(unit, 'User').find((one) => one.email === email);
      const members = resourcesOf(unit, 'ProjectMembership');
      const membership = user && members.find((one) => one.user?.reference === `User/${user.id}`);
      if (!user || !membership) {
        throw new OperationOutcomeError(badRequest('User not found'));
      }
      if (!user.passwordHash || !isPassword(request.password, user.passwordHash)) {
        throw new OperationOutcomeError(badRequest('Email or password is invalid'));
      }
      if (membership.active === false) {
        throw new OperationOutcomeError(badRequest('Profile not active'));
      }
      const { clientId, codeChallenge, codeChallengeMethod, scope = 'openid' } = request;
      const login: Login = {
        id: randomUUID(),
        code: newSecret(),
        clientId,
        user,
        membership,
        scope,
        codeChallenge,
        codeChallengeMethod,
        refreshSecret: scope.split(' ').includes('offline_access') ? newSecret() : undefined,
        isGranted: false,
        isRevoked: false,
      };
      logins.set(login.id, login);
      return login;
    },
    byCode: (code) => where((login) => isSame(login.code, code)),
    byId: (id) => logins.get(id),
  };
}
