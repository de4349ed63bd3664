import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import type { FhirResponse } from '../../http/response.ts';
import { isBundle } from '../../medplum/public-resources.ts';
import { isServedType, type ServedTypeName } from '../../served-types.ts';
import { type SearchParam, searchIssue } from '../parameters/param.ts';
import { searchParameter } from '../parameters/parameters.ts';

/** The most resources that one page holds; Medplum's own limit. */
export const MAX_COUNT = 1000;

type Check = (value: string, type: ServedTypeName) => string | undefined;

const oneOf =
  (...allowed: string[]): Check =>
  (value) =>
    allowed.includes(value) ? undefined : `must be one of ${allowed.join(', ')}`;

const count: Check = (value) =>
  /^\d{1,4}$/.test(value) && Number(value) <= MAX_COUNT ? undefined : `must be a number from 0 to ${MAX_COUNT}`;

const offset: Check = (value) => (/^\d{1,6}$/.test(value) ? undefined : 'must be a number from 0 to 999999');

const sort: Check = (value, type) => {
  const unknown = value.split(',').find((key) => {
    const entry = searchParameter(type, key.replace(/^-/, ''));
    return !entry || entry.type === 'composite' || entry.upstreamName || entry.definition || entry.isPayerKind;
  });
  return unknown === undefined ? undefined : `cannot be '${unknown}': it must name search parameters of ${type}`;
};

const elements: Check = (value) =>
  /^[A-Za-z]+(,[A-Za-z]+)*$/.test(value) ? undefined : 'must be a comma-separated list of element names';

/** `Source:parameter[:Target]`, all of it within the service. */
const inclusion: Check = (value) => {
  const [source, name = '', target, ...rest] = value.split(':');
  const targets = isServedType(source) ? searchParameter(source, name)?.targets : undefined;
  const isKnownTarget = target === undefined || targets?.some((type) => type === target);
  return targets && isKnownTarget && rest.length === 0
    ? undefined
    : "must have the form 'Type:parameter' or 'Type:parameter:Target', with a reference parameter and types of this service";
};

/**
 * The parameters that shape a result rather than filter it: what each accepts (a check returns the end of the sentence
 * that tells the client). `_fields` is what Medplum writes for `_elements` in its links; `_cursor` is Medplum's.
 *
 * @see https://hl7.org/fhir/R4/search.html#return
 */
export const searchControls: Readonly<Record<string, Check>> = {
  _count: count,
  _offset: offset,
  _cursor: (value) => (/^[\w.,-]{1,4000}$/.test(value) ? undefined : 'must come from a link of an earlier response'),
  _sort: sort,
  _total: oneOf('none', 'estimate', 'accurate'),
  _summary: oneOf('true', 'false', 'text', 'data', 'count'),
  _elements: elements,
  _fields: elements,
  _include: inclusion,
  '_include:iterate': inclusion,
  _revinclude: inclusion,
  '_revinclude:iterate': inclusion,
};

/**
 * Removes included resources of types that the inclusions do not name: Medplum includes the target of every reference.
 */
export function withIncluded(response: FhirResponse, params: readonly SearchParam[]): FhirResponse {
  const { resource } = response;
  const asked = params.filter(({ name }) => /^_(rev)?include/.test(name));
  if (asked.every(({ name, value }) => name.startsWith('_rev') || value.split(':').length < 3) || !isBundle(resource)) {
    return response;
  }
  const types = asked.flatMap(({ name, value }): readonly string[] => {
    const [source = '', code = '', target] = value.split(':');
    const targets = isServedType(source) ? (searchParameter(source, code)?.targets ?? []) : [];
    return name.startsWith('_rev') ? [source] : target === undefined ? targets : [target];
  });
  const entry = (resource.entry ?? []).filter(
    (one) => one.search?.mode !== 'include' || types.includes(one.resource?.resourceType ?? ''),
  );
  return { ...response, resource: { ...resource, entry } };
}

/**
 * Checks a parameter of `searchControls`.
 *
 * @param sent - name and value; the name is in `searchControls`
 */
export function checkControl(type: ServedTypeName, sent: SearchParam): Issue | undefined {
  const problem = searchControls[sent.name]?.(sent.value, type);
  return problem === undefined ? undefined : searchIssue(sent.name, `'${sent.name}' ${problem}.`);
}
