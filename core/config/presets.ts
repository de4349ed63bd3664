import type { Artefact } from '../fhir/artefacts.ts';
import type { AppointmentRules, BookingConfig, PatientRules, SearchHandling } from './config.ts';

/** The values of a preset: URIs, names, and the rules of its publisher. */
export interface Preset
  extends Pick<
    BookingConfig,
    'profileBase' | 'metaTagSystem' | 'contextTypeSystem' | 'resourceTypesSystem' | 'terminologySystem'
  > {
  /**
   * The publisher's artefacts in the preset: paths below `profileBase`, or whole addresses. All others are below
   * `localBase`.
   */
  readonly published?: Readonly<Partial<Record<Artefact, string>>>;
  /** Paths of the publisher's CapabilityStatements that the service implements. */
  readonly instantiates?: readonly string[];
  /** Paths of the publisher's profiles for resources of the clinic, by type. */
  readonly supportedProfiles?: BookingConfig['supportedProfiles'];
  /** Paths of the publisher's search parameters, by `Type.parameter`. */
  readonly searchDefinitions?: Readonly<Record<string, string>>;
  readonly appointmentRules?: AppointmentRules;
  readonly patientRules?: PatientRules;
  readonly timeZone?: string;
  readonly handling?: SearchHandling;
}

/** The default base address of the service's own artefacts: neutral, for trials. */
export const neutralBase = 'https://example.org/fhir';

const ofGematik = {
  metaTagSystem: 'http://fhir.de/CodeSystem/common-meta-tag-de',
  contextTypeSystem: 'https://gematik.de/fhir/isik/CodeSystem/ContextType',
  resourceTypesSystem: 'http://hl7.org/fhir/resource-types',
  terminologySystem: 'http://snomed.info/sct',
  timeZone: 'Europe/Berlin',
  handling: 'lenient',
} as const;

/** The code systems of the ValueSets that the slices of a specialty are bound to. */
const specialtySystems = {
  practiceSetting: [
    'http://ihe-d.de/CodeSystems/AerztlicheFachrichtungen',
    'http://ihe-d.de/CodeSystems/NichtaerztlicheFachrichtungen',
  ],
  authorSpecialty: ['urn:oid:1.2.276.0.76.5.114', 'http://ihe-d.de/CodeSystems/QualifikationenNichtAerztlicherAutoren'],
  department: ['http://fhir.de/CodeSystem/dkgev/Fachabteilungsschluessel-erweitert'],
} as const;

/** The rules of ISiKTermin from stage 5 on: each specialty has one coding of IHE Germany. */
const isikTermin: AppointmentRules = {
  needsServiceType: true,
  needsDisplay: false,
  allowsText: true,
  specialty: [
    { systems: specialtySystems.practiceSetting, isRequired: true },
    { systems: specialtySystems.department, isRequired: false },
  ],
  referenceExtensions: [],
  prioritySystem: 'http://snomed.info/sct',
  cancelationReason: {
    system: 'http://terminology.hl7.org/CodeSystem/appointment-cancellation-reason',
    codes: ['pat', 'prov', 'maint', 'meds-inc', 'other'],
  },
};

/** The extension of an appointment for a reference to a message, in the stages with messages. */
const messageExtension = (base: string): string => `${base}/StructureDefinition/ISiKNachrichtExtension`;

const identifierTypes = 'http://terminology.hl7.org/CodeSystem/v2-0203';
const germanTypes = 'http://fhir.de/CodeSystem/identifier-type-de-basis';
const insuranceNumber = 'http://fhir.de/sid/gkv/kvid-10';

/**
 * The rules of ISiKPatient: the clinic's number of the patient, and valid insurance numbers (KVZ10 from stage 4 on).
 */
const isikPatient: PatientRules = {
  identifiers: [
    { type: { system: identifierTypes, code: 'MR' }, isRequired: true },
    { type: { system: germanTypes, code: 'GKV' }, system: insuranceNumber },
    { type: { system: germanTypes, code: 'KVZ10' }, system: insuranceNumber },
    {
      type: { system: germanTypes, code: 'PKV' },
      use: 'secondary',
      assigner: { system: 'http://fhir.de/sid/arge-ik/iknr', type: { system: identifierTypes, code: 'XX' } },
    },
  ],
  officialGender: {
    url: 'http://fhir.de/StructureDefinition/gender-amtlich-de',
    system: 'http://fhir.de/CodeSystem/gender-amtlich-de',
    codes: ['D', 'X'],
  },
};

const everyStage = {
  LocalTermin: 'StructureDefinition/ISiKTermin',
  LocalTerminPriorityExtension: 'StructureDefinition/ISiKTerminPriorityExtension',
  LocalSchedule: 'StructureDefinition/ISiKKalender',
  LocalSlot: 'StructureDefinition/ISiKTerminblock',
  LocalPatient: 'StructureDefinition/ISiKPatient',
  book: 'OperationDefinition/AppointmentBook',
} as const;

const basismodul3 = 'https://gematik.de/fhir/isik/v3/Basismodul/StructureDefinition';

const terminplanung3 = 'https://gematik.de/fhir/isik/v3/Terminplanung';

const stage3: Preset = {
  ...ofGematik,
  appointmentRules: {
    ...isikTermin,
    specialty: Object.values(specialtySystems).map((systems) => ({ systems, isRequired: false })),
    referenceExtensions: [messageExtension(terminplanung3)],
  },
  patientRules: isikPatient,
  profileBase: terminplanung3,
  instantiates: ['CapabilityStatement/terminplanung-server'],
  supportedProfiles: {
    HealthcareService: 'StructureDefinition/ISiKMedizinischeBehandlungseinheit',
    CodeSystem: `${basismodul3}/ISiKCodeSystem`,
    ValueSet: `${basismodul3}/ISiKValueSet`,
    Practitioner: `${basismodul3}/ISiKPersonImGesundheitsberuf`,
    Encounter: 'StructureDefinition/ISiKTerminKontaktMitGesundheitseinrichtung',
    RelatedPerson: `${basismodul3}/ISiKAngehoeriger`,
  },
  published: {
    ...everyStage,
    LocalPatient: `${basismodul3}/ISiKPatient`,
  },
};

const isikBase = 'https://gematik.de/fhir/isik';

const stage4: Preset = {
  ...ofGematik,
  appointmentRules: { ...isikTermin, needsDisplay: true, referenceExtensions: [messageExtension(isikBase)] },
  patientRules: isikPatient,
  profileBase: isikBase,
  instantiates: ['CapabilityStatement/ISiKCapabilityStatementTerminplanungServer'],
  supportedProfiles: {
    HealthcareService: 'StructureDefinition/ISiKMedizinischeBehandlungseinheit',
    CodeSystem: 'StructureDefinition/ISiKCodeSystem',
    ValueSet: 'StructureDefinition/ISiKValueSet',
    Practitioner: 'StructureDefinition/ISiKPersonImGesundheitsberuf',
    Location: 'StructureDefinition/ISiKStandort',
    Organization: 'StructureDefinition/ISiKOrganisation',
    Encounter: 'StructureDefinition/ISiKKontaktGesundheitseinrichtung',
    RelatedPerson: 'StructureDefinition/ISiKAngehoeriger',
  },
  searchDefinitions: {
    'Encounter.date-start': 'SearchParameter/Encounter-date-start',
    'Encounter.end-date': 'SearchParameter/Encounter-end-date',
  },
  published: everyStage,
};

/** The roles of an actor "Termin-Repository"; stage 6 adds one for subscriptions. */
const roles = [
  'CapabilityStatement/ISiKCapabilityStatementTerminRepositoryRolle',
  'CapabilityStatement/ISiKCapabilityStatementTerminologieRolle',
  'CapabilityStatement/ISiKCapabilityStatementStammdatenRolle',
];

const formsAndSubscriptions = {
  LocalQuestionnaireResponse: 'StructureDefinition/ISiKFormularDaten',
  LocalSubscriptionTermin: 'StructureDefinition/ISiKSubscriptionTermin',
  'appointment-cancel': 'SubscriptionTopic/appointment-cancel',
} as const;

const stage5: Preset = {
  ...stage4,
  appointmentRules: isikTermin,
  instantiates: roles,
  published: { ...everyStage, ...formsAndSubscriptions, 'appointment-update': 'SubscriptionTopic/appointment-change' },
};

const stage6: Preset = {
  ...stage4,
  appointmentRules: isikTermin,
  instantiates: [...roles, 'CapabilityStatement/ISiKCapabilityStatementTerminSubscriptionRolle'],
  supportedProfiles: {
    ...stage4.supportedProfiles,
    Parameters: 'StructureDefinition/BackportSubscriptionStatusR4Fixed',
    Bundle: 'StructureDefinition/BackportSubscriptionNotificationR4Fixed',
  },
  published: { ...everyStage, ...formsAndSubscriptions, 'appointment-update': 'SubscriptionTopic/appointment-update' },
};

/**
 * Sets of URIs and names that an installation can take over as a whole with `"preset": "<name>"`: neutral addresses, and
 * the stages of gematik's ISiK Terminplanung (`isik` is the newest). Where each value of ISiK was read:
 * - profiles, extension and operation: for stage 3 the packages de.gematik.isik-terminplanung and
 *   de.gematik.isik-basismodul 3.1.1, as refv-plugins of github.com/gematik/isik-testsuite holds them; for stage 4
 *   github.com/gematik/spec-ISiK-Terminplanung, branch TC_4.0.1; for stages 5 and 6 github.com/gematik/spec-ISiK-Basismodul,
 *   versions 5.0.0 and 6.0.0-rc;
 * - the role for subscriptions: CapabilityStatement ISiKCapabilityStatementTerminSubscriptionRolle there, 6.0.0-rc1 and 6.0.0;
 * - code systems and tag: the pages "Operation: $book" of the same guides;
 * - topics: CodeSystem ISiKSubscriptionTopic of versions 5.0.0 and 6.0.0-rc; stages 3 and 4 have none;
 * - ISiKFormularDaten: the guides of the module Formular.
 */
export const presets: Readonly<Record<'default' | 'isik3' | 'isik4' | 'isik5' | 'isik', Preset>> = {
  default: {
    profileBase: neutralBase,
    metaTagSystem: `${neutralBase}/CodeSystem/meta-tag`,
    contextTypeSystem: `${neutralBase}/CodeSystem/LocalContextType`,
    resourceTypesSystem: 'http://hl7.org/fhir/resource-types',
    terminologySystem: 'http://snomed.info/sct',
  },
  isik3: stage3,
  isik4: stage4,
  isik5: stage5,
  isik: stage6,
};

/** The address of a published artefact: a path below the base, or a whole address. */
export function publishedUri(path: string, base: string): string {
  return path.includes('://') ? path : `${base}/${path}`;
}

const published: ReadonlySet<string> = new Set(
  Object.values(presets).flatMap(({ published = {}, profileBase }) =>
    Object.values(published).map((path) => publishedUri(path, profileBase)),
  ),
);

/**
 * Whether an artefact (by its canonical URI) has its own publisher, under whose address the service creates nothing.
 */
export function isPublishedElsewhere(uri: string): boolean {
  return published.has(uri);
}
