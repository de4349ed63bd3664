import type { Command } from 'commander';
import { artefactUri } from '../core/config/config.ts';
import { isResource } from '../core/fhir/resource.ts';
import { type CredentialArguments, credentialsFrom, withCredentials } from './cli/credentials.ts';
import { loadConfig } from './cli/load-config.ts';
import { connect } from './medplum/connect.ts';

/** The command line: messages to people. */
export function define(command: Command): void {
  command.description('Messages to people about their appointments.');
  withCredentials(command.command('test <address>'))
    .description('Sends a test message by e-mail, as the deployed Bot sends all messages, and says what happened.')
    .action(test);
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
