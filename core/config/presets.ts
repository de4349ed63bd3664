import { type Artefact, artefacts, type BookingConfig, type SearchHandling } from './config.ts';

/** The values of a preset: URIs, names, and what its publisher requires of every installation. */
export interface Preset
  extends Pick<
    BookingConfig,
    'profileBase' | 'metaTagSystem' | 'contextTypeSystem' | 'resourceTypesSystem' | 'terminologySystem'
  > {
  /** Names that differ from the specification's; the others stay. */
  readonly names?: Partial<BookingConfig['names']>;
  readonly timeZone?: string;
  readonly handling?: SearchHandling;
}

/** Sets of URIs and names that an installation can take over as a whole with `"preset": "<name>"`. */
export const presets: Readonly<Record<'default' | 'isik', Preset>> = {
  /** Neutral addresses, for trying out. */
  default: {
    profileBase: 'https://example.org/fhir',
    metaTagSystem: 'https://example.org/fhir/CodeSystem/meta-tag',
    contextTypeSystem: 'https://example.org/fhir/CodeSystem/LocalContextType',
    resourceTypesSystem: 'http://hl7.org/fhir/resource-types',
    terminologySystem: 'http://snomed.info/sct',
  },
  /**
   * gematik's ISiK Terminplanung. Where each value was read:
   * - code systems, tag and ISiKTermin with its priority extension: the pages "Operation: $book" of the implementation
   *   guide, version 6.0.0, and ImplementationGuide/markdown/Datenobjekte/Operations.md in
   *   github.com/gematik/spec-ISiK-Terminplanung;
   * - ISiKTermin, ISiKTerminPriorityExtension, ISiKKalender, ISiKTerminblock: Resources/input/fsh/ISiKTermin.fsh,
   *   ISiKKalender.fsh and ISiKTerminblock.fsh there;
   * - ISiKSubscriptionTermin: page "ISiK Subscription Termine" of the same guide, version 6.0.0;
   * - ISiKPatient: Resources/fsh-generated/resources/StructureDefinition-ISiKPatient.json in
   *   github.com/gematik/spec-ISiK-Basismodul;
   * - ISiKFormularDaten: page "Ausgefülltes ISiK-Formular" of the guide of the Formularmodul, version 6.0.0-rc.
   * Names that these specifications do not have stay `Local…`.
   */
  isik: {
    profileBase: 'https://gematik.de/fhir/isik',
    metaTagSystem: 'http://fhir.de/CodeSystem/common-meta-tag-de',
    contextTypeSystem: 'https://gematik.de/fhir/isik/CodeSystem/ContextType',
    resourceTypesSystem: 'http://hl7.org/fhir/resource-types',
    terminologySystem: 'http://snomed.info/sct',
    timeZone: 'Europe/Berlin',
    handling: 'lenient',
    names: {
      LocalTermin: 'ISiKTermin',
      LocalTerminPriorityExtension: 'ISiKTerminPriorityExtension',
      LocalSchedule: 'ISiKKalender',
      LocalSlot: 'ISiKTerminblock',
      LocalPatient: 'ISiKPatient',
      LocalQuestionnaireResponse: 'ISiKFormularDaten',
      LocalSubscriptionTermin: 'ISiKSubscriptionTermin',
    },
  },
};

function publishedBy(preset: Preset): string[] {
  return Object.entries(preset.names ?? {}).map(
    ([artefact, name]) => `${preset.profileBase}/${artefacts[artefact as Artefact]}/${name}`,
  );
}

const published: ReadonlySet<string> = new Set(Object.values(presets).flatMap(publishedBy));

/**
 * Whether an artefact has a publisher of its own, from whom a preset takes over URI and name. Such an artefact is used
 * and never created under its publisher's address.
 *
 * @param uri - canonical URI of the artefact
 */
export function isPublishedElsewhere(uri: string): boolean {
  return published.has(uri);
}
