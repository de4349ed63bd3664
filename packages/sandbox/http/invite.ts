import { randomBytes } from 'node:crypto';
import { conflict, createReference, OperationOutcomeError } from '@medplum/core';
import type { Practitioner, ProjectMembership, User } from '@medplum/fhirtypes';
import { z } from 'zod';
import { hashPassword } from '../auth/passwords.ts';
import type { Session } from '../platform.ts';
import { addMember, type Services } from '../services.ts';

const referenceShape = z.object({ reference: z.string() });

/** The body of an invitation: a member of staff, with or without administrator rights. */
export const inviteShape = z.object({
  resourceType: z.literal('Practitioner'),
  firstName: z.string().min(1),
  lastName: z.string().min(1),
  email: z.email(),
  password: z.string().min(8).optional(),
  membership: z.object({ accessPolicy: referenceShape.optional(), admin: z.boolean().optional() }).default({}),
});

/**
 * `POST /admin/projects/{id}/invite`: creates a person who can sign in, with a Practitioner as the profile. No e-mail
 * is sent.
 *
 * @throws OperationOutcomeError (409) if the person is already a member
 * @see https://www.medplum.com/docs/user-management
 */
export async function invite(
  { systemRepository }: Services,
  { project }: Session,
  request: z.infer<typeof inviteShape>,
): Promise<ProjectMembership> {
  const { firstName, lastName, membership } = request;
  const email = request.email.toLowerCase();
  return systemRepository.withTransaction(async (transaction) => {
    const users = await transaction.searchResources<User>({ resourceType: 'User', count: 1000 });
    if (users.some((user) => user.email === email)) {
      throw new OperationOutcomeError(conflict('User is already a member of this project'));
    }
    const user = await transaction.createResource<User>({
      resourceType: 'User',
      firstName,
      lastName,
      email,
      passwordHash: hashPassword(request.password ?? randomBytes(16).toString('hex')),
    });
    const profile = await transaction.createResource<Practitioner>({
      resourceType: 'Practitioner',
      meta: { project: project.id },
      name: [{ given: [firstName], family: lastName }],
      telecom: [{ system: 'email', use: 'work', value: email }],
    });
    return addMember(transaction, project, {
      ...membership,
      user: createReference(user),
      profile: createReference(profile),
    });
  });
}
