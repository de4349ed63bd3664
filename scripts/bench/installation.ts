/** The measured installation. */
export interface Installation {
  /**
   * FHIR base address of the gateway for the next request, without a trailing slash. The gateways are used in rotation.
   */
  readonly base: string;
  /** FHIR base address of the Medplum server behind it, without a trailing slash. */
  readonly medplum: string;
  readonly gateways: readonly string[];
  /**
   * Bearer tokens of a requestor and of staff. Some measurements need more (otherwise empty): another requestor, the
   * administrator, and a client of a project without the service on the same server, for comparison.
   */
  readonly tokens: Readonly<Record<'portal' | 'other' | 'staff' | 'admin' | 'plain', string>>;
  /** Logs in again if the tokens are old. Long measurements call it now and then. */
  renew(): Promise<void>;
}

/** Tokens are renewed after this many milliseconds: Medplum's are valid for an hour. */
const RENEW_AFTER = 20 * 60_000;

type Environment = Readonly<Record<string, string | undefined>>;

function required(environment: Environment, name: string): string {
  const value = environment[name];
  if (!value) {
    throw new Error(
      `Set ${name}: docs/figures.md says what is measured, and npm run bench -- --help by which variables.`,
    );
  }
  return value;
}

async function logIn(origin: string, id: string, secret: string): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret };
  const response = await fetch(`${origin}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) });
  const { access_token: token } = (await response.json()) as { access_token?: string };
  if (!token) {
    throw new Error(`${origin} issued no token to ${id} (${response.status}).`);
  }
  return token;
}

async function tokenOf(environment: Environment, prefix: string, origin: string): Promise<string> {
  const given = environment[`${prefix}_TOKEN`];
  const credentials = () =>
    [required(environment, `${prefix}_CLIENT_ID`), required(environment, `${prefix}_CLIENT_SECRET`)] as const;
  return given || logIn(origin, ...credentials());
}

/**
 * The installation in the environment: BOOKING_BASE_URL, MEDPLUM_BASE_URL, and for PORTAL_A, FRONT_DESK, ADMIN and, in
 * another project, PLAIN either a `…_TOKEN` or `…_CLIENT_ID` and `…_CLIENT_SECRET`. As in the contract tests,
 * BOOKING_GATEWAYS may list several gateways, separated by commas.
 *
 * @throws Error that names the missing variable
 */
export async function findInstallation(environment: Environment): Promise<Installation> {
  const medplumUrl = required(environment, 'MEDPLUM_BASE_URL').replace(/\/$/, '');
  const base = required(environment, 'BOOKING_BASE_URL').replace(/\/$/, '');
  const gateways = environment.BOOKING_GATEWAYS?.split(',') ?? [base];
  const { origin } = new URL(base);
  const logInAll = async (): Promise<Installation['tokens']> => {
    const tokenIfAny = (prefix: string, where: string) =>
      environment[`${prefix}_TOKEN`] || environment[`${prefix}_CLIENT_ID`] ? tokenOf(environment, prefix, where) : '';
    const [portal, other, staff, admin, plain] = await Promise.all([
      tokenOf(environment, 'PORTAL_A', origin),
      tokenIfAny('PORTAL_B', origin),
      tokenOf(environment, 'FRONT_DESK', medplumUrl),
      tokenIfAny('ADMIN', medplumUrl),
      tokenIfAny('PLAIN', medplumUrl),
    ]);
    return { portal, other, staff, admin, plain };
  };
  let tokens = await logInAll();
  let since = Date.now();
  let turn = 0;
  return {
    get base() {
      return gateways[turn++ % gateways.length] ?? base;
    },
    gateways,
    medplum: `${medplumUrl}/fhir/R4`,
    get tokens() {
      return tokens;
    },
    async renew() {
      if (Date.now() - since > RENEW_AFTER) {
        tokens = await logInAll();
        since = Date.now();
      }
    },
  };
}
