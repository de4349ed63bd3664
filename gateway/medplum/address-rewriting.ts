import type { Resource } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import { isObject } from '../../core/fhir/resource.ts';

/** Turns Medplum's own addresses into those of the service. */
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
  /** Turns a URL of Medplum into the service's; any other text stays unchanged. */
  readonly rewriteUrl: (url: string) => string;
  /**
   * Makes the references and links of a resource lead to the service, and its error messages name no other address.
   * Identifiers (canonicals, systems) and all other text stay unchanged.
   */
  readonly rewriteResource: <T extends Resource>(resource: T) => T;
}

const fhirPath = '/fhir/R4/';

/** Names of this machine: Medplum may name itself by a different one than it is called by. */
const loopback: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** The origins that an address of Medplum can be spelled with. */
function originsOf(address: string): readonly string[] {
  const { protocol, hostname, port, origin } = new URL(address);
  return loopback.includes(hostname) ? loopback.map((name) => `${protocol}//${name}${port && `:${port}`}`) : [origin];
}

/** The elements that hold addresses, and those below which `url` is an address; elsewhere `url` is an identifier. */
const addressElements: ReadonlySet<string> = new Set(['reference', 'fullUrl', 'valueUrl', 'valueUri']);
const urlParents: ReadonlySet<string> = new Set([
  'link',
  'photo',
  'valueAttachment',
  'attachment',
  'contentAttachment',
]);

/** How an address is rewritten, and a sentence that may quote one. */
interface Rewrite {
  readonly url: (url: string) => string;
  readonly sentence: (text: string) => string;
}

/** Rewrites the text of one element. */
function rewriteElement(text: string, name: string, parent: string, rewrite: Rewrite): string {
  if (addressElements.has(name) || (name === 'url' && urlParents.has(parent))) {
    return rewrite.url(text);
  }
  return name === 'diagnostics' && parent === 'issue' ? rewrite.sentence(text) : text;
}

/** Rewrites the addresses in a JSON tree; a subtree without addresses is returned unchanged. */
function rewriteTree(value: unknown, parent: string, rewrite: Rewrite): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => rewriteTree(item, parent, rewrite));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isObject(value)) {
    return value;
  }
  let changed: Record<string, unknown> | undefined;
  for (const [name, item] of Object.entries(value)) {
    const rewritten =
      typeof item === 'string' ? rewriteElement(item, name, parent, rewrite) : rewriteTree(item, name, rewrite);
    if (rewritten !== item) {
      changed ??= { ...value };
      changed[name] = rewritten;
    }
  }
  return changed ?? value;
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * Prepares the translation of Medplum's addresses into public ones. A URL is rewritten only if its origin equals one of
 * Medplum's: with Medplum at `http://medplum/`, `http://medplum.com/` stays unchanged. `publicUrl` does not check the
 * origin: it is for URLs that Medplum sent.
 *
 * @param internal - the addresses by which Medplum is called and by which it names itself
 */
export function createAddresses(config: Pick<BookingConfig, 'baseUrl'>, internal: readonly string[]): Addresses {
  const base = config.baseUrl;
  const { origin, pathname } = new URL(base);
  const internalOrigins = [...new Set(internal.flatMap(originsOf))].filter(
    (internalOrigin) => internalOrigin !== origin,
  );
  const publicOf = (path: string): string =>
    `${path}/`.startsWith(fhirPath) ? `${base}${path.slice(fhirPath.length - 1)}` : `${origin}${path}`;
  const rewriteUrl = (url: string): string => {
    const found = internalOrigins.find((start) => url.startsWith(start) && /^([/?#]|$)/.test(url.slice(start.length)));
    return found === undefined ? url : publicOf(url.slice(found.length));
  };
  const quotedUrls = new RegExp(`(?:${internalOrigins.map(escaped).join('|') || '(?!)'})(?![\\w.:-])[^\\s"'<>]*`, 'g');
  const sentence = (text: string): string => text.replace(quotedUrls, rewriteUrl);
  return {
    base,
    basePath: pathname.replace(/\/$/, ''),
    origin,
    publicUrl: (url) => {
      const start = url.indexOf(fhirPath);
      return start < 0 ? undefined : `${base}/${url.slice(start + fhirPath.length)}`;
    },
    rewriteUrl,
    rewriteResource: <T extends Resource>(resource: T): T =>
      rewriteTree(resource, '', { url: rewriteUrl, sentence }) as T,
  };
}
