import type { Bundle, OperationOutcome, Parameters } from '@medplum/fhirtypes';
import { isObject, isResource, parseJson } from '../../core/fhir/resource.ts';
import { notificationIn } from '../../core/notifications/delivery/message.ts';
import type { Binding, BindingTokens } from './binding-token.ts';

const parameterOf = ({ parameter = [] }: Parameters, name: string) => parameter.find((one) => one.name === name);

/** The binding in the Bot's result, for the named client; `undefined` if the Bot returned anything else. */
export function bindingIn(body: unknown, client: string): Binding | undefined {
  if (!isResource(body, 'Parameters')) {
    return undefined;
  }
  const id = parameterOf(body, 'message-subscription')?.valueString;
  const token = parameterOf(body, 'token')?.valueString;
  const expiration = parameterOf(body, 'expiration')?.valueDateTime;
  const handshake: unknown = parameterOf(body, 'handshake')?.resource;
  return id && token && expiration && isResource(handshake, 'Bundle')
    ? { id, token, expiration, client, handshake }
    : undefined;
}

/** A message of a client on its websocket. */
export type ClientMessage =
  | { readonly kind: 'bind' | 'unbind'; readonly binding: Binding }
  | { readonly kind: 'ping' }
  | { readonly kind: 'malformed'; readonly diagnostics: string };

const verbs = { 'bind-with-token': 'bind', 'unbind-from-token': 'unbind' } as const;

/** The words of a message, which is either JSON as in Medplum or plain text as in R5 (`bind-with-token …`). */
function wordsOf(text: string): readonly [verb?: string, token?: string] {
  if (!text.startsWith('{')) {
    const [verb, token] = text.trim().split(/\s+/, 2);
    return [verb?.replace(/:$/, ''), token];
  }
  const message = parseJson(text);
  const { type, payload } = isObject(message) ? message : {};
  const token = isObject(payload) ? payload.token : undefined;
  return [typeof type === 'string' ? type : undefined, typeof token === 'string' ? token : undefined];
}

/**
 * Reads a message of a client: `bind-with-token`, `unbind-from-token`, `ping`.
 *
 * @param unseal - reads the token of `$get-ws-binding-token`
 * @see https://hl7.org/fhir/R5/subscriptions.html#channels
 */
export function readClientMessage(text: string, unseal: BindingTokens['unseal']): ClientMessage {
  const [verb, token] = wordsOf(text);
  if (verb === 'ping') {
    return { kind: 'ping' };
  }
  if (verb !== 'bind-with-token' && verb !== 'unbind-from-token') {
    return { kind: 'malformed', diagnostics: 'Send bind-with-token and a token from $get-ws-binding-token.' };
  }
  const binding = token === undefined ? undefined : unseal(token);
  return binding
    ? { kind: verbs[verb], binding }
    : { kind: 'malformed', diagnostics: `${verb} needs an unexpired token from $get-ws-binding-token.` };
}

/** A message of Medplum on its websocket that concerns a client. */
export type MedplumMessage =
  | { readonly kind: 'bound'; readonly id: string }
  | { readonly kind: 'notification'; readonly id: string; readonly bundle: Bundle }
  | { readonly kind: 'refusal'; readonly diagnostics: string };

function refusalIn({ issue }: OperationOutcome): MedplumMessage {
  const [first] = Array.isArray(issue) ? issue : [];
  return { kind: 'refusal', diagnostics: first?.details?.text ?? first?.diagnostics ?? 'The token is not accepted.' };
}

/** Reads a message of Medplum; `undefined` if no client needs to know. */
export function readMedplumMessage(text: string): MedplumMessage | undefined {
  const message = parseJson(text);
  if (isResource(message, 'OperationOutcome')) {
    return refusalIn(message);
  }
  const entries: unknown = isResource(message, 'Bundle') ? message.entry : undefined;
  const [status, notified]: unknown[] = Array.isArray(entries) ? entries : [];
  const header = isObject(status) ? status.resource : undefined;
  if (!isObject(header)) {
    return undefined;
  }
  const bundle = notificationIn(isObject(notified) ? notified.resource : undefined);
  const id = (isObject(header.subscription) ? String(header.subscription.reference) : '').replace('Subscription/', '');
  if (header.type === 'handshake') {
    return { kind: 'bound', id };
  }
  return bundle && header.type === 'event-notification' ? { kind: 'notification', id, bundle } : undefined;
}
