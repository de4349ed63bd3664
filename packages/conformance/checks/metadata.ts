import { backport } from '../../../core/fhir/backport.ts';
import { asking, type Check, fromStage5, fromStage6, isikStages, type Stage } from '../check.ts';
import { type Expectation, header, names, resource, status, that } from '../expectation.ts';

/** The required content of a stage's CapabilityStatement for a type. */
interface Required {
  readonly type: string;
  readonly interactions: readonly string[];
  readonly in: readonly Stage[];
  readonly parameters: Readonly<Record<string, string>>;
  /** Search parameters that are required from stage 5 on. */
  readonly later?: Readonly<Record<string, string>>;
}

const required: readonly Required[] = [
  {
    type: 'Appointment',
    interactions: ['read', 'search-type', 'patch'],
    in: isikStages,
    parameters: {
      _id: 'token',
      status: 'token',
      'service-type': 'token',
      specialty: 'token',
      date: 'date',
      slot: 'reference',
      actor: 'reference',
    },
    later: { _tag: 'token', _count: 'number' },
  },
  {
    type: 'HealthcareService',
    interactions: ['read', 'search-type'],
    in: isikStages,
    parameters: { _id: 'token', active: 'token', 'service-type': 'token', specialty: 'token', name: 'string' },
    later: { _count: 'number' },
  },
  {
    type: 'Schedule',
    interactions: ['read', 'search-type'],
    in: isikStages,
    parameters: { _id: 'token', active: 'token', 'service-type': 'token', specialty: 'token', actor: 'reference' },
    later: { _count: 'number' },
  },
  {
    type: 'Slot',
    interactions: ['read', 'search-type'],
    in: isikStages,
    parameters: { _id: 'token', schedule: 'reference', status: 'token', start: 'date' },
    later: { _count: 'number' },
  },
  {
    type: 'Encounter',
    interactions: ['read', 'search-type'],
    in: fromStage5,
    parameters: { _id: 'token', appointment: 'reference' },
  },
];

/** The search parameters of the role for patients and encounters, required from stage 5 on. */
const masterData: Readonly<Record<string, Required['parameters']>> = {
  Patient: {
    _id: 'token',
    _tag: 'token',
    _count: 'number',
    identifier: 'token',
    family: 'string',
    given: 'string',
    birthdate: 'date',
    gender: 'token',
  },
  Encounter: {
    _id: 'token',
    _tag: 'token',
    _count: 'number',
    identifier: 'token',
    status: 'token',
    class: 'token',
    type: 'token',
    patient: 'reference',
    account: 'reference',
    date: 'date',
    'date-start': 'date',
    'end-date': 'date',
  },
};

const roles = ['TerminRepositoryRolle', 'TerminologieRolle', 'StammdatenRolle'];

/** The required content for Subscription of the role for subscriptions, which stage 6 adds. */
const subscriptions = {
  interactions: ['read', 'create', 'update', 'delete', 'search-type'],
  parameters: { _id: 'token', _count: 'number', _lastUpdated: 'date', criteria: 'string', status: 'token', url: 'uri' },
  operations: ['status', 'events'],
} as const;

const carriesOut = (role: string) =>
  that(`instantiates.where($this.matches('/ISiKCapabilityStatement${role}([|]|$)')).exists()`);

const SCENARIO = 'Read and Validation of the CapabilityStatement';

const features: Readonly<Record<string, (type: string) => string>> = {
  read: (type) => (type === 'Encounter' ? 'Encounter-Appointment-Read' : `${type}-Read`),
  'search-type': (type) => `${type}-Search`,
};

const inStatement = (type: string, condition: string): string =>
  `rest.where(mode = 'server').resource.where(type = '${type}' and ${condition}).exists()`;

const withInteraction = (type: string, code: string) =>
  that(inStatement(type, `interaction.where(code = '${code}').exists()`));

const withParameter = (type: string, name: string, kind: string) =>
  that(inStatement(type, `searchParam.where(name = '${name}' and type = '${kind}').exists()`));

const stated = (stages: readonly Stage[], name: string, rule: string, ...conditions: readonly Expectation[]): Check =>
  asking({
    name: `metadata-${name}`,
    rule: `The CapabilityStatement ${rule}`,
    section: 'ISiK Terminplanung, CapabilityStatement',
    stages,
    request: 'GET /metadata',
    expect: [status(200), ...conditions],
  });

function interactionCheck({ type, in: stages }: Required, code: string): Check {
  const feature = features[code]?.(type);
  const rule = `names the interaction ${code} of ${type}.`;
  return {
    ...stated(stages, `${type.toLowerCase()}-${code}`, rule, withInteraction(type, code)),
    covers: feature ? [{ feature, scenario: SCENARIO }] : [],
  };
}

const parameterCheck = (
  type: string,
  stages: readonly Stage[],
  parameters: Required['parameters'],
  more = '',
): Check => ({
  ...stated(
    stages,
    `${type.toLowerCase()}-search-parameters${more}`,
    `names the search parameters ${Object.keys(parameters).join(', ')} of ${type}.`,
    ...Object.entries(parameters).map(([name, kind]) => withParameter(type, name, kind)),
  ),
  covers: [
    {
      feature: `${type}-Search`,
      scenario: 'Validation of the search parameter definitions in the CapabilityStatement',
    },
  ],
});

const byType: readonly Check[] = required.flatMap((one) => [
  ...one.interactions.map((code) => interactionCheck(one, code)),
  ...(Object.keys(one.parameters).length > 0 ? [parameterCheck(one.type, one.in, one.parameters)] : []),
  ...(one.later ? [parameterCheck(one.type, fromStage5, one.later, '-from-stage-5')] : []),
]);

export const metadataChecks: readonly Check[] = [
  {
    name: 'metadata',
    rule: 'GET /metadata returns a CapabilityStatement.',
    section: 'FHIR R4, RESTful API, capabilities',
    steps: [{ request: 'GET /metadata', expect: [status(200), resource('CapabilityStatement')] }],
  },
  {
    name: 'metadata-for-everybody',
    level: 'SHOULD',
    rule: 'GET /metadata returns a CapabilityStatement even to clients that are not logged in.',
    section: 'FHIR R4, RESTful API, capabilities',
    steps: [{ by: 'nobody', request: 'GET /metadata', expect: [status(200), resource('CapabilityStatement')] }],
  },
  asking({
    name: 'metadata-book',
    rule: 'The CapabilityStatement names the operation book of Appointment.',
    section: 'Specification 4.4',
    request: 'GET /metadata',
    expect: [
      status(200),
      that(inStatement('Appointment', "operation.where(name = 'book' or name = '$book').exists()")),
    ],
    covers: [{ feature: 'Appointment-Book', scenario: SCENARIO }],
  }),
  stated(
    isikStages,
    'book-definition',
    'defines the operation book by the stage’s OperationDefinition.',
    that(inStatement('Appointment', names('operation.definition', '{uri.book}'))),
  ),
  stated(
    isikStages,
    'profiles',
    'names the profiles of Appointment, Schedule and Slot.',
    that(inStatement('Appointment', names('supportedProfile', '{uri.LocalTermin}'))),
    that(inStatement('Schedule', names('supportedProfile', '{uri.LocalSchedule}'))),
    that(inStatement('Slot', names('supportedProfile', '{uri.LocalSlot}'))),
  ),
  stated(fromStage5, 'instantiates', 'names the roles that the service implements.', ...roles.map(carriesOut)),
  asking({
    name: 'metadata-xml',
    rule: 'Resources are returned as XML to clients that ask for it.',
    section: 'ISiK Basismodul, REST',
    stages: isikStages,
    request: 'GET /metadata',
    format: 'xml',
    expect: [status(200), header('content-type', /^application\/fhir\+xml/), resource('CapabilityStatement')],
  }),
  asking({
    name: 'metadata-subscription',
    rule: 'The CapabilityStatement names everything that the role for subscriptions demands, and the role itself.',
    section: 'Specification 6; ISiK Terminplanung, ISiKCapabilityStatementTerminSubscriptionRolle',
    stages: fromStage6,
    request: 'GET /metadata',
    expect: [
      status(200),
      carriesOut('TerminSubscriptionRolle'),
      ...subscriptions.interactions.map((code) => withInteraction('Subscription', code)),
      ...Object.entries(subscriptions.parameters).map(([name, kind]) => withParameter('Subscription', name, kind)),
      ...subscriptions.operations.map((name) =>
        that(inStatement('Subscription', `operation.where(name = '${name}').exists()`)),
      ),
      ...(['appointment-update', 'appointment-cancel'] as const).map((topic) =>
        that(
          inStatement(
            'Subscription',
            names(`extension.where(url = '${backport.topicCanonical}').value`, `{uri.${topic}}`),
          ),
        ),
      ),
      ...['Subscription', 'Parameters', 'Bundle'].map((type) =>
        that(inStatement(type, "supportedProfile.where($this.startsWith('{config.profileBase}/')).exists()")),
      ),
    ],
  }),
  ...byType,
  ...Object.entries(masterData).map(([type, parameters]) =>
    parameterCheck(type, fromStage5, parameters, '-of-master-data'),
  ),
  {
    ...stated(
      fromStage5,
      'encounter-include',
      'says that the patient of an Encounter can be included.',
      that(inStatement('Encounter', "searchInclude.where($this = 'Encounter:patient').exists()")),
    ),
    section: 'ISiK Basismodul, CapabilityStatement',
  },
];
