import type { BookingConfig } from '../../core/config/config.ts';
import { openApi } from '../../gateway/openapi.ts';
import { fhirRoutes } from '../../gateway/route-table.ts';

/** The OpenAPI description of an installation. */
export function descriptionOf(config: Pick<BookingConfig, 'baseUrl'>) {
  const named = { StructureDefinition: [], OperationDefinition: [], SearchParameter: [] };
  const routes = fhirRoutes(() => Promise.resolve({ status: 404 }), named);
  return openApi(config, routes);
}

/** The OpenAPI description of a service at an example address. */
export const openApiFile = (): string =>
  `${JSON.stringify(descriptionOf({ baseUrl: 'https://booking.example.org/fhir/R4' }), undefined, 2)}\n`;
