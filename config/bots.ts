/** The Bots of the service, by the name under which they are deployed. */
export const bots = {
  book: 'Books an appointment: the operation $book on Appointment',
  submit: 'Accepts a booking that is carried out later: $book with Prefer: respond-async',
  work: 'Carries out a booking that was accepted',
  drop: 'Drops a booking that was accepted and is not carried out yet',
  patch: 'Changes or cancels an appointment: PATCH on Appointment',
  guard: 'Keeps every other change of an appointment to the same rules, before Medplum makes it',
  follow: 'Lets the slots follow what clinic staff do with an appointment in Medplum',
  depart: 'Hands on or cancels the appointments of a patient who was merged, deleted or made inactive',
  subscribe: 'Creates, changes and ends Subscriptions to topics',
  report: 'Tells a subscriber the state of its Subscriptions and their events',
  announce: 'Writes the events of a changed appointment for all who must know',
  handshake: 'Makes sure that a new subscriber can be reached',
  deliver: 'Delivers the events of one Subscription in their order',
  reconcile: 'Brings appointments and slots together where a job was lost',
  sweep: 'Starts what was interrupted and what is due again: announcements, deliveries, heartbeats',
} as const;

/** Name of a Bot of the service. */
export type BotName = keyof typeof bots;

/**
 * When Medplum starts a Bot by the clock (a cron expression, UTC), besides whatever else starts it. It does so in
 * projects with the feature `cron` only.
 */
export const clock: Readonly<Partial<Record<BotName, string>>> = {
  reconcile: '* * * * *',
  work: '* * * * *',
  sweep: '* * * * *',
};
