import { once } from 'node:events';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { atEnd } from './at-end.ts';

/** What a mail server does with the next messages. */
export type Behaviour = 'accept' | 'refuse' | 'slow';

/** A mail server, and what it has accepted. */
export interface MailServer {
  readonly port: number;
  readonly mails: Email[];
  behaviour: Behaviour;
  /** The recipients of all that was offered to it. */
  readonly offered: string[];
  /** The part of a mail that a calendar reads. */
  readonly calendarOf: (mail: Email) => string;
}

/** Starts a mail server on a port of its own; it ends with the tests of the file. */
export async function startMailServer(slowness = 0): Promise<MailServer> {
  const mails: Email[] = [];
  const offered: string[] = [];
  const state: { behaviour: Behaviour } = { behaviour: 'accept' };
  const server = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    onAuth: (auth, _session, callback) =>
      auth.password === 'password' ? callback(null, { user: 'clinic' }) : callback(new Error('Who are you?')),
    onRcptTo: ({ address }, _session, callback) => {
      offered.push(address);
      callback(state.behaviour === 'refuse' ? new Error('No such mailbox') : null);
    },
    onData: (stream, _session, callback) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        PostalMime.parse(Buffer.concat(chunks)).then(
          (mail) => {
            mails.push(mail);
            setTimeout(callback, state.behaviour === 'slow' ? slowness : 0);
          },
          (error: Error) => callback(error),
        );
      });
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  atEnd(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const address = server.server.address();
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    mails,
    offered,
    get behaviour() {
      return state.behaviour;
    },
    set behaviour(next) {
      state.behaviour = next;
    },
    calendarOf({ attachments }) {
      const found = attachments.find(({ mimeType }) => mimeType === 'application/ics');
      const content = found?.content ?? '';
      const text = typeof content === 'string' ? content : new TextDecoder().decode(content);
      // Long lines go on in the next one.
      return text.replace(/\r?\n[ \t]/g, '');
    },
  };
}

/** The secrets by which a project of Medplum names a mail server. */
export const mailSecrets = (port: number) => [
  { name: 'smtpHost', valueString: '127.0.0.1' },
  { name: 'smtpPort', valueInteger: port },
  { name: 'smtpUsername', valueString: 'clinic' },
  { name: 'smtpPassword', valueString: 'password' },
  { name: 'smtpFromAddress', valueString: 'mail@clinic.example' },
  { name: 'smtpApprovedSenders', valueString: 'appointments@clinic.example' },
];
