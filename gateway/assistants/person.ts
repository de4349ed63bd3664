import { createHash } from 'node:crypto';
import type { Identifier, Patient } from '@medplum/fhirtypes';
import * as z from 'zod';
import { messageLanguages } from '../../core/config/config.ts';
import { mailboxOf } from '../../core/fhir/mailbox.ts';
import { createMemory } from '../medplum/memory.ts';

const name = z.string().trim().min(1).max(100);

/** Who an appointment is for, as an assistant says it. */
export const personSchema = z
  .strictObject({
    given: name.describe('First name'),
    family: name.describe('Last name'),
    birthDate: z.iso.date().describe('YYYY-MM-DD'),
    email: z.email().max(200).optional().describe('Where the clinic asks the person'),
    phone: z
      .string()
      .regex(/^\+?[0-9][0-9 ()/.-]{4,24}$/)
      .optional()
      .describe('For a text message, where the clinic sends any'),
    language: z.enum(messageLanguages).optional().describe('The language in which the clinic writes'),
  })
  .refine(({ email, phone }) => email !== undefined || phone !== undefined, {
    error: 'an e-mail address or a telephone number is needed, to ask the person',
  });

/** Who an appointment is for. */
type AssistedPerson = z.infer<typeof personSchema>;

const hash = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('base64url');

/** By what a client's person is known again: everything that was said, so that nothing of it can be swapped. */
export const identifierOf = (person: AssistedPerson, client: string, origin: string): Identifier => {
  const { given, family, birthDate, email, phone } = person;
  return { system: `${origin}/mcp/person`, value: hash([client, given, family, birthDate, email, phone]) };
};

/** The person as a Patient. */
export function patientOf(
  { given, family, birthDate, email, phone, language }: AssistedPerson,
  own: Identifier,
): Patient {
  return {
    resourceType: 'Patient',
    identifier: [own],
    name: [{ use: 'official', family, given: [given] }],
    birthDate,
    telecom: [
      ...(email ? [{ system: 'email' as const, value: email }] : []),
      ...(phone ? [{ system: 'phone' as const, value: phone }] : []),
    ],
    ...(language && {
      communication: [{ language: { coding: [{ system: 'urn:ietf:bcp:47', code: language }] }, preferred: true }],
    }),
  };
}

/** How often one address is asked in an hour, whichever assistant asks. */
const QUESTIONS = 3;
const HOUR = 3_600_000;

/** Counts the questions to each address. */
export interface Questions {
  /** Counts one; returns what takes it back, or `undefined` if there were too many. */
  readonly take: (person: AssistedPerson) => (() => void) | undefined;
}

/** @param now - the clock, in milliseconds */
export function createQuestions(now: () => number): Questions {
  const asked = createMemory<readonly number[]>(10_000, HOUR, now);
  return {
    take: ({ email, phone }) => {
      const keys = [email, phone].flatMap((one) => (one ? [hash(mailboxOf(one))] : []));
      const at = now();
      const recent = (key: string) => (asked.get(key) ?? []).filter((time) => time > at - HOUR);
      if (keys.some((key) => recent(key).length >= QUESTIONS)) {
        return undefined;
      }
      for (const key of keys) {
        asked.set(key, [...recent(key), at]);
      }
      return () => {
        for (const key of keys) {
          const all = [...recent(key)];
          all.splice(all.indexOf(at), all.includes(at) ? 1 : 0);
          asked.set(key, all);
        }
      };
    },
  };
}
