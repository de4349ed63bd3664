import type { Coding, ContactPoint, Identifier, Patient, RelatedPerson } from '@medplum/fhirtypes';
import { isLocalDay } from '../../../core/time/local-day.ts';
import type { FieldProblem } from '../texts/texts.ts';
import type { FormValues } from './form.ts';

/** What patients say about themselves. */
interface Person {
  readonly given: string;
  readonly family: string;
  /** `1980-05-17` */
  readonly birthDate: string;
  readonly email: string;
  readonly phone: string;
}

/** The fields of a person, with the longest text of each. */
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

/** One of them. */
export type PersonField = keyof typeof personFields;

/** For whom somebody books besides themselves: what they are to the patient. */
const relationships: Readonly<Record<'child' | 'care', Coding>> = {
  child: { system: 'http://terminology.hl7.org/CodeSystem/v3-RoleCode', code: 'PRN', display: 'parent' },
  care: { system: 'http://terminology.hl7.org/CodeSystem/v3-RoleClass', code: 'CAREGIVER', display: 'caregiver' },
};

/** The choices of the form. */
export const relations = ['child', 'care'] as const;

const relationIn = (form: FormValues) => relations.find((one) => one === form.get('for'));

const EARLIEST = '1880-01-01';

function birthDateProblem(text: string, today: string): FieldProblem | undefined {
  if (!isLocalDay(text) || text < EARLIEST) {
    return 'date';
  }
  return text > today ? 'dateInFuture' : undefined;
}

/** What is wrong with a field that is not empty. */
const checks: Readonly<Partial<Record<PersonField, (text: string, today: string) => FieldProblem | undefined>>> = {
  birthDate: birthDateProblem,
  email: (text) => (/^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/.test(text) ? undefined : 'email'),
  phone: (text) => (/^[+0-9][0-9 ()/.-]{4,}$/.test(text) ? undefined : 'phone'),
};

/**
 * What is wrong with the person in a form, by field.
 *
 * @param today - the local day of the clinic
 * @param isKnown - whether a known patient was chosen: then the form need not say who it is
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

/** The person in a form that has no problems. */
export function personIn(form: FormValues): Person {
  const [given, family, birthDate] = [form.get('given'), form.get('family'), form.get('birthDate')];
  return { given, family, birthDate, email: form.get('email'), phone: form.get('phone') };
}

const telecomOf = (email: string, phone: string): ContactPoint[] => [
  ...(email ? [{ system: 'email' as const, value: email }] : []),
  ...(phone ? [{ system: 'phone' as const, value: phone }] : []),
];

/** The language in which messages are wanted: that of the form. */
const communicationOf = (language: string | undefined): Pick<Patient, 'communication'> =>
  language === undefined
    ? {}
    : { communication: [{ language: { coding: [{ system: 'urn:ietf:bcp:47', code: language }] }, preferred: true }] };

/**
 * Who books for the patient of a form, as the RelatedPerson that is created with the booking; nobody: for themselves.
 *
 * @param language - in which messages are wanted
 */
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
      // The service names the patient that it makes.
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
 * A person as the Patient that is created with the booking.
 *
 * @param identifiers - the one by which a form that is sent again means the same record, and one of this request alone
 * @param language - in which messages are wanted
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
