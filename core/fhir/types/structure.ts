import { isOutOfYears } from '../instant.ts';
import { type Issue, quoted } from '../outcome/outcome.ts';
import { isObject } from '../resource.ts';
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

export type Elements = ReadonlyMap<string, Element>;

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const linesOf = (list: string): ReadonlyMap<string, string> =>
  new Map(
    list
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
  );

// Read on first use, so that a bundle without a use drops the table.
let tables: { readonly lines: ReadonlyMap<string, string>; readonly codes: ReadonlyMap<string, string> } | undefined;

const readTables = () => {
  tables ??= { lines: linesOf(elementLists), codes: linesOf(codeLists) };
  return tables;
};

/** Reads an element of a list; one for each type of a choice (`value[x]`). */
function parseElement(text: string): [string, Element][] {
  const [label = '', content = ''] = text.split(':', 2);
  const [type = '', bound = ''] = content.split('=', 2);
  const mark = label.at(-1);
  const name = label.replace(/[*@]$/, '');
  const common = { repeats: mark === '*', isAttribute: mark === '@', codes: readTables().codes.get(bound)?.split(' ') };
  const choice = name.endsWith('[x]') ? name.slice(0, -'[x]'.length) : undefined;
  return choice
    ? type.split('|').map((one) => [choice + capitalized(one), { ...common, type: one, choice }])
    : [[name, { ...common, type }]];
}

const cache = new Map<string, Elements>();

/** The elements of a type; `undefined` if the service does not exchange it. */
export function elementsOf(type: string): Elements | undefined {
  const [known, line] = [cache.get(type), readTables().lines.get(type)];
  if (known || line === undefined) {
    return known;
  }
  const [first = '', ...others] = line.split(' ');
  const base = elementsOf(first);
  const elements: Elements = new Map([...(base ?? parseElement(first)), ...others.flatMap(parseElement)]);
  cache.set(type, elements);
  return elements;
}

/** Whether a type is a resource type. The id of a resource is an element, all other ids are attributes. */
export const isResourceType = (type: string): boolean =>
  type !== 'DomainResource' && elementsOf(type)?.get('id')?.isAttribute === false;

/** Whether a type is primitive: its name begins with a lower-case letter. */
export const isPrimitive = (type: string): boolean => /^[a-z]/.test(type);

interface Structure {
  /** The value without unreadable parts. Lists keep their length: an unreadable entry becomes empty. */
  readonly readable: unknown;
  /** A `malformed-request` for each unknown element, wrong JSON type, or moment out of range. */
  readonly issues: readonly Issue[];
  /** A `profile-violation` for each code outside its required binding; Medplum does not check them. */
  readonly codes: readonly Issue[];
  readonly unreadable: readonly string[];
}

type Content = Pick<Element, 'type' | 'codes'>;

interface Findings {
  readonly issues: Issue[];
  readonly codes: Issue[];
  readonly unreadable: string[];
}

const ofMedplum: ReadonlyMap<string, readonly string[]> = new Map([
  ['Meta', ['project', 'author', 'onBehalfOf', 'account', 'accounts', 'compartment', 'deleted']],
]);

/** The primitive types that are not strings in JSON. */
const jsonTypes: ReadonlyMap<string, 'boolean' | 'number'> = new Map([
  ['boolean', 'boolean'],
  ['decimal', 'number'],
  ['integer', 'number'],
  ['positiveInt', 'number'],
  ['unsignedInt', 'number'],
]);

const moments: ReadonlySet<string> = new Set(['instant', 'dateTime']);

const emptyOf = { boolean: false, number: 0, string: '' } as const;

/** The largest length of a client's element name in a path. */
const MAX_NAME_LENGTH = 100;

function misshapen(path: string, wanted: string, { issues, unreadable }: Findings): undefined {
  issues.push({ code: 'malformed-request', diagnostics: `${path} must be ${wanted}.`, expression: path });
  unreadable.push(path);
}

/** The element of a name; `_start` has the id and the extensions of a primitive `start`. */
function elementNamed(name: string, elements: Elements): Element | undefined {
  const primitive = name.startsWith('_') ? elements.get(name.slice(1)) : undefined;
  return (
    elements.get(name) ??
    (primitive && isPrimitive(primitive.type) ? { ...primitive, type: 'Element', codes: undefined } : undefined)
  );
}

/** The counterpart `_name` of a primitive `name`. In lists, a missing entry of either is `null`. */
const hasCounterpart = (value: object, name: string): boolean =>
  Object.hasOwn(value, name.startsWith('_') ? name.slice(1) : `_${name}`);

function isBesideElements(name: string, type: string, elements: Elements): boolean {
  const isOfResource = name === 'resourceType' && elements.get('id')?.isAttribute === false;
  return isOfResource || ofMedplum.get(type)?.includes(name) === true;
}

/** Reads an object by the elements of its type; `found` gets the issues. Unknown members stay. */
function readMembers(value: object, type: string, path: string, found: Findings): unknown {
  const elements: Elements = elementsOf(type) ?? new Map();
  const chosen = new Map<string, string>();
  const present = Object.entries(value).filter(([, member]) => member !== undefined);
  const members = present.flatMap(([name, member]: [string, unknown]): [string, unknown][] => {
    const element = elementNamed(name, elements);
    const own = `${path}.${name.slice(0, MAX_NAME_LENGTH)}`;
    if (element) {
      const { choice = name } = element;
      const named = name.replace(/^_/, '');
      const first = chosen.get(choice) ?? named;
      chosen.set(choice, first);
      if (first !== named) {
        const diagnostics = `${path} has both ${first} and ${named}: ${choice}[x] has one type.`;
        found.issues.push({ code: 'malformed-request', diagnostics, expression: own });
      }
      const read = readElement(member, element, own, hasCounterpart(value, name), found);
      return read === undefined ? [] : [[name, read]];
    }
    if (!isBesideElements(name, type, elements)) {
      const diagnostics = `${path} has no element ${quoted(name)}.`;
      found.issues.push({ code: 'malformed-request', diagnostics, expression: own });
    }
    return [[name, member]];
  });
  return Object.fromEntries(members);
}

/** A resource of an unknown type is left to the server. */
function readAnyResource(value: object, path: string, found: Findings): unknown {
  const type = 'resourceType' in value ? value.resourceType : undefined;
  if (typeof type !== 'string') {
    const diagnostics = `${path} must name its resourceType.`;
    found.issues.push({ code: 'malformed-request', diagnostics, expression: path });
    return value;
  }
  return elementsOf(type) ? readMembers(value, type, path, found) : value;
}

/** Reads a primitive; `undefined` and an issue if it has the wrong JSON type or year. A wrong code stays. */
function readPrimitive(value: unknown, { type, codes }: Content, path: string, found: Findings): unknown {
  const wanted = jsonTypes.get(type) ?? 'string';
  if (typeof value !== wanted) {
    return misshapen(path, `a JSON ${wanted}`, found);
  }
  if (typeof value === 'string' && moments.has(type) && isOutOfYears(value)) {
    return misshapen(path, 'in the years 0001 to 9999 (UTC)', found);
  }
  if (typeof value === 'string' && codes?.includes(value) === false) {
    const diagnostics = `${path} must be one of ${codes.join(', ')}, not ${quoted(value)}.`;
    found.codes.push({ code: 'profile-violation', diagnostics, expression: path });
  }
  return value;
}

function readValue(value: unknown, content: Content, path: string, found: Findings): unknown {
  const { type } = content;
  if (isPrimitive(type)) {
    return readPrimitive(value, content, path, found);
  }
  if (!isObject(value)) {
    return misshapen(path, 'a JSON object', found);
  }
  return type === 'Resource' ? readAnyResource(value, path, found) : readMembers(value, type, path, found);
}

/** Reads a single or repeating element; `mayHaveGaps` permits nulls in a list. */
function readElement(value: unknown, element: Element, path: string, mayHaveGaps: boolean, found: Findings): unknown {
  const { type, repeats } = element;
  if (!repeats) {
    return readValue(value, element, path, found);
  }
  if (!Array.isArray(value) || value.length === 0) {
    return misshapen(path, 'a JSON list with at least one entry', found);
  }
  const empty = isPrimitive(type) ? emptyOf[jsonTypes.get(type) ?? 'string'] : {};
  return value.map((entry: unknown, index) =>
    entry === null && mayHaveGaps ? entry : (readValue(entry, element, `${path}[${index}]`, found) ?? empty),
  );
}

/**
 * Compares a JSON value with FHIR's definition of its type, at any depth: names, JSON types, bound codes, and the years
 * of moments (0001 to 9999 in UTC). Formats of dates and required elements are not checked.
 * @param value - at most as deep and as large as `sizeProblem` allows
 * @param type - of a resource or a data type of the service; a value of any other type has no elements
 * @see https://hl7.org/fhir/R4/json.html
 */
export function readStructure(value: unknown, type: string, path: string): Structure {
  const found: Findings = { issues: [], codes: [], unreadable: [] };
  const readable = readValue(value, { type }, path, found);
  return { readable, ...found };
}
