import { describe, expect, test } from '@jest/globals';
import { formatOfBody, isForm, isJsonPatch, negotiate } from '../../../gateway/http/content-negotiation.ts';

describe('content negotiation', () => {
  test.each([
    [undefined, undefined, 'json'],
    ['', undefined, 'json'],
    ['*/*', undefined, 'json'],
    ['application/*', undefined, 'json'],
    ['application/fhir+json', undefined, 'json'],
    ['application/json;charset=utf-8', undefined, 'json'],
    ['APPLICATION/FHIR+JSON', undefined, 'json'],
    ['text/html, application/xhtml+xml, */*;q=0.8', undefined, 'json'],
    ['application/fhir+xml;q=0.1, application/fhir+json;q=0.9', undefined, 'json'],
    ['application/fhir+json; fhirVersion=4.0', undefined, 'json'],
    ['text/html', 'json', 'json'],
    ['text/html', 'application/fhir+json', 'json'],
    [undefined, 'application/fhir json', 'json'],
    ['application/json', '', 'json'],
    ['text/html', undefined, undefined],
    ['application/fhir+xml', undefined, 'xml'],
    ['application/fhir+xml, application/fhir+json', undefined, 'json'],
    ['application/fhir+xml, */*;q=0.5', undefined, 'xml'],
    ['application/fhir+json;q=0.1, application/json;q=0, application/fhir+xml;q=0.9', undefined, 'xml'],
    ['application/fhir+json', 'xml', 'xml'],
    ['text/html', 'application/fhir xml', 'xml'],
    ['application/json', 'text/xml', 'xml'],
    ['application/json', 'application/xml', 'xml'],
    ['application/xml', undefined, 'xml'],
    ['text/xml', undefined, 'xml'],
    ['text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8', undefined, 'xml'],
    ['*/*;q=0', undefined, undefined],
    ['application/fhir+json;q=0, application/json;q=0, */*', undefined, 'xml'],
    ['application/fhir+json; fhirVersion=5.0', undefined, undefined],
    ['application/json', 'text/turtle', undefined],
    ['text/html', 'application/fhir+json; fhirVersion=4.0.1', 'json'],
    ['application/json', 'application/fhir+json; fhirVersion=5.0', undefined],
    ['application/json', 'application/fhir json;fhirVersion=5.0', undefined],
    [' , ', undefined, 'json'],
    ['text/*', undefined, 'xml'],
    ['image/*', undefined, undefined],
    ['application/json; Q=0, text/xml', undefined, 'xml'],
    ['application/json; q=2, text/xml; q=0.1', undefined, 'xml'],
    ['application/json; q=-1, text/xml; q=0.1', undefined, 'xml'],
    ['application/json; q=high, text/xml; q=0.1', undefined, 'xml'],
    ['application/json; q="0.5", text/xml; q=0.6', undefined, 'xml'],
  ])('Accept %s, _format %s: %s', (accept, format, expected) => {
    expect(negotiate(accept, format)?.format.name).toBe(expected);
  });

  test.each([
    [undefined, undefined, 'application/fhir+json'],
    ['*/*', undefined, 'application/fhir+json'],
    ['application/json', undefined, 'application/json'],
    ['application/json, text/plain, */*', undefined, 'application/json'],
    ['application/fhir+json, application/json', undefined, 'application/fhir+json'],
    ['application/fhir+json;q=0.5, application/json', undefined, 'application/json'],
    ['text/xml;q=0.5, application/xml', undefined, 'application/xml'],
    ['text/xml', undefined, 'text/xml'],
    ['text/csv', 'json', 'application/fhir+json'],
    ['text/csv', 'text/xml', 'text/xml'],
  ])('Accept %s, _format %s: the Content-Type of the answer is %s', (accept, format, expected) => {
    expect(negotiate(accept, format)?.mediaType).toBe(expected);
  });

  test.each([
    ['application/fhir+json', 'json'],
    ['application/json; charset=UTF-8', 'json'],
    ['application/fhir+json; charset="utf-8"; fhirVersion=4.0', 'json'],
    ['application/fhir+xml; charset=utf-8', 'xml'],
    ['application/json; charset=utf8', 'json'],
    ['application/json; charset=US-ASCII', 'json'],
    ['application/json; charset=iso-8859-1', undefined],
    ['application/json; charset="utf-8', undefined],
    ['application/json; charset=x"utf-8"', undefined],
    ['application/json; charset=utf"-8"', undefined],
    ['application/json; charset="utf"-8', undefined],
    ['application/json; charset', undefined],
    ['application/fhir+xml; charset=iso-8859-1', undefined],
    ['text/xml', 'xml'],
    ['application/xml; charset=UTF-8', 'xml'],
    ['text/html', undefined],
    ['application/fhir+json; fhirVersion=3.0', undefined],
    ['application/json-patch+json', undefined],
    ['text/plain', undefined],
    [undefined, undefined],
  ])('Content-Type %s: %s', (contentType, expected) => {
    expect(formatOfBody(contentType)?.name).toBe(expected);
  });

  test.each([
    ['application/json-patch+json', true],
    ['Application/JSON-Patch+JSON; charset=UTF-8', true],
    ['application/json-patch+json; charset=utf8', true],
    ['application/json-patch+json; charset=us-ascii', true],
    ['application/json-patch+json; charset=utf-16', false],
    ['application/json', false],
    [undefined, false],
  ])('Content-Type %s is a JSON Patch: %s', (contentType, expected) => {
    expect(isJsonPatch(contentType)).toBe(expected);
  });

  test.each([
    ['application/x-www-form-urlencoded', true],
    ['Application/X-WWW-Form-URLencoded; charset=utf-8', true],
    ['multipart/form-data', false],
    [undefined, false],
  ])('Content-Type %s is a form: %s', (contentType, expected) => {
    expect(isForm(contentType)).toBe(expected);
  });
});
