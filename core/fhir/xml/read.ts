import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes';
import { MAX_VALUES } from '../bounds.ts';
import type { Issue } from '../outcome/outcome.ts';
import {
  type Element,
  elementsOf,
  FHIR_NAMESPACE,
  isPrimitive,
  isResourceType,
  XHTML_NAMESPACE,
} from '../types/structure.ts';
import { attribute, escapeText } from './escape.ts';

type JsonObject = Record<string, unknown>;

/** The handlers of an open element: for its children, for its text, and for its end. */
interface Frame {
  readonly open: (tag: SaxesTagNS) => Frame;
  readonly text: (text: string) => void;
  readonly close: () => void;
}

/** Stores the value of an element, and its id and extensions (`_name` in JSON) if it is primitive. */
type Store = (value: unknown, more?: JsonObject) => void;

type Report = (diagnostics: string, expression?: string) => void;

/** The namespace of `xsi:schemaLocation`, which is ignored. */
const SCHEMA_INSTANCE = 'http://www.w3.org/2001/XMLSchema-instance';

const attributesOf = ({ attributes }: SaxesTagNS): SaxesAttributeNS[] =>
  Object.values(attributes).filter(
    ({ prefix, name, uri }) => prefix !== 'xmlns' && name !== 'xmlns' && uri !== SCHEMA_INSTANCE,
  );

function refuseAttributes(tag: SaxesTagNS, allowed: readonly string[], path: string, report: Report): void {
  for (const { name } of attributesOf(tag)) {
    if (!allowed.includes(name)) {
      report(`${path} has the attribute ${name}, which FHIR does not define there.`, path);
    }
  }
}

const attributeOf = ({ attributes }: SaxesTagNS, name: string): string | undefined => attributes[name]?.value;

const numbers: readonly string[] = ['decimal', 'integer', 'positiveInt', 'unsignedInt'];

/** A value of the wrong type stays text, and the rules report it. */
function primitive(type: string, text: string): unknown {
  if (type === 'boolean' && /^(true|false)$/.test(text)) {
    return text === 'true';
  }
  return numbers.includes(type) && /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : text;
}

function listIn(target: JsonObject, name: string): unknown[] {
  const list = target[name];
  if (Array.isArray(list)) {
    return list;
  }
  const fresh: unknown[] = [];
  target[name] = fresh;
  return fresh;
}

/** Stores a value as in JSON: repeating elements in a list, their ids and extensions in a second list. */
function put(target: JsonObject, name: string, { repeats }: Element, value: unknown, more?: JsonObject): void {
  const side = `_${name}`;
  if (!repeats) {
    Object.assign(target, value !== undefined && { [name]: value }, more && { [side]: more });
    return;
  }
  const count = listIn(target, name).push(value ?? null);
  if (more || target[side] !== undefined) {
    const extras = listIn(target, side);
    while (extras.length < count - 1) {
      extras.push(null);
    }
    extras.push(more ?? null);
  }
}

const noText =
  (path: string, report: Report): Frame['text'] =>
  (text) => {
    if (text.trim() !== '') {
      report(`${path} contains text; in FHIR XML a value belongs in the attribute value.`, path);
    }
  };

const nothing = (): void => undefined;

const skipped: Frame = { open: () => skipped, text: nothing, close: nothing };

const ofNarrative: readonly string[] = ['', XHTML_NAMESPACE, 'http://www.w3.org/XML/1998/namespace'];

/** The narrative is stored unchanged, except for prefixes. */
function narrativeFrame(tag: SaxesTagNS, path: string, store: Store, report: Report): Frame {
  const parts: string[] = [];
  const inner = (tagged: SaxesTagNS): Frame => {
    const { local, uri, isSelfClosing } = tagged;
    const attributes = attributesOf(tagged);
    const strange = [
      ...(uri === XHTML_NAMESPACE ? [] : [tagged]),
      ...attributes.filter((one) => !ofNarrative.includes(one.uri)),
    ];
    for (const { name } of strange) {
      report(`${path} contains ${name}, which is not in the namespace ${XHTML_NAMESPACE}.`, path);
    }
    const isRoot = parts.length === 0;
    const written = attributes.map(({ prefix, name, local: own, value }) =>
      attribute(prefix === 'xml' ? name : own, value),
    );
    const namespace = isRoot ? attribute('xmlns', XHTML_NAMESPACE) : '';
    parts.push(`<${local}${namespace}${written.join('')}${isSelfClosing ? '/' : ''}>`);
    return {
      open: inner,
      text: (text) => void parts.push(escapeText(text)),
      close: () => {
        parts.push(isSelfClosing ? '' : `</${local}>`);
        if (isRoot) {
          store(parts.join(''));
        }
      },
    };
  };
  return inner(tag);
}

/** An element with a whole resource, such as `contained`. */
function containerFrame(tag: SaxesTagNS, path: string, store: Store, report: Report): Frame {
  refuseAttributes(tag, [], path, report);
  let count = 0;
  return {
    text: noText(path, report),
    open: (inner) => {
      count++;
      return resourceFrame(inner, path, store, report);
    },
    close: () => {
      if (count !== 1) {
        report(`${path} must contain exactly one resource, not ${count}.`, path);
      }
    },
  };
}

/** Reads a primitive: value, and id and extensions. Without a value and extensions it is reported. */
function primitiveFrame(tag: SaxesTagNS, type: string, path: string, store: Store, report: Report): Frame {
  const [id, value] = [attributeOf(tag, 'id'), attributeOf(tag, 'value')];
  const more: JsonObject = id === undefined ? {} : { id };
  refuseAttributes(tag, ['id', 'value'], path, report);
  return {
    ...complexFrame(more, 'Element', path, report),
    close: () => {
      if (value === undefined && more.extension === undefined) {
        report(`${path} has neither a value nor extensions.`, path);
      }
      store(value === undefined ? undefined : primitive(type, value), Object.keys(more).length > 0 ? more : undefined);
    },
  };
}

function frameOf(tag: SaxesTagNS, { type }: Element, path: string, store: Store, report: Report): Frame {
  if (type === 'xhtml') {
    return narrativeFrame(tag, path, store, report);
  }
  if (type === 'Resource') {
    return containerFrame(tag, path, store, report);
  }
  if (isPrimitive(type)) {
    return primitiveFrame(tag, type, path, store, report);
  }
  const allowed = [...(elementsOf(type) ?? [])].flatMap(([name, { isAttribute }]) => (isAttribute ? name : []));
  refuseAttributes(tag, allowed, path, report);
  const given = allowed.map((name) => [name, attributeOf(tag, name)] as const);
  const target: JsonObject = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  return { ...complexFrame(target, type, path, report), close: () => store(target) };
}

/** Reads the child elements into `target`. Unknown and wrongly repeated ones are reported and skipped. */
function complexFrame(target: JsonObject, type: string, path: string, report: Report): Pick<Frame, 'open' | 'text'> {
  const elements = elementsOf(type);
  const counts = new Map<string, number>();
  return {
    text: noText(path, report),
    open: (tag) => {
      const { local: name, uri } = tag;
      const element = elements?.get(name);
      const isFhir = uri === (element?.type === 'xhtml' ? XHTML_NAMESPACE : FHIR_NAMESPACE);
      const index = counts.get(name) ?? 0;
      const own = element?.repeats ? `${path}.${name}[${index}]` : `${path}.${name}`;
      if (!element || element.isAttribute || !isFhir) {
        report(`${path} has no element ${name}${isFhir ? '' : ` in the namespace '${uri}'`}.`, own);
        return skipped;
      }
      if (index > 0 && !element.repeats) {
        report(`${own} must not be repeated.`, own);
        return skipped;
      }
      counts.set(name, index + 1);
      return frameOf(tag, element, own, (value, more) => put(target, name, element, value, more), report);
    },
  };
}

/** Reads a resource. One of an unknown type or namespace is reported and skipped. */
function resourceFrame(tag: SaxesTagNS, path: string | undefined, store: Store, report: Report): Frame {
  const { local: type, uri } = tag;
  if (uri !== FHIR_NAMESPACE || !isResourceType(type)) {
    const where = uri === FHIR_NAMESPACE ? '' : ` in the namespace '${uri}': FHIR's is ${FHIR_NAMESPACE}`;
    report(`This service has no resource type ${type}${where}.`, path);
    return skipped;
  }
  refuseAttributes(tag, [], path ?? type, report);
  const target: JsonObject = { resourceType: type };
  return { ...complexFrame(target, type, path ?? type, report), close: () => store(target) };
}

function outermostFrame(store: (resource: unknown) => void, report: Report): Frame {
  return { open: (tag) => resourceFrame(tag, undefined, store, report), text: nothing, close: nothing };
}

/** The result of reading an XML text: the resource as JSON, or all problems of the text. */
export type XmlReading = { readonly value: unknown } | { readonly issues: readonly Issue[] };

class Unreadable extends Error {}

const MAX_ISSUES = 50;

/** The largest number of attributes; no element of FHIR or of a narrative needs more. */
const MAX_ATTRIBUTES = 50;

interface XmlReader {
  /** Reads the next chunk; `false` if the text cannot be read any further. */
  readonly write: (piece: string) => boolean;
  readonly end: () => XmlReading;
}

/**
 * Reads a resource from XML, nested at most `depth` levels. Everything that FHIR's JSON can express is read; the order
 * of elements does not matter. Document type declarations, and with them custom entities, are refused.
 * @returns a reader whose result is the resource as JSON, or a `malformed-request` for each problem
 * @see https://hl7.org/fhir/R4/xml.html
 */
export function xmlReader(depth: number): XmlReader {
  const issues: Issue[] = [];
  const report: Report = (diagnostics, expression) => {
    issues.push({ code: 'malformed-request', diagnostics, ...(expression && { expression }) });
    if (issues.length >= MAX_ISSUES) {
      throw new Unreadable();
    }
  };
  const fail = (diagnostics: string): never => {
    issues.push({ code: 'malformed-request', diagnostics });
    throw new Unreadable();
  };
  const roots: unknown[] = [];
  const outside = outermostFrame((resource) => void roots.push(resource), report);
  const frames: Frame[] = [outside];
  const current = (): Frame => frames.at(-1) ?? outside;
  const parser = new SaxesParser({ xmlns: true });
  parser.on('error', (error) => fail(`The body is not well-formed XML: ${error.message}`));
  parser.on('doctype', () => fail('The body must not have a DOCTYPE.'));
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !/^(utf-8|us-ascii)$/i.test(encoding)) {
      fail(`The body must be UTF-8, not ${encoding}.`);
    }
  });
  let attributes = 0;
  let elements = 0;
  parser.on('opentagstart', () => {
    elements++;
    if (elements > MAX_VALUES) {
      fail(`The body has more than ${MAX_VALUES} elements.`);
    }
    attributes = 0;
  });
  parser.on('attribute', () => {
    attributes++;
    if (attributes > MAX_ATTRIBUTES) {
      fail(`An element has more than ${MAX_ATTRIBUTES} attributes.`);
    }
  });
  parser.on('opentag', (tag) => {
    if (frames.length > depth) {
      fail(`The body is nested deeper than ${depth} levels.`);
    }
    frames.push(current().open(tag));
  });
  parser.on('text', (content) => current().text(content));
  parser.on('cdata', (content) => current().text(content));
  parser.on('closetag', () => frames.pop()?.close());
  let isOver = false;
  const unlessOver = (act: () => void): boolean => {
    try {
      if (!isOver) {
        act();
      }
    } catch (error) {
      if (!(error instanceof Unreadable)) {
        throw error;
      }
      isOver = true;
    }
    return !isOver;
  };
  return {
    write: (piece) => unlessOver(() => void parser.write(piece)),
    end: () => {
      unlessOver(() => void parser.close());
      return issues.length > 0 ? { issues } : { value: roots[0] };
    },
  };
}
