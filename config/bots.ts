/** The Bots of the service, by the name under which they are deployed. */
export const bots = {
  book: 'Books an appointment: the operation $book on Appointment',
} as const;

/** Name of a Bot of the service. */
export type BotName = keyof typeof bots;
