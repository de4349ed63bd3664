import { deepEquals } from '@medplum/core';
import type { Resource } from '@medplum/fhirtypes';

/** A resource as it is compared: without id and meta, which are the server's. */
function content(resource: Resource): unknown {
  const { id: _id, meta: _meta, ...rest } = resource;
  return JSON.parse(JSON.stringify(rest));
}

/** Whether a stored resource says what is desired; ids, versions and other metadata do not count. */
export function hasContent(stored: Resource, desired: Resource): boolean {
  return deepEquals(content(stored), content(desired));
}
