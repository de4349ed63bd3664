import type { FastifyPluginAsync } from 'fastify';
import type { BookingConfig } from '../../core/config/config.ts';
import type { Assets } from '../../packages/web/assets.ts';
import { caching } from '../../packages/web/security.ts';
import { singlePage } from '../../packages/web/single-page.ts';
import type { PortalOptions } from '../portal/portal.ts';
import { clinicPreview } from './clinic/preview.ts';
import { type DeskSettings, FRONT_DESK_PATH, publicConfig } from './settings.ts';

/** A region as its address names it: country, state, district. */
const regionPattern = /^[A-Z]{2}(-[A-Z0-9]{1,4}){0,2}$/;

const years = { first: 2000, last: 2100 };

/** How many answers are kept: the regions of one clinic are few. */
const KEPT = 100;

/** The public holidays: countries and states at `/holidays`, those of one year at `/holidays/DE-BY/2027`. */
const holidays: FastifyPluginAsync = async (scope) => {
  // Loaded before anything is served: reading the rules of all countries takes a fifth of a second.
  const { holidayCountries, holidaysOf } = await import('../../core/calendar/change/public-holidays.ts');
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

/** What the front desk is served with. */
interface FrontDeskOptions extends Omit<DeskSettings, 'config' | 'hasPortal'> {
  readonly config: BookingConfig;
  readonly assets: Assets;
  /** The portal at the same origin, if it is served: the clinic sees there how it presents itself. */
  readonly portal?: PortalOptions | undefined;
}

/** The front desk for the clinic's staff, as a Fastify plugin: one script, which speaks to Medplum and to the service. */
export function frontDesk({ config, medplumUrl, clientId, assets, portal }: FrontDeskOptions): FastifyPluginAsync {
  const settings: DeskSettings = {
    medplumUrl,
    clientId,
    hasPortal: portal !== undefined,
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
      // Staff's own: behind a gateway, which knows who calls, and not at all elsewhere.
      if (scope.hasRequestDecorator('caller')) {
        await scope.register(holidays);
        if (portal) {
          await scope.register(clinicPreview(portal));
        }
      }
    },
  });
}
