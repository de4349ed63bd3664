import type { BookingConfig } from './config.ts';

/** What a preset settles: URIs and names, not addresses or policies. */
export type Preset = Partial<
  Omit<BookingConfig, 'baseUrl' | 'confirmation' | 'maxAttempts' | 'names'> & { names: Partial<BookingConfig['names']> }
>;

/** Sets of URIs and names that an installation can take over as a whole with `"preset": "<name>"`. */
export const presets = {
  /** Neutral addresses, for trying out. */
  default: {
    profileBase: 'https://example.org/fhir',
    metaTagSystem: 'https://example.org/fhir/CodeSystem/meta-tag',
    contextTypeSystem: 'https://example.org/fhir/CodeSystem/LocalContextType',
    resourceTypesSystem: 'http://hl7.org/fhir/resource-types',
    terminologySystem: 'http://snomed.info/sct',
  },
} as const satisfies Record<string, Preset>;
