import { type Sandbox, startSandbox } from '@appointment-booking/sandbox';
import type { MedplumClient } from '@medplum/core';
import { type BotName, botSource, bots } from '../../core/config/bots.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { resolveConfig } from '../../core/config/resolve.ts';
import { bundleBot } from '../../scripts/build/bots.ts';
import { type Deployment, deploy } from '../../scripts/deploy.ts';
import { atEnd } from '../lib/at-end.ts';

/** The settings that the tests deploy. */
export const settings = { baseUrl: 'http://localhost:8080/fhir/R4' };

/** The configuration that the tests deploy. */
export const config: BookingConfig = resolveConfig(settings);

/** An empty server to deploy to. */
export interface Installation {
  readonly sandbox: Sandbox;
  /** The lines of the last deployment. */
  readonly lines: readonly string[];
  deploy(changes?: {
    code?: string;
    config?: BookingConfig;
    dryRun?: boolean;
    cliConfig?: string;
  }): Promise<Deployment>;
}

/** Code for every Bot: the one given for `book`, and one that does nothing for the others. */
export function codeOf(book: string): Record<BotName, string> {
  const others = Object.keys(bots).map((name) => [name, 'exports.handler = async () => undefined;']);
  return { ...Object.fromEntries(others), book };
}

/** Starts an embedded Medplum that has nothing deployed; it ends with the tests of the file. */
export async function startInstallation(): Promise<Installation> {
  const [sandbox, book] = await Promise.all([startSandbox(), bundleBot(botSource('book'), config)]);
  atEnd(() => sandbox.close());
  const { baseUrl, clientId, clientSecret } = sandbox;
  const lines: string[] = [];
  return {
    sandbox,
    lines,
    deploy({ code = book, ...changes } = {}) {
      lines.length = 0;
      const log = (line: string): void => void lines.push(line);
      return deploy({ baseUrl, clientId, clientSecret, config, code: codeOf(code), log, ...changes });
    },
  };
}

/** How many resources of each type the server has. */
export async function countAll(medplum: MedplumClient): Promise<Record<string, number | undefined>> {
  const types = ['AccessPolicy', 'Bot', 'CodeSystem', 'NamingSystem', 'OperationDefinition', 'ValueSet'] as const;
  const counts = await Promise.all(
    types.map(async (type) => [type, (await medplum.search(type, { _total: 'accurate', _count: 1 })).total] as const),
  );
  return Object.fromEntries(counts);
}

/** A value that must be there. */
export function present<T>(value: T | undefined): T {
  if (value === undefined) {
    throw new Error('There is no such thing');
  }
  return value;
}
