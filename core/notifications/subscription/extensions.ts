const BACKPORT = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition';

/**
 * Profiles and extensions of the Subscriptions R5 Backport IG that the service speaks.
 *
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
