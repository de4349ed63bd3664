import { codeLists, elementLists } from './elements.ts';

export const FHIR_NAMESPACE = 'http://hl7.org/fhir';

export const XHTML_NAMESPACE = 'http://www.w3.org/1999/xhtml';

/** An element of a FHIR type, by its name in JSON. */
export interface Element {
  /** For example `string`, `Identifier` or `Appointment.participant`; `Resource` for any resource. */
  readonly type: string;
  readonly repeats: boolean;
  readonly isAttribute: boolean;
  /** The name without the type if there is a choice of types (`value` of `valueString`). */
  readonly choice?: string | undefined;
  /** The allowed codes of a required binding. */
  readonly codes?: readonly string[] | undefined;
}

/** The elements of a type in FHIR's order. */
export type Elements = ReadonlyMap<string, Element>;

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const linesOf = (list: string): ReadonlyMap<string, string> =>
  new Map(
    list
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
  );

const lines = linesOf(elementLists);

const codes: ReadonlyMap<string, readonly string[]> = new Map(
  [...linesOf(codeLists)].map(([name, line]) => [name, line.split(' ')]),
);

function parse(text: string): [string, Element][] {
  const [label = '', content = ''] = text.split(':', 2);
  const [type = '', bound = ''] = content.split('=', 2);
  const mark = label.at(-1);
  const name = label.replace(/[*@]$/, '');
  const common = { repeats: mark === '*', isAttribute: mark === '@', codes: codes.get(bound) };
  const choice = name.endsWith('[x]') ? name.slice(0, -'[x]'.length) : undefined;
  return choice
    ? type.split('|').map((one) => [choice + capitalized(one), { ...common, type: one, choice }])
    : [[name, { ...common, type }]];
}

const cache = new Map<string, Elements>();

/** The elements of a type; `undefined` if the service does not exchange it. */
export function elementsOf(type: string): Elements | undefined {
  const [known, line] = [cache.get(type), lines.get(type)];
  if (known || line === undefined) {
    return known;
  }
  const [first = '', ...others] = line.split(' ');
  const base = elementsOf(first);
  const elements: Elements = new Map([...(base ?? parse(first)), ...others.flatMap(parse)]);
  cache.set(type, elements);
  return elements;
}

/** Whether a type is a resource type. The id of a resource is an element, all other ids are attributes. */
export const isResourceType = (type: string): boolean =>
  type !== 'DomainResource' && elementsOf(type)?.get('id')?.isAttribute === false;

/** Whether a type is primitive: its name begins with a lower-case letter. */
export const isPrimitive = (type: string): boolean => /^[a-z]/.test(type);
