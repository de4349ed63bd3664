import type { BookingConfig } from '../../core/config/config.ts';

/** Turns what Medplum says of itself into what the world may see. */
export interface Addresses {
  /** Public base address, and its path. */
  readonly base: string;
  readonly basePath: string;
  readonly origin: string;
  /**
   * The public form of an absolute URL of Medplum's FHIR interface.
   *
   * @returns `undefined` if it is not below `/fhir/R4/`
   */
  readonly publicUrl: (url: string) => string | undefined;
  /** A text in which no address of Medplum is left. */
  readonly scrub: (text: string) => string;
}

const fhirPath = '/fhir/R4/';

/** The addresses by which a server can be named in a text, the most particular first. */
function spellings(address: string): readonly string[] {
  const url = new URL(address);
  const hosts = url.hostname === 'localhost' ? [url.host, `127.0.0.1${url.port && `:${url.port}`}`] : [url.host];
  return hosts.flatMap((host) => [`${url.protocol}//${host}`, host]);
}

/**
 * Prepares the translation of addresses.
 *
 * @param config - the installation, for its public address
 * @param internal - the addresses by which Medplum is called and by which it names itself
 */
export function createAddresses(config: Pick<BookingConfig, 'baseUrl'>, internal: readonly string[]): Addresses {
  const base = config.baseUrl;
  const { origin, host, pathname } = new URL(base);
  const hidden = internal.filter((address) => new URL(address).host !== host);
  const hosts = hidden.flatMap(spellings).map((name) => [name, name.includes('://') ? origin : host] as const);
  const bases = hidden.flatMap(spellings).map((name) => [`${name}/fhir/R4`, base] as const);
  const replacements = [...bases.filter(([name]) => name.includes('://')), ...hosts];
  return {
    base,
    basePath: pathname.replace(/\/$/, ''),
    origin,
    publicUrl: (url) => {
      const start = url.indexOf(fhirPath);
      return start < 0 ? undefined : `${base}/${url.slice(start + fhirPath.length)}`;
    },
    scrub: (text) => replacements.reduce((result, [name, shown]) => result.replaceAll(name, shown), text),
  };
}
