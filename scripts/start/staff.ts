import { normalizeOperationOutcome } from '@medplum/core';
import type { PolicyName } from '../../profiles/access-policies.ts';
import type { Connection } from '../medplum/connect.ts';

interface DemoPerson {
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
  readonly password: string;
}

/** Two people, so that each sees the changes of the other. They exist in the embedded Medplum only. */
export const demoStaff: readonly DemoPerson[] = [
  { firstName: 'Maria', lastName: 'Keller', email: 'maria@clinic.example', password: 'front-desk' },
  { firstName: 'Jan', lastName: 'Brandt', email: 'jan@clinic.example', password: 'front-desk' },
];

/** Invites the people of the demo clinic into the embedded Medplum, unless they exist. */
export async function ensureStaff(
  { medplum, projectId }: Connection,
  policies: Readonly<Partial<Record<PolicyName, string>>>,
): Promise<void> {
  for (const person of demoStaff) {
    const membership = { accessPolicy: { reference: `AccessPolicy/${policies['front-desk']}` } };
    await medplum
      .post(`admin/projects/${projectId}/invite`, {
        ...person,
        resourceType: 'Practitioner',
        sendEmail: false,
        membership,
      })
      .catch((error: unknown) => {
        if (normalizeOperationOutcome(error).id !== 'conflict') {
          throw error;
        }
      });
  }
}
