/** The Bots of the service, by the name under which they are deployed. */
export const bots = {
  book: 'Books an appointment: the operation $book on Appointment',
  'enqueue-booking': 'Accepts a booking that is carried out later: $book with Prefer: respond-async',
  'process-booking': 'Carries out a booking that was accepted',
  'cancel-booking-job': 'Drops a booking that was accepted and is not carried out yet',
  patch: 'Changes or cancels an appointment: PATCH on Appointment',
  'validate-appointment': 'Keeps every other change of an appointment to the same rules, before Medplum makes it',
  'sync-slots': 'Lets the slots follow what clinic staff do with an appointment in Medplum',
  'handle-patient-change': 'Hands on or cancels the appointments of a patient who was merged, deleted or made inactive',
  'write-subscription': 'Creates, changes and ends Subscriptions to topics',
  'subscription-operations': 'Tells a subscriber the state of its Subscriptions and their events',
  'record-events': 'Writes the events of a changed appointment for all who must know',
  'restart-handshake': 'Makes sure that a new subscriber can be reached',
  'deliver-events': 'Delivers the events of one Subscription in their order',
  'publish-slots': 'Makes free slots from opening hours, and takes back those whose time is taken',
  reconcile: 'Brings appointments and slots together where a job was lost',
  'retry-deliveries': 'Starts what was interrupted and what is due again: events, deliveries, heartbeats',
  'remove-old-events': 'Deletes old events, and what Subscriptions that are over have left',
} as const;

/** Name of a Bot of the service. */
export type BotName = keyof typeof bots;

/**
 * When Medplum starts a Bot by the clock (a cron expression, UTC), besides whatever else starts it. It does so in
 * projects with the feature `cron` only.
 */
export const clock: Readonly<Partial<Record<BotName, string>>> = {
  'publish-slots': '* * * * *',
  reconcile: '* * * * *',
  'process-booking': '* * * * *',
  'retry-deliveries': '* * * * *',
  'remove-old-events': '*/10 * * * *',
};
