import { type XmlReading, xmlReader } from '../../core/fhir/xml/read.ts';

/** Reads a resource from a whole XML text. */
export function readXml(text: string, depth = 64): XmlReading {
  const reader = xmlReader(depth);
  reader.write(text);
  return reader.end();
}
