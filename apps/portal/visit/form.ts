/** The input of a form. */
export interface FormValues {
  /** The first value of a field, trimmed; empty if there is none. */
  readonly get: (field: string) => string;
  readonly all: (field: string) => readonly string[];
  readonly text: string;
}

const MAX = 400;

/** Parses a form (`application/x-www-form-urlencoded`). */
export function formValues(body: unknown): FormValues {
  const fields = new Map<string, string[]>();
  const sent = typeof body === 'string' ? body : '';
  const pairs = [...new URLSearchParams(sent)].slice(0, MAX);
  for (const [name, value] of pairs) {
    const text = value.trim();
    if (text !== '') {
      fields.set(name, [...(fields.get(name) ?? []), text]);
    }
  }
  return { get: (field) => fields.get(field)?.[0] ?? '', all: (field) => fields.get(field) ?? [], text: sent };
}

export const emptyForm = formValues('');
