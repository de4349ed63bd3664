import type { Organization } from '@medplum/fhirtypes';
import type { FastifyPluginAsync } from 'fastify';
import { artefactUri, type PublicConfig } from '../../core/fhir/artefacts.ts';
import { isObject } from '../../core/fhir/resource.ts';
import type { Assets } from '../../packages/web/assets.ts';
import { caching } from '../../packages/web/security.ts';
import { singlePage } from '../../packages/web/single-page.ts';
import { emptyPresentation, maxLength, withPresentation } from './clinic/presentation.ts';
import { type DeskSettings, FRONT_DESK_PATH, publicConfig } from './settings.ts';

const regionPattern = /^[A-Z]{2}(-[A-Z0-9]{1,4}){0,2}$/;

const years = { first: 2000, last: 2100 };

/** Maximum number of cached responses: one clinic has few regions. */
const KEPT = 100;

/** The public holidays: countries and states at `/holidays`, those of one year at `/holidays/DE-BY/2027`. */
const holidays: FastifyPluginAsync = async (scope) => {
  // Loaded before the first request: reading the rules of all countries takes a fifth of a second.
  const { holidayCountries, holidaysOf } = await import('../../core/fhir/scheduling/public-holidays.ts');
  const known = new Map<string, unknown>();
  const keep = (key: string, make: () => unknown): unknown => {
    const value = known.get(key) ?? make();
    const [oldest = ''] = known.keys();
    if (known.size >= KEPT && !known.has(key)) {
      known.delete(oldest);
    }
    known.set(key, value);
    return value;
  };
  scope.get('/holidays', async (_request, reply) => {
    const countries = keep('', holidayCountries);
    return reply.header('cache-control', caching.checked).send(countries);
  });
  scope.get<{ Params: { region: string; year: string } }>('/holidays/:region/:year', async ({ params }, reply) => {
    const [region, year] = [params.region.toUpperCase(), Number(params.year)];
    if (!regionPattern.test(region) || !Number.isInteger(year) || year < years.first || year > years.last) {
      return reply.code(404).send({ problem: `Ask for a region and a year from ${years.first} to ${years.last}.` });
    }
    const found = keep(`${region} ${year}`, () => holidaysOf(region, year));
    return reply
      .header('cache-control', caching.checked)
      .code(Array.isArray(found) ? 200 : 404)
      .send(found);
  });
};

const longest: ReadonlyMap<string, number> = new Map(Object.entries({ ...maxLength, language: 20 }));

/** The texts of a request body. `undefined` if it has unknown names, other types, or a text that is too long. */
function typedIn(body: unknown): Readonly<Record<string, string>> | undefined {
  const values = Object.entries(isObject(body) && !Array.isArray(body) ? body : { nothing: undefined });
  return values.every(
    (entry): entry is [string, string] =>
      typeof entry[1] === 'string' && entry[1].length <= (longest.get(entry[0]) ?? -1),
  )
    ? Object.fromEntries(values)
    : undefined;
}

/** Renders the first page of the portal with a presentation of the clinic that is not stored. */
type ClinicPage = (shown: {
  readonly organization: Organization;
  readonly language: string;
  readonly bring: string | undefined;
  readonly ip: string;
}) => Promise<string>;

/** `POST /clinic-preview`: the portal's page for a typed presentation. */
const clinicPreview =
  (clinicPage: ClinicPage, config: PublicConfig): FastifyPluginAsync =>
  async (scope) => {
    scope.post('/clinic-preview', async ({ body, ip }, reply) => {
      const typed = typedIn(body);
      if (!typed) {
        return reply.code(400).send({ problem: 'Send an object of texts of the clinic, none longer than it may be.' });
      }
      const { language = '', bring } = typed;
      const organization = withPresentation(
        { resourceType: 'Organization', id: 'preview' },
        { ...emptyPresentation, ...typed },
        artefactUri(config, 'LocalPortal'),
      );
      const page = await clinicPage({ organization, language, bring, ip });
      return reply.header('cache-control', caching.personal).send({ page });
    });
  };

interface FrontDeskOptions extends Omit<DeskSettings, 'config' | 'hasPortal'> {
  readonly config: PublicConfig;
  readonly assets: Assets;
  /** Renders the preview of the portal; only if the portal is served at the same origin. */
  readonly clinicPage?: ClinicPage | undefined;
}

/** The front desk for the clinic's staff, as a Fastify plugin. Its one script calls Medplum and the service. */
export function frontDesk({ config, medplumUrl, clientId, assets, clinicPage }: FrontDeskOptions): FastifyPluginAsync {
  const settings: DeskSettings = {
    medplumUrl,
    clientId,
    hasPortal: clinicPage !== undefined,
    config: publicConfig(config),
  };
  return singlePage({
    title: 'Front desk',
    assets,
    path: FRONT_DESK_PATH,
    rights: {
      isSecure: config.baseUrl.startsWith('https:'),
      connect: [new URL(medplumUrl).origin],
      styles: 'inline too',
    },
    settings: { settings: JSON.stringify(settings) },
    routes: async (scope) => {
      // Routes for staff exist only behind a gateway, which knows the caller.
      if (scope.hasRequestDecorator('caller')) {
        await scope.register(holidays);
        if (clinicPage) {
          await scope.register(clinicPreview(clinicPage, config));
        }
      }
    },
  });
}
