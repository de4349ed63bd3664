import { randomBytes, randomUUID } from 'node:crypto';
import { badRequest, createReference, forbidden, OperationOutcomeError, type WithId } from '@medplum/core';
import type { Bot, ClientApplication } from '@medplum/fhirtypes';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Session } from '../platform.ts';
import { addMember, repositoryOf, type Services } from '../services.ts';
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

function parse<T>(shape: z.ZodType<T>, body: unknown, missing: string): T {
  const parsed = shape.safeParse(body);
  if (!parsed.success) {
    const path = String(parsed.error.issues[0]?.path[0] ?? 'name');
    throw new OperationOutcomeError({ ...badRequest(missing, path), id: randomUUID() });
  }
  return parsed.data;
}

function ownUser(profile: WithId<Bot | ClientApplication>, accessPolicy: { reference: string } | undefined) {
  const user = createReference(profile);
  return { user, profile: user, ...(accessPolicy && { accessPolicy: { reference: accessPolicy.reference } }) };
}

async function createClient(server: Services, { project }: Session, body: unknown): Promise<ClientApplication> {
  const { accessPolicy, ...fields } = parse(clientShape, body, 'Client name is required');
  const client = await server.systemRepository.createResource<ClientApplication>({
    secret: randomBytes(32).toString('hex'),
    ...fields,
    resourceType: 'ClientApplication',
    meta: { project: project.id },
  });
  await addMember(server.systemRepository, project, ownUser(client, accessPolicy));
  return client;
}

async function createBot(server: Services, session: Session, body: unknown): Promise<Bot> {
  const { accessPolicy, ...fields } = parse(botShape, body, 'Bot name is required');
  const bot = await repositoryOf(server, session).createResource<Bot>({ resourceType: 'Bot', ...fields });
  await addMember(server.systemRepository, session.project, ownUser(bot, accessPolicy));
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
