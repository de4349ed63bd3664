import type { FastifyPluginAsync } from 'fastify';
import type { BookingConfig } from '../../core/config/config.ts';
import type { PortalOptions } from '../portal/portal.ts';
import type { Assets } from '../server/assets.ts';
import { singlePage } from '../server/single-page.ts';
import { clinicPreview } from './clinic/preview.ts';
import { holidays } from './holidays.ts';
import { type DeskSettings, FRONT_DESK_PATH, publicConfig } from './settings.ts';

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
      await scope.register(holidays);
      if (portal) {
        await scope.register(clinicPreview(portal));
      }
    },
  });
}
