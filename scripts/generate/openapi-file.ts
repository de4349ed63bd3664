import { openApi } from '../../gateway/openapi.ts';
import { fhirRoutes } from '../../gateway/route-table.ts';

/** The OpenAPI description of a service at an example address. */
export function openApiFile(): string {
  const named = { StructureDefinition: [], OperationDefinition: [], SearchParameter: [] };
  const routes = fhirRoutes(() => Promise.resolve({ status: 404 }), named);
  return `${JSON.stringify(openApi({ baseUrl: 'https://booking.example.org/fhir/R4' }, routes), undefined, 2)}\n`;
}
