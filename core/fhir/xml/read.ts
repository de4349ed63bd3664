import { SaxesParser } from 'saxes';
import { MAX_VALUES } from '../bounds.ts';
import type { Issue } from '../outcome/outcome.ts';
import { type Frame, outermostFrame, type Report } from './frames.ts';

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
 *
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
