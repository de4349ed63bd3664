import { createHash } from 'node:crypto';
import type { Identifier, Patient } from '@medplum/fhirtypes';
import * as z from 'zod';
import { mailboxOf } from '../../core/fhir/mailbox.ts';

const name = z.string().trim().min(1).max(100);

/** The schema of the person whom an appointment is for. */
export const personSchema = (languages: readonly string[]) =>
  z
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
      language: z.enum(languages).optional().describe('The language in which the clinic writes'),
    })
    .refine(({ email, phone }) => email !== undefined || phone !== undefined, {
      error: 'an e-mail address or a telephone number is needed, to ask the person',
    });

type AssistedPerson = z.infer<ReturnType<typeof personSchema>>;

const hash = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('base64url');

/** The identifier of a client's person: a hash of all details, so that none can be exchanged later. */
export const identifierOf = (person: AssistedPerson, client: string, origin: string): Identifier => {
  const { given, family, birthDate, email, phone } = person;
  return { system: `${origin}/mcp/person`, value: hash([client, given, family, birthDate, email, phone]) };
};

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

/** Maximum of requests for consent to one address in an hour, across all assistants. */
const QUESTIONS = 3;
const HOUR = 3_600_000;

/** Maximum of addresses in memory; the least recently used is removed first. */
const MAX_ADDRESSES = 10_000;

/**
 * Limits the requests for consent to each address.
 *
 * @returns a function that counts a request to a person; it returns an undo function, or `undefined` if the limit is
 * reached
 */
export function createQuestions(now: () => number) {
  const asked = new Map<string, readonly number[]>();
  const recent = (key: string) => (asked.get(key) ?? []).filter((time) => time > now() - HOUR && time <= now());
  const keep = (key: string, times: readonly number[]): void => {
    asked.delete(key);
    asked.set(key, times);
    const [oldest = ''] = asked.size > MAX_ADDRESSES ? asked.keys() : [];
    asked.delete(oldest);
  };
  return ({ email, phone }: AssistedPerson): (() => void) | undefined => {
    const keys = [email, phone].flatMap((one) => (one ? [hash(mailboxOf(one))] : []));
    const at = now();
    if (keys.some((key) => recent(key).length >= QUESTIONS)) {
      return undefined;
    }
    for (const key of keys) {
      keep(key, [...recent(key), at]);
    }
    return () => {
      for (const key of keys) {
        const times = recent(key);
        keep(key, times.toSpliced(times.lastIndexOf(at), times.includes(at) ? 1 : 0));
      }
    };
  };
}
