import type { Bundle, Communication } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import { artefactUri } from '../core/config/config.ts';
import { isResource } from '../core/fhir/resource.ts';
import { updateEntry } from '../core/fhir/update-entry.ts';
import { endedCommunication, numberSearch } from '../core/messages/message.ts';
import { returnedIn } from '../core/messages/returned.ts';
import { creation, newRow } from '../core/rows/row.ts';
import { type CredentialArguments, credentialsFrom, withCredentials } from './cli/credentials.ts';
import { loadConfig } from './cli/load-config.ts';
import { connect } from './medplum/connect.ts';

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

/** How much of a mail is read, in characters: what a mail server says stands before what it returns. */
const LONGEST = 1_000_000;

async function readMail(): Promise<string> {
  let mail = '';
  for await (const piece of process.stdin.setEncoding('utf8')) {
    mail += piece;
    if (mail.length >= LONGEST) {
      break;
    }
  }
  return mail.slice(0, LONGEST);
}

async function returned(given: CredentialArguments): Promise<void> {
  const config = loadConfig(given.config);
  const found = returnedIn(await readMail());
  if (!found) {
    console.log('Nothing to do: this mail does not say that a message of this clinic was not delivered.');
    return;
  }
  const { medplum } = await connect(credentialsFrom(given));
  const url = medplum.fhirUrl(numberSearch(found.number, config));
  const { entry = [] } = await medplum.get<Bundle<Communication>>(url, { cache: 'no-store' });
  const sent = entry.flatMap(({ resource }) => (resource?.status === 'completed' ? resource : []))[0];
  if (!sent) {
    console.log(`Nothing to do: there is no message ${found.number} that counts as sent.`);
    return;
  }
  const reason = `A mail server returned it with status ${found.status}.`;
  const row = {
    status: 'requested' as const,
    description: `Tell the patient: the message (${sent.topic?.text}) about this appointment came back. ${reason}`,
    focus: { reference: `Appointment/${found.number.split('/')[0]}` },
    ...(sent.subject && { for: sent.subject }),
    authoredOn: new Date().toISOString(),
  };
  await medplum.executeBatch({
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      updateEntry(sent, endedCommunication(sent, 'given-up', Date.now(), reason)),
      creation(newRow('undelivered', row, config)),
    ],
  });
  console.log(`The message ${found.number} has not arrived: staff are asked to call.`);
}

/** What an operator can do about a message that was not taken. */
const advice = {
  refused:
    'Is the feature "email" in Project.features, and are smtpHost, smtpPort, smtpUsername, smtpPassword and ' +
    'smtpFromAddress in Project.secret (or a mail server in the configuration of Medplum)? Its log has the reason.',
  unanswered:
    'The message may have been sent all the same: look into the mailbox. A mail server must answer within seconds.',
} as const;

async function test(address: string, given: CredentialArguments): Promise<void> {
  const config = loadConfig(given.config);
  const { medplum } = await connect(credentialsFrom(given));
  const identifier = `${artefactUri(config, 'LocalBot')}|send-messages`;
  const input = { resourceType: 'Parameters', parameter: [{ name: 'to', valueString: address }] };
  const path = `${medplum.fhirUrl('Bot', '$execute')}?identifier=${encodeURIComponent(identifier)}`;
  const answer: unknown = await medplum.post(path, input);
  const parameter = isResource(answer, 'Parameters') ? (answer.parameter ?? []) : [];
  const textOf = (name: string) => parameter.find((one) => one.name === name)?.valueString;
  if (textOf('result') === 'taken') {
    console.log(
      `Medplum has taken the message to ${address} and handed it to its mail server. If it does not arrive, look into the ` +
        'mailbox of the sender for a bounce. A Medplum without a mail server takes messages, too, and sends nothing.',
    );
    return;
  }
  const help = textOf('result') === 'unanswered' ? advice.unanswered : advice.refused;
  throw new Error(`Not sent: ${textOf('reason') ?? 'the Bot send-messages gave no answer.'}\n${help}`);
}
