import { describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import type { FhirResponse } from '../../../../gateway/http/response.ts';
import { type IgnoredParam, sayingIgnored } from '../../../../gateway/search/result/ignored.ts';

const ignored = (name: string, expression?: string): IgnoredParam => ({
  param: { name, value: 'x' },
  issue: { code: 'malformed-request', diagnostics: `There is no '${name}'.`, ...(expression && { expression }) },
});
const warning = { severity: 'warning', code: 'not-supported', details: { text: 'The search parameter was ignored.' } };

const slot = { resource: { resourceType: 'Slot', id: 'a' }, search: { mode: 'match' } };
const found = (more: object): FhirResponse => ({
  status: 200,
  headers: { etag: 'x' },
  resource: { resourceType: 'Bundle', type: 'searchset', ...more } as Bundle,
});

describe('what was ignored', () => {
  test.each([
    ['after what was found', { total: 1, entry: [slot] }, [slot]],
    ['where nothing was found', { total: 0 }, []],
  ])('is said %s', (_, more, entries) => {
    const issue = [
      { ...warning, diagnostics: "There is no 'a'.", expression: ['http.a'] },
      { ...warning, diagnostics: "There is no 'b'." },
    ];
    const outcome = { resource: { resourceType: 'OperationOutcome', issue }, search: { mode: 'outcome' } };
    expect(sayingIgnored(found(more), [ignored('a', 'http.a'), ignored('b')])).toEqual(
      found({ ...more, entry: [...entries, outcome] }),
    );
  });

  test('is not said where all was understood, nor where the search failed', () => {
    const response = found({ total: 0 });
    expect(sayingIgnored(response, [])).toBe(response);
    const refused: FhirResponse = { status: 503, resource: { resourceType: 'OperationOutcome', issue: [] } };
    expect(sayingIgnored(refused, [ignored('a')])).toBe(refused);
    expect(sayingIgnored({ status: 304 }, [ignored('a')])).toEqual({ status: 304 });
  });
});
