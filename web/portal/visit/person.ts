import type { ContactPoint, Patient } from '@medplum/fhirtypes';
import type { FieldProblem } from '../texts/texts.ts';
import type { FormValues } from './form.ts';

/** What patients say about themselves. */
export interface Person {
  readonly given: string;
  readonly family: string;
  /** `1980-05-17` */
  readonly birthDate: string;
  readonly email: string;
  readonly phone: string;
}

/** The fields of a person, with the longest text of each. */
export const personFields = { given: 80, family: 80, birthDate: 10, email: 120, phone: 40, comment: 1_000 } as const;

type PersonField = keyof typeof personFields;

const EARLIEST = '1880-01-01';

function birthDateProblem(text: string, today: string): FieldProblem | undefined {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text || text < EARLIEST) {
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
  for (const [field, length] of fields.filter(([name]) => !isKnown || name === 'comment')) {
    const text = form.get(field);
    const isRequired = field === 'given' || field === 'family' || field === 'birthDate';
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

/** A person as the Patient that is created with the booking. */
export function toPatient({ given, family, birthDate, email, phone }: Person, system: string, value: string): Patient {
  const telecom: ContactPoint[] = [
    ...(email ? [{ system: 'email' as const, value: email }] : []),
    ...(phone ? [{ system: 'phone' as const, value: phone }] : []),
  ];
  return {
    resourceType: 'Patient',
    id: 'patient',
    identifier: [{ system, value }],
    name: [{ given: given.split(/\s+/), family }],
    birthDate,
    telecom,
  };
}

/** The e-mail address of a patient; empty if there is none. */
export const emailOf = ({ telecom }: Patient): string =>
  (Array.isArray(telecom) ? telecom : []).find(({ system, value }) => system === 'email' && value)?.value ?? '';

/** The name of a patient, as the patient has given it. */
export function nameOf({ name }: Patient): string {
  const [first] = Array.isArray(name) ? name : [];
  return [...(Array.isArray(first?.given) ? first.given : []), first?.family].filter((part) => part).join(' ');
}
