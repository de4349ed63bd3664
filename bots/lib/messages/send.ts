import { createHmac } from 'node:crypto';
import { clearTimeout, setTimeout } from 'node:timers';
import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Mail, Message } from '../../../core/messages/message.ts';
import type { Medium } from '../../../core/messages/recipient.ts';
import { type BotResponse, post, type RequestFailure } from '../medplum.ts';

/** The result of an attempt, with the reason for staff and operators. */
type Attempt = { readonly kind: 'taken' } | { readonly kind: 'refused' | 'unanswered'; readonly reason: string };

/** The address and credentials for SMS, from the project's secrets. */
interface Gateway {
  readonly url: string;
  readonly secret: string;
}

/** The gateway for SMS of the clinic, from the secrets `smsWebhook` and `smsSecret` of the project. */
function gatewayOf(secrets: BotEvent['secrets']): Gateway | undefined {
  const [url, secret] = [secrets.smsWebhook?.valueString ?? '', secrets.smsSecret?.valueString ?? ''];
  return URL.canParse(url) && /^https?:/.test(url) && secret ? { url, secret } : undefined;
}

/** The media of messages: e-mail, and SMS if the project has a gateway for it. */
export const mediaOf = (secrets: BotEvent['secrets']): Medium[] => [
  'email',
  ...(gatewayOf(secrets) ? (['sms'] as const) : []),
];

/** How long the gateway for SMS may take, in milliseconds: the Bot has ten seconds. */
const LIMIT = 4_000;

const attemptOf = (response: BotResponse | RequestFailure, who: string): Attempt => {
  if (response === 'not-connected') {
    return { kind: 'refused', reason: `${who} cannot be reached.` };
  }
  if (typeof response === 'string') {
    return { kind: 'unanswered', reason: `${who} did not answer.` };
  }
  const { status } = response;
  return status >= 200 && status < 300
    ? { kind: 'taken' }
    : { kind: 'refused', reason: `${who} answered with status ${status}.` };
};

/** Sends an e-mail through Medplum's mail server; the reason of a refusal is in Medplum's log. */
async function sendMail(medplum: MedplumClient, mail: Mail): Promise<Attempt> {
  return attemptOf(await post(medplum, 'email/v1/send', mail), 'The mail server of Medplum');
}

/**
 * Sends an SMS to the webhook of the clinic, signed as Standard Webhooks are. Its id is the same in each attempt.
 * @see https://www.standardwebhooks.com/
 */
async function sendSms({ url, secret }: Gateway, id: string, to: string, text: string): Promise<Attempt> {
  const body = JSON.stringify({ type: 'sms', data: { to, text } });
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
  const { promise: late, resolve } = Promise.withResolvers<RequestFailure>();
  const timer = setTimeout(() => resolve('too-late'), LIMIT);
  const sent = fetch(url, { method: 'POST', redirect: 'error', headers, body }).then(
    ({ status }): BotResponse => ({ status, body: undefined }),
    (): RequestFailure => 'no-answer',
  );
  return attemptOf(await Promise.race([sent, late]).finally(() => clearTimeout(timer)), 'The gateway for SMS');
}

/**
 * Sends a message once. `unanswered` leaves open whether it was sent.
 * @param id - the same for each attempt, so that the SMS gateway can recognize a copy; not used for e-mail
 */
export function sendMessage(
  medplum: MedplumClient,
  secrets: BotEvent['secrets'],
  message: Message,
  id: string,
): Promise<Attempt> {
  const gateway = gatewayOf(secrets);
  if (message.medium === 'email') {
    return sendMail(medplum, message.mail);
  }
  return gateway
    ? sendSms(gateway, id, message.to, message.text)
    : Promise.resolve({ kind: 'refused', reason: 'There is no gateway for SMS.' });
}
