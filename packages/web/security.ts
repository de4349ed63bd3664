import type { FastifyHelmetOptions } from '@fastify/helmet';

/** The rights of an application's pages beyond the rights of all pages. */
export interface PageRights {
  readonly isSecure: boolean;
  /** Further origins that scripts of the page may call, for example Medplum's. */
  readonly connect?: readonly string[];
  /** Further sources of scripts, for example a nonce. */
  readonly scripts?: readonly string[];
  /** Origins of sites that may show the pages in a frame. */
  readonly frames?: readonly string[];
  /** Whether scripts may set styles: libraries of components do. */
  readonly styles?: 'own files' | 'inline too';
}

/**
 * The security headers of pages. Scripts, styles and pictures come from the service itself, and nothing in the markup
 * runs: stored data of a portal or a clinic cannot become a script.
 *
 * The referrer policy is `same-origin`: with `no-referrer` a browser sends `Origin: null` with a form, and the
 * protection against forged requests could not tell it from a foreign one.
 *
 * @see https://www.w3.org/TR/CSP3/
 */
export function securityHeaders({
  isSecure,
  connect = [],
  scripts = [],
  frames = [],
  styles = 'own files',
}: PageRights): FastifyHelmetOptions {
  return {
    strictTransportSecurity: isSecure,
    referrerPolicy: { policy: 'same-origin' },
    ...(frames.length > 0 && { xFrameOptions: false }),
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'", ...scripts],
        styleSrc: styles === 'own files' ? ["'self'"] : ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:'],
        fontSrc: ["'self'"],
        connectSrc: ["'self'", ...connect],
        manifestSrc: ["'self'"],
        formAction: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: frames.length > 0 ? [...frames] : ["'none'"],
        ...(isSecure && { upgradeInsecureRequests: [] }),
      },
    },
  };
}

/** Values of `Cache-Control`. Pages about one person are not cached. */
export const caching = {
  personal: 'no-store',
  checked: 'no-cache',
} as const;
