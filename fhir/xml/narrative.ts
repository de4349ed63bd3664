import { SaxesParser } from 'saxes';
import { XHTML_NAMESPACE } from './element.ts';
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
  parser.write(div.trim()).close();
  if (isGood && root === `div ${XHTML_NAMESPACE}`) {
    return div.trim();
  }
  const namespace = attribute('xmlns', XHTML_NAMESPACE);
  return isGood && root === 'div '
    ? div.trim().replace('<div', `<div${namespace}`)
    : `<div${namespace}>${escapeText(div)}</div>`;
}
