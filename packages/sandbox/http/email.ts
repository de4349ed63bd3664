import { allOk, badRequest, forbidden, OperationOutcomeError } from '@medplum/core';
import type { Project } from '@medplum/fhirtypes';
import type { FastifyInstance } from 'fastify';
import { createTransport } from 'nodemailer';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { sendOutcome } from './answer.ts';
import type { Authenticate } from './binary.ts';

/** The fields that Medplum passes on to nodemailer. Files and URLs to fetch are left out. */
const mailShape = z.looseObject({
  to: z.string({ error: 'To is required' }).min(1, { error: 'To is required' }),
  subject: z.string({ error: 'Subject is required' }).min(1, { error: 'Subject is required' }),
});

function mailServerOf({ secret = [] }: Project) {
  const secretOf = (name: string) => secret.find((one) => one.name === name);
  const [host, port] = [secretOf('smtpHost')?.valueString, secretOf('smtpPort')?.valueInteger];
  const [user, pass] = [secretOf('smtpUsername')?.valueString, secretOf('smtpPassword')?.valueString];
  const from = secretOf('smtpFromAddress')?.valueString;
  if (!host) {
    return undefined;
  }
  if (!port || !user || !pass || !from) {
    throw new Error('Project SMTP configuration is incomplete or invalid');
  }
  const secure = secretOf('smtpSecure')?.valueBoolean ?? port === 465;
  const approved = secretOf('smtpApprovedSenders')?.valueString?.split(',') ?? [];
  return { transport: { host, port, secure, auth: { user, pass } }, from, approved };
}

/** The requested sender if the project allows it, else the default one. */
const senderOf = (
  asked: unknown,
  { from, approved }: { readonly from: string; readonly approved: readonly string[] },
) => (typeof asked === 'string' && approved.includes(/<([^<>]*)>/.exec(asked)?.[1] ?? asked) ? asked : from);

/**
 * `POST /email/v1/send`, for administrators in projects with the feature `email`: sends over the SMTP server in the
 * secrets of the project. Without one it accepts the e-mail and sends nothing, as Medplum does with `emailProvider`
 * none.
 */
export function emailRoutes(app: FastifyInstance, { platform }: Services, authenticate: Authenticate): void {
  app.post('/email/v1/send', async (request, reply) => {
    const { project, membership } = authenticate(request, reply);
    if (!project.features?.includes('email') || !membership.admin) {
      throw new OperationOutcomeError(forbidden);
    }
    const mail = mailShape.safeParse(request.body);
    if (!mail.success) {
      throw new OperationOutcomeError(badRequest(mail.error.issues[0]?.message ?? ''));
    }
    const server = mailServerOf(project);
    if (server) {
      const from = senderOf(mail.data.from, server);
      const options = { ...mail.data, from, sender: from, disableFileAccess: true, disableUrlAccess: true };
      await createTransport(server.transport).sendMail(options);
    } else {
      platform.logger.info('No mail server: an e-mail is not sent', {});
    }
    return sendOutcome(request, reply, allOk);
  });
}
