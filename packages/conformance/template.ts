import { isNamed, nameOf } from './client.ts';
import { isObject } from './resource.ts';

/** The values of placeholders: constants, prepared resources, and kept responses. */
export type Data = Readonly<Record<string, unknown>>;

const placeholder = /\{([A-Za-z][\w-]*(?:\.[\w-]+)*)\}/g;

/** The names of the placeholders in a text, up to the first dot. */
export function namesIn(text: string): string[] {
  return [...text.matchAll(placeholder)].flatMap(([, path]) => path?.split('.')[0] ?? []);
}

const isOfPatient = (entry: unknown): boolean => /(^|\/)Patient\//.test(Object(Object(entry).actor).reference);

/** One step of a placeholder: element, index, `ofPatient` (index of the patient's participant), or `date`. */
function part(value: unknown, step: string): unknown {
  if (typeof value === 'string') {
    return step === 'date' ? value.slice(0, 10) : undefined;
  }
  if (Array.isArray(value)) {
    return step === 'ofPatient' ? value.flatMap((one, at) => (isOfPatient(one) ? [at] : []))[0] : value[Number(step)];
  }
  return isObject(value) ? value[step] : undefined;
}

/** The value of a placeholder; `undefined` if there is none. */
export const lookedUp = (path: string, data: Data): unknown => path.split('.').reduce<unknown>(part, data);

function valueAt(path: string, data: Data): string {
  const value = lookedUp(path, data);
  if (isNamed(value)) {
    return nameOf(value);
  }
  if (value === undefined || typeof value === 'object') {
    throw new Error(`There is no {${path}}.`);
  }
  return String(value);
}

/**
 * Fills in the placeholders of a text: `{slot}` is the reference to a resource, `{slot.start}` an element of it,
 * `{slot.start.date}` its date.
 *
 * @param encode - applied to each value
 * @throws Error that names a placeholder without a value
 */
export function fillText(text: string, data: Data, encode: (value: string) => string = (value) => value): string {
  return text.replace(placeholder, (_, path: string) => encode(valueAt(path, data)));
}

/** Values in queries are encoded, so that they cannot be read as syntax. */
const encoded = (value: string): string => encodeURIComponent(value).replaceAll('%2F', '/').replaceAll('%3A', ':');

/** Parses a request, for example `GET /Slot?schedule={schedule}`, and fills in its placeholders. */
export function fillRequest(text: string, data: Data): { readonly method: string; readonly path: string } {
  const [, method = '', path = '', query] = /^(\w+) ([^?]*)(\?.*)?$/s.exec(text) ?? [];
  const asked = query === undefined ? '' : fillText(query, data, encoded).replaceAll('|', '%7C');
  return { method, path: `${fillText(path, data)}${asked}` };
}

/** Fills in all strings of a value. `{...name}` is replaced by the whole value `name`. */
export function fill(value: unknown, data: Data): unknown {
  if (typeof value === 'string') {
    const [, whole] = /^\{\.\.\.(\w+)\}$/.exec(value) ?? [];
    if (whole !== undefined) {
      return data[whole];
    }
    return fillText(value, data);
  }
  if (Array.isArray(value)) {
    return value.map((one) => fill(one, data));
  }
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one, data)]))
    : value;
}

export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    return [value];
  }
  const parts = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  return parts.flatMap(textsIn);
}
