import type { Appointment, Slot } from '@medplum/fhirtypes';

/** What stands at a time of a calendar. */
export const kinds = [
  'free',
  'held',
  'requested',
  'booked',
  'arrived',
  'done',
  'missed',
  'taken',
  'blocked',
  'buffer',
] as const;

/** What stands at a time of a calendar. */
export type Kind = (typeof kinds)[number];

/** How an appointment appears in a calendar; one that has given its time back does not appear. */
export const kindOfStatus: Readonly<Record<Appointment['status'], Kind | undefined>> = {
  proposed: 'held',
  pending: 'requested',
  waitlist: 'held',
  booked: 'booked',
  arrived: 'arrived',
  'checked-in': 'arrived',
  fulfilled: 'done',
  noshow: 'missed',
  cancelled: undefined,
  'entered-in-error': undefined,
};

/** How a Slot that no appointment names appears in a calendar. */
export const kindOfSlot: Readonly<Record<Slot['status'], Kind | undefined>> = {
  free: 'free',
  busy: 'taken',
  'busy-tentative': 'taken',
  'busy-unavailable': 'blocked',
  'entered-in-error': undefined,
};

/** A sign for each kind, so that nobody has to tell colours apart. */
export const signOf: Readonly<Record<Kind, string>> = {
  free: '○',
  held: '◔',
  requested: '?',
  booked: '●',
  arrived: '✓',
  done: '✓✓',
  missed: '✕',
  taken: '■',
  blocked: '⊘',
  buffer: '·',
};
