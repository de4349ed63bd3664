import type { Language } from '../server/language.ts';

/** The words of the start page. */
export interface StartTexts {
  readonly title: string;
  readonly interface: string;
  readonly documentation: string;
}

/** The start page in each language. */
export const startTexts: Readonly<Record<Language, StartTexts>> = {
  en: {
    title: 'Appointment booking',
    interface: 'The FHIR interface for portals',
    documentation: 'what it can do (CapabilityStatement)',
  },
  de: {
    title: 'Terminbuchung',
    interface: 'Die FHIR-Schnittstelle für Portale',
    documentation: 'was sie kann (CapabilityStatement)',
  },
};
