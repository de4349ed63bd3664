import type { Appointment, Slot } from '@medplum/fhirtypes';

/** The kinds of entries in a calendar. */
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

/** The kind of an entry in a calendar. */
export type Kind = (typeof kinds)[number];

/** The kind of an appointment by status. An appointment that has given its time back has none and is not shown. */
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

/** The kind of a Slot that no appointment names. */
export const kindOfSlot: Readonly<Record<Slot['status'], Kind | undefined>> = {
  free: 'free',
  busy: 'taken',
  'busy-tentative': 'taken',
  'busy-unavailable': 'blocked',
  'entered-in-error': undefined,
};

/** A sign for each kind, so that colour is not the only distinction. */
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
