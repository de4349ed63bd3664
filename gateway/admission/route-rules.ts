/** The checks of a request before any work. */
export interface RouteRule {
  /** The permitted callers: anyone; any client with a token except assistants; staff only; assistants only. */
  readonly who: 'anyone' | 'client' | 'staff' | 'assistant';
  /** By which limit its address is counted: `few` where Medplum has to be asked or something computed for strangers. */
  readonly limit: 'many' | 'few' | 'none';
  /** The largest body, in bytes. */
  readonly bytes: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The rule of a route that has no line in `furtherRoutes`. */
    readonly rule?: RouteRule;
  }
}

/** The rule of a route that costs little, for anyone. */
export const open: RouteRule = { who: 'anyone', limit: 'many', bytes: 0 };

/**
 * The routes beside the FHIR interface and discovery, by method and path; a path may end with `*`. One without a line is not
 * served.
 * Websockets (`{base}/ws`) count as `many` and have permits; `/metrics` has a port of its own.
 */
export const furtherRoutes: Readonly<Record<string, RouteRule>> = {
  // Its answer is always the same.
  'GET /healthz': { ...open, limit: 'none' },
  // Medplum is asked once at a time.
  'GET /readyz': { ...open, limit: 'none' },
  'GET /.well-known/jwks.json': { ...open, limit: 'few' },
  'POST /oauth2/token': { who: 'anyone', limit: 'few', bytes: 64 * 1024 },
  'GET /auth/me': { ...open, who: 'client' },
  'GET /mcp': open,
  'POST /mcp': { who: 'assistant', limit: 'many', bytes: 64 * 1024 },
  // Questions of browsers, where CORS is on.
  'OPTIONS *': open,
  'GET /': open,
  'GET /start.css': open,
  'GET /developers/*': open,
  'GET /front-desk/*': open,
  'GET /front-desk/holidays': { ...open, who: 'staff' },
  'GET /front-desk/holidays/:region/:year': { ...open, who: 'staff' },
  'POST /front-desk/clinic-preview': { who: 'staff', limit: 'many', bytes: 400_000 },
  // The portal limits its visitors itself, and what it gives to programs (notifications, feeds, files).
  'GET /portal/*': open,
  'POST /portal/*': { who: 'anyone', limit: 'many', bytes: 64 * 1024 },
};

/**
 * The rule of a route beside the FHIR interface: that of its path, else of the longest path with `*` that it begins with.
 *
 * @param methods - of the route; the rule of the first applies to all
 * @returns `undefined` if no line fits
 */
export function furtherRule(methods: string | readonly string[], path: string): RouteRule | undefined {
  const [method = ''] = [methods].flat();
  const key = `${method === 'HEAD' ? 'GET' : method} ${path}`;
  const [longestPattern] = Object.keys(furtherRoutes)
    .filter((line) => line.endsWith('*') && `${key}/`.startsWith(line.slice(0, -1)))
    .toSorted((a, b) => b.length - a.length);
  return furtherRoutes[key] ?? furtherRoutes[longestPattern ?? ''];
}
