import { allOk, badRequest, isResourceType, normalizeErrorString, resolveId } from '@medplum/core';
import type { FhirResponse } from '@medplum/fhir-router';
import type { OperationOutcome, Parameters, Subscription } from '@medplum/fhirtypes';
import type { Tokens, VerifiedClaims } from '../auth/tokens.ts';
import type { Session } from '../platform.ts';
import { repositoryOf, type Services } from '../services.ts';

/** The claims of a token that binds a websocket. */
export type BindingClaims = VerifiedClaims & { readonly subscription_id: string; readonly membership_id: string };

/** The reason why a token is refused; `isFatal` if the websocket is closed because of it. */
interface Refusal {
  readonly outcome: OperationOutcome;
  readonly isFatal: boolean;
}

const lifetime = 3600;
const requiredClaims = ['subscription_id', 'login_id', 'membership_id'] as const;

function refusalOf(subscription: Subscription): string | undefined {
  const { channel, criteria } = subscription;
  if (channel.type !== 'websocket') {
    return `Invalid channel type for this operation: ${channel.type}`;
  }
  const [type = ''] = criteria.split('?', 1);
  return isResourceType(type)
    ? undefined
    : `Invalid Subscription criteria: '${criteria}'. '${type}' is not a valid resource type.`;
}

function output({ tokens, platform }: Services, { membership, loginId = '' }: Session, id: string): Parameters {
  const profile = membership.profile.reference ?? '';
  const sub = resolveId(membership.profile) ?? '';
  const claims = { login_id: loginId, sub, profile, scope: 'openid' };
  const token = tokens.issue({ ...claims, subscription_id: id, membership_id: membership.id }, lifetime);
  return {
    resourceType: 'Parameters',
    parameter: [
      { name: 'token', valueString: token },
      { name: 'expiration', valueDateTime: new Date(platform.now().getTime() + lifetime * 1000).toISOString() },
      { name: 'subscription', valueString: id },
      { name: 'websocket-url', valueUrl: `${platform.baseUrl().replace(/^http/, 'ws')}ws/subscriptions-r4` },
    ],
  };
}

/**
 * `GET Subscription/{id}/$get-ws-binding-token`: the token that binds a websocket to a Subscription, for any caller
 * that may read it. As in Medplum, it is valid for an hour and is also an access token.
 *
 * @returns Parameters, or 400
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/OperationDefinition-backport-subscription-get-ws-binding-token.html
 */
export async function websocketBindingToken(server: Services, session: Session, id: string): Promise<FhirResponse> {
  if (!session.project.features?.includes('websocket-subscriptions')) {
    return [badRequest('WebSocket subscriptions not enabled for current project')];
  }
  let subscription: Subscription;
  try {
    subscription = await repositoryOf(server, session).readResource<Subscription>('Subscription', id);
  } catch (error) {
    return [badRequest(`Error reading subscription: ${normalizeErrorString(error)}`)];
  }
  const reason = refusalOf(subscription);
  return reason ? [badRequest(reason)] : [allOk, output(server, session, id)];
}

function isComplete(claims: VerifiedClaims): claims is BindingClaims {
  return requiredClaims.every((name) => claims[name]);
}

/** Verifies a token that a websocket has sent. */
export function readBindingToken(tokens: Pick<Tokens, 'verify'>, token: string): BindingClaims | Refusal {
  const claims = tokens.verify(token);
  if (!claims) {
    return { outcome: badRequest('Token failed to validate. Check token expiry.'), isFatal: false };
  }
  if (isComplete(claims)) {
    return claims;
  }
  const missing = requiredClaims.find((name) => !claims[name]);
  const text = `Token claims missing ${missing}. Make sure you are sending the correct token.`;
  return { outcome: badRequest(text), isFatal: true };
}
