const byFolder = {
  booking: {
    book: 'Books an appointment: the operation $book on Appointment',
    hold: 'Holds a time for some minutes: the operation $hold on Appointment',
    'find-visits': 'Proposes visits of one appointment or several: the operation $find on Appointment',
    'join-waitlist': 'Puts somebody on the waitlist: the operation $waitlist on Appointment',
    absence:
      'Blocks the time of those who are absent, and looks after their appointments: the operation $absence on Schedule',
    'offer-released-time': 'Offers released time to those who wait for it',
    'enqueue-booking': 'Accepts an asynchronous booking: $book with Prefer: respond-async',
    'process-booking': 'Carries out an accepted asynchronous booking',
    'cancel-booking-job': 'Cancels an asynchronous booking that has not been carried out yet',
    patch: 'Changes or cancels an appointment: PATCH on Appointment',
    'find-deleted': 'Tells the owner of a resource that it was deleted',
    'validate-appointment': 'Checks every other change of an appointment by the same rules before Medplum stores it',
    'validate-patient': 'Keeps a portal from making a patient inactive whose appointments it could not cancel',
    'end-requests':
      'Reminds staff of requests that wait for the clinic, ends those whose deadline is over, and looks after absences',
    'tag-encounter': 'Shows an encounter to the requestor whose appointment led to it',
    'handle-patient-change':
      'Transfers or cancels the appointments of a patient who was merged, deleted or made inactive',
  },
  calendar: {
    'validate-policy':
      'Refuses booking policies, opening hours and visits that cannot be used, before Medplum stores them',
    'validate-slot': 'Withholds free slots whose time is about to be taken, and refuses what a booking has overtaken',
    'sync-slots': 'Updates the slots when clinic staff change an appointment in Medplum, and records its events',
    'publish-slots': 'Publishes free slots from opening hours, and withdraws those whose time is taken',
    'calendar-feed': 'Gives out, renews and ends calendars by secret links: the operation $feed on Schedule',
    reconcile: 'Corrects slots that do not match their appointments because a job was lost',
  },
  notifications: {
    'write-subscription': 'Creates, changes and ends topic-based Subscriptions',
    'subscription-operations': 'Answers $status, $events, $get-ws-binding-token and $deliver on Subscription',
    'record-events': 'Records the events of a changed appointment, one per Subscription',
    'restart-handshake':
      'Sends the handshake again when a Subscription is set to requested, and follows other statuses',
    'deliver-events': 'Delivers the events of one Subscription in order',
    'retry-deliveries': 'Starts what was interrupted and what is due again: events, deliveries, heartbeats',
    'remove-old-events': 'Deletes old events, what Subscriptions that are over have left, and what an erasure left',
  },
  messages: {
    'send-messages': 'Sends people messages about their appointments, by e-mail and SMS',
    'answer-message': 'Carries out what a person answers to a message: the operation $answer on Appointment',
  },
} as const;

/** The purpose of each Bot, by the name under which it is deployed. */
export const bots = { ...byFolder.booking, ...byFolder.calendar, ...byFolder.notifications, ...byFolder.messages };

export type BotName = keyof typeof bots;

/** The starter of each Bot: a requestor or staff through the gateway, or Medplum. */
const startedBy = {
  book: 'caller',
  hold: 'caller',
  'find-visits': 'caller',
  'join-waitlist': 'caller',
  absence: 'caller',
  'offer-released-time': 'medplum',
  'enqueue-booking': 'caller',
  'process-booking': 'medplum',
  'cancel-booking-job': 'caller',
  patch: 'caller',
  'find-deleted': 'caller',
  'validate-appointment': 'medplum',
  'validate-patient': 'medplum',
  'validate-policy': 'medplum',
  'validate-slot': 'medplum',
  'sync-slots': 'medplum',
  'handle-patient-change': 'medplum',
  'tag-encounter': 'medplum',
  'end-requests': 'medplum',
  'write-subscription': 'caller',
  'subscription-operations': 'caller',
  'record-events': 'medplum',
  'restart-handshake': 'medplum',
  'deliver-events': 'medplum',
  'publish-slots': 'medplum',
  'calendar-feed': 'caller',
  reconcile: 'medplum',
  'retry-deliveries': 'medplum',
  'remove-old-events': 'medplum',
  'send-messages': 'medplum',
  'answer-message': 'caller',
} as const satisfies Record<BotName, 'caller' | 'medplum'>;

type StartedBy = typeof startedBy;

/** Name of a Bot that requestors and staff call through the gateway. */
export type CallableBot = { [Name in BotName]: StartedBy[Name] extends 'caller' ? Name : never }[BotName];

const isCallable = (name: BotName): name is CallableBot => startedBy[name] === 'caller';

/** The Bots that requestors and staff call through the gateway; Medplum starts the others. */
export const callableBots: readonly CallableBot[] = (Object.keys(startedBy) as BotName[]).filter(isCallable);

/** The source of a Bot: `bots/booking/book.ts`. */
export function botSource(name: BotName): string {
  const folder = Object.entries(byFolder).find(([, members]) => name in members)?.[0];
  return `bots/${folder}/${name}.ts`;
}

/** The cron expressions (UTC) of scheduled Bots. Medplum follows them only in projects with the feature `cron`. */
export const scheduledBots: Readonly<Partial<Record<BotName, string>>> = {
  'publish-slots': '* * * * *',
  reconcile: '* * * * *',
  'end-requests': '* * * * *',
  'process-booking': '* * * * *',
  'retry-deliveries': '* * * * *',
  'remove-old-events': '*/10 * * * *',
  'send-messages': '* * * * *',
  'offer-released-time': '* * * * *',
};
