import { randomBytes, randomUUID } from 'node:crypto';
import { createReference, forbidden, OperationOutcomeError, type WithId } from '@medplum/core';
import type {
  AccessPolicy,
  Bot,
  ClientApplication,
  OperationOutcome,
  Project,
  ProjectMembership,
  Reference,
} from '@medplum/fhirtypes';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Session } from '../platform.ts';
import { repositoryOf, type Services } from '../services.ts';
import type { Authenticate } from './binary.ts';
import { invite, inviteShape } from './invite.ts';

const referenceShape = z.object({ reference: z.string() }).loose();
const clientShape = z.looseObject({ name: z.string().min(1), accessPolicy: referenceShape.optional() });
const botShape = z.object({
  name: z.string().min(1),
  description: z.string().optional(),
  runtimeVersion: z.enum(['awslambda', 'vmcontext']).default('vmcontext'),
  accessPolicy: referenceShape.optional(),
});

function invalid(text: string, path: string): OperationOutcome {
  return {
    resourceType: 'OperationOutcome',
    id: randomUUID(),
    issue: [{ severity: 'error', code: 'invalid', expression: [path], details: { text } }],
  };
}

function parse<T>(shape: z.ZodType<T>, body: unknown, missing: string): T {
  const parsed = shape.safeParse(body);
  if (!parsed.success) {
    throw new OperationOutcomeError(invalid(missing, String(parsed.error.issues[0]?.path[0] ?? 'name')));
  }
  return parsed.data;
}

async function join(
  { systemRepository }: Services,
  project: WithId<Project>,
  profile: WithId<Bot | ClientApplication>,
  accessPolicy: { reference: string } | undefined,
): Promise<void> {
  const reference = createReference(profile);
  await systemRepository.createResource<ProjectMembership>({
    resourceType: 'ProjectMembership',
    project: createReference(project),
    user: reference,
    profile: reference,
    ...(accessPolicy && { accessPolicy: { reference: accessPolicy.reference } satisfies Reference<AccessPolicy> }),
  });
}

async function createClient(server: Services, { project }: Session, body: unknown): Promise<ClientApplication> {
  const { accessPolicy, ...fields } = parse(clientShape, body, 'Client name is required');
  const client = await server.systemRepository.createResource<ClientApplication>({
    secret: randomBytes(32).toString('hex'),
    ...fields,
    resourceType: 'ClientApplication',
    meta: { project: project.id },
  });
  await join(server, project, client, accessPolicy);
  return client;
}

async function createBot(server: Services, session: Session, body: unknown): Promise<Bot> {
  const { accessPolicy, ...fields } = parse(botShape, body, 'Bot name is required');
  const bot = await repositoryOf(server, session).createResource<Bot>({ resourceType: 'Bot', ...fields });
  await join(server, session.project, bot, accessPolicy);
  return bot;
}

/**
 * `/admin/projects/{id}/…`: Medplum's app and command line create clients, Bots and people here, each with a
 * membership. Only administrators of the project are allowed (otherwise 403). As in Medplum, the id in the path is
 * ignored.
 */
export function adminRoutes(app: FastifyInstance, server: Services, authenticate: Authenticate): void {
  function administrator(request: FastifyRequest, reply: FastifyReply): Session {
    const session = authenticate(request, reply);
    if (!session.membership.admin) {
      throw new OperationOutcomeError(forbidden);
    }
    return session;
  }

  app.post('/admin/projects/:projectId/client', async (request, reply) =>
    reply.code(201).send(await createClient(server, administrator(request, reply), request.body)),
  );
  app.post('/admin/projects/:projectId/bot', async (request, reply) =>
    reply.code(201).send(await createBot(server, administrator(request, reply), request.body)),
  );
  app.post('/admin/projects/:projectId/invite', async (request, reply) => {
    const session = administrator(request, reply);
    return invite(server, session, parse(inviteShape, request.body, 'Name and email are required'));
  });
}
