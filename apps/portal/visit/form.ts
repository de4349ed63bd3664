/** What was typed into a form. */
export interface FormValues {
  /** The first value of a field, without white space around it; empty if there is none. */
  readonly get: (field: string) => string;
  /** All values of a field that are not empty. */
  readonly all: (field: string) => readonly string[];
  /** The whole form, as it was sent. */
  readonly text: string;
}

/** How many fields a form has at most. */
const MOST = 400;

/** Reads a form that was sent, `application/x-www-form-urlencoded`. */
export function formValues(body: unknown): FormValues {
  const fields = new Map<string, string[]>();
  const sent = typeof body === 'string' ? body : '';
  const pairs = [...new URLSearchParams(sent)].slice(0, MOST);
  for (const [name, value] of pairs) {
    const text = value.trim();
    if (text !== '') {
      fields.set(name, [...(fields.get(name) ?? []), text]);
    }
  }
  return { get: (field) => fields.get(field)?.[0] ?? '', all: (field) => fields.get(field) ?? [], text: sent };
}

/** A form that nothing was typed into. */
export const emptyForm = formValues('');
