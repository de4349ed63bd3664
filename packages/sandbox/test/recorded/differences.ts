/** Where the sandbox answers otherwise than Medplum, and may. */
export interface Difference {
  /** Name of the scenario. */
  readonly scenario: string;
  /** Matches method and path of the requests. */
  readonly request: RegExp;
  /** Matches the places in the exchange. */
  readonly path: RegExp;
  /** Why it stays. */
  readonly reason: string;
}

/** All known differences. One that is found no longer fails the test, like one that is not listed. */
export const differences: readonly Difference[] = [
  {
    scenario: 'bad-input',
    request: /^GET \/nothing$/,
    path: /^answer\.(body|headers\.content-type)$/,
    reason: 'Outside FHIR, Medplum answers 404 with a page of its web framework.',
  },
  {
    scenario: 'fhirpath-patch-of-inner-lists',
    request: /^PATCH /,
    path: /^answer\./,
    reason: '5.1 cannot insert and move in inner lists; @medplum/core 5.2, which patches here, can.',
  },
  {
    scenario: 'search-parameters',
    request: /_filter=not\(/,
    path: /^answer\.body\.issue\[0\]\.details\.text$/,
    reason: 'Both refuse `not` in _filter; @medplum/core 5.2, which parses it here, says it in other words.',
  },
  {
    scenario: 'deployment',
    request: /bot/i,
    path: /\.sourceCode$/,
    reason:
      'Medplum gives a new Bot an example for its source code. The sandbox runs Bots, and is no place to write them.',
  },
  {
    scenario: 'deployment',
    request: / Bot/,
    path: /\.executableCode\.url$/,
    reason: 'Medplum shows attachments under signed addresses. Here they keep `Binary/{id}`.',
  },
  {
    scenario: 'deployment',
    request: /^GET <base>\/storage\/<signed>$/,
    path: /^(request|answer\.headers\.content-type)$/,
    reason: 'The code of a Bot, downloaded from where its attachment says.',
  },
  {
    scenario: 'parameters-and-fields',
    request: /^GET \/auth\/me$/,
    path: /\.features\[4\]$/,
    reason: 'The project of the sandbox may send e-mails; the recorded one could not.',
  },
  {
    scenario: 'tokens',
    request: /^GET \/auth\/me$/,
    path: /\.features\[4\]$/,
    reason: 'The project of the sandbox may send e-mails; the recorded one could not.',
  },
  {
    scenario: 'administration',
    request: /^GET (\/auth\/me$|Project\/)/,
    path: /\.features\[4\]$/,
    reason: 'The project of the sandbox may send e-mails; the recorded one could not.',
  },
  {
    scenario: 'administration',
    request: /^GET Project\//,
    path: /^answer\.body\.defaultPatientAccessPolicy$/,
    reason: 'No patients log in to the sandbox.',
  },
  {
    scenario: 'administration',
    request: /^GET \/auth\/me$/,
    path: /^answer\.body\.accessPolicy\.resource\[/,
    reason: 'The rules for administrators are spelled out for the types that only @medplum/core 5.2 sets apart.',
  },
  {
    scenario: 'administration',
    request: /^GET \/auth\/me$/,
    path: /^answer\.body\.config\.menu\[1\]$/,
    reason: "The menu of Medplum's app, which does not work with the sandbox.",
  },
];
