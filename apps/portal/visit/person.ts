import type { Coding, ContactPoint, Identifier, Patient, RelatedPerson } from '@medplum/fhirtypes';
import { isLocalDay } from '../../../core/time/local-day.ts';
import type { FieldProblem } from '../texts/texts.ts';
import type { FormValues } from './form.ts';

interface Person {
  readonly given: string;
  readonly family: string;
  /** `1980-05-17` */
  readonly birthDate: string;
  readonly email: string;
  readonly phone: string;
}

/** The fields of a person with their maximum lengths. */
export const personFields = {
  ownGiven: 80,
  ownFamily: 80,
  given: 80,
  family: 80,
  birthDate: 10,
  email: 120,
  phone: 40,
  comment: 1_000,
} as const;

export type PersonField = keyof typeof personFields;

/** Relationship to the patient of a person who books for somebody else. */
const relationships: Readonly<Record<'child' | 'care', Coding>> = {
  child: { system: 'http://terminology.hl7.org/CodeSystem/v3-RoleCode', code: 'PRN', display: 'parent' },
  care: { system: 'http://terminology.hl7.org/CodeSystem/v3-RoleClass', code: 'CAREGIVER', display: 'caregiver' },
};

export const relations = ['child', 'care'] as const;

const relationIn = (form: FormValues) => relations.find((one) => one === form.get('for'));

const EARLIEST = '1880-01-01';

function birthDateProblem(text: string, today: string): FieldProblem | undefined {
  if (!isLocalDay(text) || text < EARLIEST) {
    return 'date';
  }
  return text > today ? 'dateInFuture' : undefined;
}

const checks: Readonly<Partial<Record<PersonField, (text: string, today: string) => FieldProblem | undefined>>> = {
  birthDate: birthDateProblem,
  email: (text) => (/^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/.test(text) ? undefined : 'email'),
  phone: (text) => (/^[+0-9][0-9 ()/.-]{4,}$/.test(text) ? undefined : 'phone'),
};

/**
 * Validates the person in a form; returns the problems by field.
 *
 * @param today - the local day of the clinic
 * @param isKnown - whether a known patient was selected, so that their fields are not required
 */
export function personProblems(form: FormValues, today: string, isKnown: boolean): Map<string, FieldProblem> {
  const problems = new Map<string, FieldProblem>();
  const fields = Object.entries(personFields) as [PersonField, number][];
  const isRelated = relationIn(form) !== undefined;
  const applies = (field: PersonField): boolean =>
    field.startsWith('own') ? isRelated : !isKnown || field === 'comment';
  for (const [field, length] of fields.filter(([name]) => applies(name))) {
    const text = form.get(field);
    const isRequired = !['email', 'phone', 'comment'].includes(field);
    const problem =
      text === '' ? (isRequired ? 'missing' : undefined) : text.length > length ? 'long' : checks[field]?.(text, today);
    if (problem) {
      problems.set(field, problem);
    }
  }
  if (!isKnown && form.get('email') === '' && form.get('phone') === '') {
    problems.set('email', 'contact');
  }
  return problems;
}

/** Reads the person of a valid form. */
export function personIn(form: FormValues): Person {
  const [given, family, birthDate] = [form.get('given'), form.get('family'), form.get('birthDate')];
  return { given, family, birthDate, email: form.get('email'), phone: form.get('phone') };
}

const telecomOf = (email: string, phone: string): ContactPoint[] => [
  ...(email ? [{ system: 'email' as const, value: email }] : []),
  ...(phone ? [{ system: 'phone' as const, value: phone }] : []),
];

const communicationOf = (language: string | undefined): Pick<Patient, 'communication'> =>
  language === undefined
    ? {}
    : { communication: [{ language: { coding: [{ system: 'urn:ietf:bcp:47', code: language }] }, preferred: true }] };

/** The RelatedPerson who books for the patient; `undefined` if the patient books. */
export function toRelatedPerson(
  form: FormValues,
  system: string,
  value: string,
  language?: string,
): RelatedPerson | undefined {
  const relation = relationIn(form);
  return (
    relation && {
      resourceType: 'RelatedPerson',
      id: 'related',
      // The service replaces the reference by the created Patient.
      patient: { reference: '#patient' },
      identifier: [{ system, value }],
      relationship: [{ coding: [relationships[relation]] }],
      name: [{ given: form.get('ownGiven').split(/\s+/), family: form.get('ownFamily') }],
      telecom: telecomOf(form.get('email'), form.get('phone')),
      ...communicationOf(language),
    }
  );
}

/**
 * The Patient to create with the booking.
 *
 * @param identifiers - one that is the same if the form is submitted again, and one of this request
 */
export function toPatient(
  { given, family, birthDate, email, phone }: Person,
  identifiers: Identifier[],
  language?: string,
): Patient {
  return {
    resourceType: 'Patient',
    id: 'patient',
    identifier: identifiers,
    name: [{ given: given.split(/\s+/), family }],
    birthDate,
    telecom: telecomOf(email, phone),
    ...communicationOf(language),
  };
}
