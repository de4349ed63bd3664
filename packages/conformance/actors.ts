import type { Sender } from './check.ts';
import type { Client } from './client.ts';
import type { Listener } from './listener.ts';

/** Who takes part: those who send requests, and the endpoint of a subscriber. */
export interface Actors extends Readonly<Record<Exclude<Sender, 'staff'>, Client>> {
  /** Clinic staff at the server where the clinic's resources are kept, if the tester has access. */
  readonly staff?: Client;
  readonly listener?: Listener;
}
