import { isObject } from './resource.ts';

const BACKPORT = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition';

/**
 * The service's profiles and extensions from the Subscriptions R5 Backport IG.
 * @see https://hl7.org/fhir/uv/subscriptions-backport/STU1.1/artifacts.html
 */
export const backport = {
  subscription: `${BACKPORT}/backport-subscription`,
  statusR4: `${BACKPORT}/backport-subscription-status-r4`,
  notificationR4: `${BACKPORT}/backport-subscription-notification-r4`,
  filterCriteria: `${BACKPORT}/backport-filter-criteria`,
  payloadContent: `${BACKPORT}/backport-payload-content`,
  heartbeatPeriod: `${BACKPORT}/backport-heartbeat-period`,
  timeout: `${BACKPORT}/backport-timeout`,
  topicCanonical: `${BACKPORT}/capabilitystatement-subscriptiontopic-canonical`,
} as const;

/** The values of an element's extensions with this address, of any type (`value[x]`). */
export function extensionValues(element: unknown, url: string): unknown[] {
  const extensions = isObject(element) && Array.isArray(element.extension) ? element.extension : [];
  return extensions
    .filter((extension) => isObject(extension) && extension.url === url)
    .map((extension) => Object.entries(extension).find(([name]) => name.startsWith('value'))?.[1]);
}

export const extensionCount = (element: unknown): number =>
  isObject(element) && Array.isArray(element.extension) ? element.extension.length : 0;

/** A member of an object; `undefined` for any other value. */
export function member(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}
