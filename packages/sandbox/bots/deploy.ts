import { allOk, badRequest, ContentType, createReference, normalizeOperationOutcome, type WithId } from '@medplum/core';
import type { FhirResponse } from '@medplum/fhir-router';
import type { Binary, Bot, OperationOutcome } from '@medplum/fhirtypes';
import { z } from 'zod';
import { findMembership } from '../access/membership.ts';
import type { Session } from '../platform.ts';
import { repositoryOf, type Services } from '../services.ts';

const bodyShape = z.object({ code: z.string().optional(), filename: z.string().default('index.js') });

function isEnabled(session: Session): boolean {
  return Boolean(session.project.features?.includes('bots'));
}

function warnings({ platform }: Services, bot: WithId<Bot>): string[] {
  const isMember = bot.runAsUser || findMembership(platform.unit, createReference(bot));
  return isMember ? [] : ['Could not find ProjectMembership for Bot'];
}

function success(texts: readonly string[]): OperationOutcome {
  const issues = texts.map((text) => ({
    severity: 'warning' as const,
    code: 'business-rule' as const,
    details: { text },
  }));
  return { ...allOk, issue: [...allOk.issue, ...issues] };
}

async function storeCode(server: Services, session: Session, bot: WithId<Bot>, code: string, title: string) {
  const repository = repositoryOf(server, session);
  const contentType = ContentType.JAVASCRIPT;
  const data = Buffer.from(code).toString('base64');
  const binary = await repository.createResource<Binary>({ resourceType: 'Binary', contentType, data });
  await repository.updateResource<Bot>({
    ...bot,
    executableCode: { contentType, url: `Binary/${binary.id}`, title },
  });
}

/**
 * `POST Bot/{id}/$deploy`: stores the code in the body, which the Bot runs from then on.
 *
 * @param body - `{ code, filename }`; without code the Bot must have some already
 * @see https://www.medplum.com/docs/api/fhir/operations/bot-deploy
 */
export async function deployBot(server: Services, session: Session, id: string, body: unknown): Promise<FhirResponse> {
  await repositoryOf(server, session).readResource<Bot>('Bot', id);
  const bot = await server.systemRepository.readResource<Bot>('Bot', id);
  const { code, filename } = bodyShape.parse(body);
  if (!code && !bot.executableCode?.url) {
    return [badRequest('Bot missing executable code')];
  }
  if (!isEnabled(session)) {
    return [badRequest('Bots not enabled')];
  }
  try {
    if (code) {
      await storeCode(server, session, bot, code, filename);
    }
    return [success(warnings(server, bot))];
  } catch (error) {
    return [normalizeOperationOutcome(error)];
  }
}
