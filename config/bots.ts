/** The Bots of the service, by the name under which they are deployed. */
export const bots = {
  book: 'Books an appointment: the operation $book on Appointment',
  submit: 'Accepts a booking that is carried out later: $book with Prefer: respond-async',
  work: 'Carries out a booking that was accepted',
  drop: 'Drops a booking that was accepted and is not carried out yet',
} as const;

/** Name of a Bot of the service. */
export type BotName = keyof typeof bots;
