import type { ElementDefinition } from '@medplum/fhirtypes';
import { servedTypeNames } from '../../gateway/served-types.ts';
import { baseCodes, definedElements } from './definitions.ts';

/**
 * The resource types that the service transfers alone or within others, including possible contained resources of
 * appointments and patients.
 */
const roots = [
  ...servedTypeNames,
  'Bundle',
  'CapabilityStatement',
  'Condition',
  'Coverage',
  'Device',
  'DocumentReference',
  'Encounter',
  'Endpoint',
  'Group',
  'ImmunizationRecommendation',
  'Medication',
  'Observation',
  'OperationOutcome',
  'Parameters',
  'Procedure',
  'RelatedPerson',
  'ServiceRequest',
] as const;

/** The types from which others inherit their first elements, the largest first. */
const bases = ['DomainResource', 'BackboneElement', 'Element'] as const;

const isRoot = (type: string): boolean => roots.some((root) => root === type);

/** FHIR's names of types that ElementDefinitions give in FHIRPath: ids, URLs of extensions. */
function typeOf(code: string): string {
  return code.startsWith('http://hl7.org/fhirpath/') ? 'string' : isRoot(code) ? 'Resource' : code;
}

/**
 * The content of an element: a data type, or a path if it is defined in place or elsewhere. Several are separated by a
 * bar.
 */
function contentOf({ path = '', type = [], contentReference }: ElementDefinition): string {
  const codes = type.map(({ code }) => typeOf(code ?? ''));
  const isInPlace = codes.some((code) => code === 'BackboneElement' || code === 'Element');
  return contentReference ? contentReference.slice(1) : isInPlace ? path : codes.join('|');
}

/** Longer lists, such as all resource types, are left to the server. */
const MAX_CODES = 50;

const codeLists = new Map<string, readonly string[]>();

/** An equals sign and the name of the ValueSet of a code; empty if FHIR does not list its codes. */
function boundTo({ type, binding }: ElementDefinition): string {
  const isBound = type?.[0]?.code === 'code' && binding?.strength === 'required';
  const url = isBound ? binding.valueSet?.split('|')[0] : undefined;
  const codes = url === undefined ? [] : baseCodes(url);
  const name = url?.split('/').at(-1) ?? '';
  if (codes.length === 0 || codes.length > MAX_CODES) {
    return '';
  }
  codeLists.set(name, codes);
  return `=${name}`;
}

const ofMedplum = /^Meta\.(project|author|onBehalfOf|accounts?|compartment|deleted)$/;

function describe(element: ElementDefinition): string {
  const name = element.path?.split('.').at(-1) ?? '';
  const mark = element.representation?.includes('xmlAttr') ? '@' : element.max === '1' ? '' : '*';
  return `${name}${mark}:${contentOf(element)}${boundTo(element)}`;
}

/** The elements of a type and of the types defined in place within it, by path. */
function tablesOf(type: string): Map<string, string[]> {
  const [root, ...elements] = definedElements(type).filter(({ path = '' }) => !ofMedplum.test(path));
  const tables = new Map<string, string[]>([[root?.path ?? type, []]]);
  for (const element of elements) {
    const parent = element.path?.slice(0, element.path.lastIndexOf('.')) ?? '';
    tables.set(parent, [...(tables.get(parent) ?? []), describe(element)]);
  }
  return tables;
}

const isDataType = (type: string): boolean => /^[A-Z][A-Za-z]*$/.test(type) && type !== 'Resource';

function allTables(): Map<string, string[]> {
  const tables = new Map<string, string[]>();
  const waiting: string[] = [...roots, ...bases];
  for (let type = waiting.pop(); type !== undefined; type = waiting.pop()) {
    if (tables.has(type)) {
      continue;
    }
    for (const [path, elements] of tablesOf(type)) {
      tables.set(path, elements);
      waiting.push(
        ...elements.flatMap((element) => element.slice(element.indexOf(':') + 1).split('|')).filter(isDataType),
      );
    }
  }
  return new Map([...tables].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The line of a type: the base stands for inherited elements. */
function lineOf(path: string, elements: readonly string[], tables: ReadonlyMap<string, readonly string[]>): string {
  const base = bases.find(
    (one) => one !== path && tables.get(one)?.every((element, index) => element === elements[index]),
  );
  const own = base ? [base, ...elements.slice(tables.get(base)?.length)] : elements;
  return [path, ...own].join(' ');
}

/** The module with the elements of each type, their order in XML and their codes. */
export function elementsModule(): string {
  const tables = allTables();
  const lines = [...tables].map(([path, elements]) => lineOf(path, elements, tables));
  const lists = [...codeLists].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, codes]) => [name, ...codes].join(' '));
  return `// Generated from the definitions of FHIR R4 by \`npm run generate\`.

/**
 * The types on the wire, one a line: the type whose elements they begin with, if there is one, and their own in FHIR's order.
 * An element is a name, \`*\` if it repeats or \`@\` if it is an attribute in XML, and after a colon its type; a type with a dot
 * is defined in place. After an equals sign comes the list that a code must be from.
 * @see https://hl7.org/fhir/R4/xml.html
 */
export const elementLists = \`
${lines.join('\n')}
\`;

/** The codes that FHIR allows in elements with a required binding, one list a line, its name first. */
export const codeLists = \`
${lists.join('\n')}
\`;
`;
}
