import type { Command } from 'commander';
import { isResource } from '../core/fhir/resource.ts';
import { type CredentialArguments, open, withCredentials } from './cli/credentials.ts';
import { callBot } from './medplum/project.ts';

/** The command line: messages to people. */
export function define(command: Command): void {
  command.description('Messages to people about their appointments.');
  withCredentials(command.command('test <address>'))
    .description('Sends a test message by e-mail, as the deployed Bot sends all messages, and says what happened.')
    .action(test);
  withCredentials(command.command('returned'))
    .description('Reads a mail that came back to messages.from (standard input): staff are asked to call.')
    .action(returned);
}

/** Maximum number of characters read from a mail: the report of a mail server precedes the returned message. */
const MAX_LENGTH = 1_000_000;

async function readMail(): Promise<string> {
  let mail = '';
  for await (const piece of process.stdin.setEncoding('utf8')) {
    mail += piece;
    if (mail.length >= MAX_LENGTH) {
      break;
    }
  }
  return mail.slice(0, MAX_LENGTH);
}

/** A message that a mail server reports as undeliverable. */
interface Returned {
  /** The number of the message; see `messageNumber`. */
  readonly number: string;
  /** Reason as a code (RFC 3463), such as `5.1.1`: no such mailbox. */
  readonly status: string;
}

/**
 * The message of this service that a mail reports as undelivered; `undefined` for any other mail, including reports of
 * a delay.
 *
 * @see https://www.rfc-editor.org/rfc/rfc3464
 */
function returnedIn(mail: string): Returned | undefined {
  const [, status] = /^action:[ \t]*failed\b/im.test(mail)
    ? (/^status:[ \t]*(5(?:\.\d{1,3}){2})\b/im.exec(mail) ?? [])
    : [];
  const [, appointment, count] = /^message-id:\s{0,8}<([0-9a-f-]{36})\.(\d{1,6})@/im.exec(mail) ?? [];
  return status === undefined || appointment === undefined ? undefined : { number: `${appointment}/${count}`, status };
}

async function returned(given: CredentialArguments): Promise<void> {
  const found = returnedIn(await readMail());
  if (!found) {
    console.log('Nothing to do: this mail does not say that a message of this clinic was not delivered.');
    return;
  }
  const { number, status } = found;
  const { result, reason } = await ask(given, { returned: number, status });
  if (result !== 'returned' && result !== 'unknown') {
    throw new Error(`Not noted: ${reason ?? 'the Bot send-messages gave no answer. Is it deployed as it is here?'}`);
  }
  console.log(
    result === 'returned'
      ? `The message ${number} has not arrived: staff are asked to call, or the next who waits is asked.`
      : `Nothing to do: there is no message ${number} that counts as sent.`,
  );
}

async function ask(given: CredentialArguments, said: Readonly<Record<string, string>>) {
  const { medplum, config } = await open(given);
  const parameter = Object.entries(said).map(([name, valueString]) => ({ name, valueString }));
  const answer = await callBot(medplum, 'send-messages', { resourceType: 'Parameters', parameter }, config);
  const found = isResource(answer, 'Parameters') ? (answer.parameter ?? []) : [];
  const textOf = (name: string) => found.find((one) => one.name === name)?.valueString;
  return { result: textOf('result'), reason: textOf('reason') };
}

const advice = {
  refused:
    'Is the feature "email" in Project.features, and are smtpHost, smtpPort, smtpUsername, smtpPassword and ' +
    'smtpFromAddress in Project.secret (or a mail server in the configuration of Medplum)? Its log has the reason.',
  unanswered:
    'The message may have been sent all the same: look into the mailbox. A mail server must answer within seconds.',
} as const;

async function test(address: string, given: CredentialArguments): Promise<void> {
  const { result, reason } = await ask(given, { to: address });
  if (result === 'taken') {
    console.log(
      `Medplum has taken the message to ${address} and handed it to its mail server. If it does not arrive, look into the ` +
        'mailbox of the sender for a bounce. A Medplum without a mail server takes messages, too, and sends nothing.',
    );
    return;
  }
  const help = result === 'unanswered' ? advice.unanswered : advice.refused;
  throw new Error(`Not sent: ${reason ?? 'the Bot send-messages gave no answer.'}\n${help}`);
}
