import type { BookingConfig } from '../../core/config/config.ts';
import { type DevelopersOptions, developers } from '../../web/developers/server.ts';
import type { Application } from '../../web/web.ts';
import { descriptionOf } from '../generate/openapi-file.ts';

/**
 * The page on which developers of portals try the interface of the demo clinic.
 *
 * @param client - a portal's credentials; whoever sees the page has them
 */
export function developersApplication(config: BookingConfig, client: DevelopersOptions['client']): Application {
  return {
    path: '/developers/',
    title: { en: 'Try the interface', de: 'Schnittstelle ausprobieren' },
    description: {
      en: 'For developers of portals: every call, the guide, the OpenAPI description',
      de: 'Für Entwickler von Portalen: alle Aufrufe, die Anleitung, die OpenAPI-Beschreibung',
    },
    plugin: developers({ description: descriptionOf(config), client, docs: 'docs' }),
  };
}
