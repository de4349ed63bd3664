import type { Resource } from '@medplum/fhirtypes';
import { SaxesParser } from 'saxes';
import { isObject } from '../resource.ts';
import { type Element, type Elements, elementsOf, FHIR_NAMESPACE, XHTML_NAMESPACE } from '../types/structure.ts';
import { attribute, escapeText } from './escape.ts';

/** The narrative of a resource in XML: unchanged if it is a well-formed `div`, else as text in a `div`. */
function writeNarrative(div: string): string {
  const parser = new SaxesParser({ xmlns: true });
  let [root, isGood] = ['', true];
  const spoil = (): void => {
    isGood = false;
  };
  parser.on('error', spoil);
  parser.on('doctype', spoil);
  parser.on('opentag', ({ name, uri }) => {
    root ||= `${name} ${uri}`;
  });
  const text = div.trim();
  const isDiv = /^<div[\s/>]/.test(text);
  if (isDiv) {
    parser.write(text).close();
  }
  if (isGood && root === `div ${XHTML_NAMESPACE}`) {
    return text;
  }
  const namespace = attribute('xmlns', XHTML_NAMESPACE);
  const isWithout = isGood && root === 'div ' && !/^<div[^>]*\sxmlns\s*=/.test(text);
  return isWithout ? text.replace('<div', `<div${namespace}`) : `<div${namespace}>${escapeText(div)}</div>`;
}

type Indent = string | undefined;

const deeper = (indent: Indent): Indent => (indent === undefined ? undefined : `${indent}  `);

const lineBreak = (indent: Indent): string => (indent === undefined ? '' : `\n${indent}`);

function tagged(name: string, attributes: string, content: readonly string[], indent: Indent): string {
  const before = lineBreak(indent);
  return content.length === 0
    ? `${before}<${name}${attributes}/>`
    : `${before}<${name}${attributes}>${content.join('')}${before}</${name}>`;
}

function namesOf(value: object, elements: Elements | undefined): string[] {
  const present = new Set(Object.keys(value).map((key) => key.replace(/^_/, '')));
  present.delete('resourceType');
  const known = [...(elements?.keys() ?? [])].filter((name) => present.has(name));
  return [...new Set([...known, ...present])];
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

/** Writes a primitive element: its value, and its id and extensions (`_name` in JSON). */
function writePrimitive(name: string, value: unknown, more: unknown, indent: Indent): string {
  const { id, ...rest } = isObject(more) ? more : {};
  const attributes = `${id === undefined ? '' : attribute('id', id)}${value === undefined || value === null ? '' : attribute('value', value)}`;
  return tagged(name, attributes, writeElements(rest, elementsOf('Element'), deeper(indent)), indent);
}

/** One occurrence of an element; `more` is the id and extensions of a primitive. */
function writeOne(name: string, value: unknown, more: unknown, element: Element | undefined, indent: Indent): string {
  if (element?.type === 'xhtml' && typeof value === 'string') {
    return `${lineBreak(indent)}${writeNarrative(value)}`;
  }
  if (!isObject(value)) {
    return writePrimitive(name, value, more, indent);
  }
  if (typeof value.resourceType === 'string') {
    return tagged(name, '', [writeResource(value, value.resourceType, '', deeper(indent))], indent);
  }
  return writeComplex(name, value, element?.type ?? '', indent);
}

function writeElements(value: Readonly<Record<string, unknown>>, elements: Elements | undefined, indent: Indent) {
  return namesOf(value, elements).flatMap((name) => {
    const element = elements?.get(name);
    const [values, more] = [listOf(value[name]), listOf(value[`_${name}`])];
    const count = element?.isAttribute ? 0 : Math.max(values.length, more.length);
    return Array.from({ length: count }, (_, index) => [values[index], more[index]] as const)
      .filter(([one, extra]) => (one ?? extra) !== null && (one ?? extra) !== undefined)
      .map(([one, extra]) => writeOne(name, one, extra, element, indent));
  });
}

function writeComplex(name: string, value: Readonly<Record<string, unknown>>, type: string, indent: Indent): string {
  const elements = elementsOf(type) ?? elementsOf(/^(modifierE|e)xtension$/.test(name) ? 'Extension' : 'Element');
  const attributes = [...(elements ?? [])]
    .filter(([key, { isAttribute }]) => isAttribute && value[key] !== undefined)
    .map(([key]) => attribute(key, value[key]));
  return tagged(name, attributes.join(''), writeElements(value, elements, deeper(indent)), indent);
}

function writeResource(value: object, type: string, attributes: string, indent: Indent): string {
  const elements = elementsOf(type) ?? elementsOf('DomainResource');
  return tagged(type, attributes, writeElements({ ...value }, elements, deeper(indent)), indent);
}

/**
 * Writes a resource as XML: known elements in FHIR's order, then unknown ones, as in a contained resource of another
 * type. A narrative that is not well-formed is written as text. `pretty` adds line breaks and indentation.
 * @see https://hl7.org/fhir/R4/xml.html
 */
export function toXml(resource: Resource, pretty = false): string {
  const attributes = ` xmlns="${FHIR_NAMESPACE}"`;
  const root = writeResource(resource, resource.resourceType, attributes, pretty ? '' : undefined);
  return `<?xml version="1.0" encoding="UTF-8"?>${root}${pretty ? '\n' : ''}`;
}
