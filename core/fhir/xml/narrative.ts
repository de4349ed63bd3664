import { SaxesParser } from 'saxes';
import { XHTML_NAMESPACE } from '../types/element.ts';
import { attribute, escapeText } from './escape.ts';

/**
 * The narrative of a resource as it stands in XML: as it is if it is a well-formed `div`, else as text in one.
 *
 * @param div - `Narrative.div`
 * @see https://hl7.org/fhir/R4/narrative.html
 */
export function writeNarrative(div: string): string {
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
