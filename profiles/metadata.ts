/** Metadata of all artefacts. The date is that of their last change in content. */
export const metadata = {
  version: '0.1.0',
  status: 'active',
  experimental: false,
  date: '2026-11-25',
  publisher: 'Appointment booking for Medplum',
} as const;
