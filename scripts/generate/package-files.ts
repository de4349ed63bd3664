import type { CapabilityStatement, Resource } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import { presets } from '../../core/config/presets.ts';
import { resolveConfig } from '../../core/config/resolve.ts';
import { capabilityStatement, serviceVersion } from '../../gateway/interactions/capability-statement.ts';
import { buildArtefacts } from '../../profiles/artefacts.ts';
import { metadata } from '../../profiles/metadata.ts';
import { packageBundle } from '../build/package.ts';

const shipped = Object.keys(presets) as (keyof typeof presets)[];

const json = (resource: Resource): string => `${JSON.stringify(resource, undefined, 2)}\n`;

/** Capabilities of the service in any installation. */
function capabilityOfService(config: BookingConfig): CapabilityStatement {
  const { implementation: _, rest = [], ...statement } = capabilityStatement(config, metadata.date);
  return {
    ...statement,
    name: 'AppointmentBooking',
    title: metadata.publisher,
    version: serviceVersion,
    kind: 'capability',
    rest: rest.map(({ security, ...one }) => ({ ...one, security: { ...security, extension: undefined } })),
  };
}

/** The files that are shipped for installations without `npm run deploy`, by path. */
export const packageFiles: Readonly<Record<string, () => string>> = Object.fromEntries(
  shipped.flatMap((preset) => {
    const config = resolveConfig({ preset, baseUrl: 'http://localhost:8080/fhir/R4' });
    return [
      [`profiles/package/${preset}/bundle.json`, () => json(packageBundle(buildArtefacts(config)))],
      [
        `profiles/package/${preset}/CapabilityStatement-AppointmentBooking.json`,
        () => json(capabilityOfService(config)),
      ],
    ];
  }),
);
