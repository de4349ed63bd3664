import type { Reference } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import type { Offer } from '../appointment/offer.ts';
import type { Asked } from '../policy/draw.ts';
import type { RequestorLimit } from '../policy/requestor-limits.ts';
import type { Purpose } from './request/request.ts';

/** What a booking depends on besides the request and the stored state. */
export interface BookingContext {
  /** The moment of the decision, in milliseconds since 1970 UTC. */
  readonly now: number;
  /** Since when an asynchronous booking waits; one that is answered at once has none. */
  readonly asked?: Asked | undefined;
  /** Id of the requestor's profile in Medplum; everything the booking creates is tagged with it. */
  readonly requestor: string;
  /** The same profile as a reference, with its name where Medplum gives it. */
  readonly requester?: Reference | undefined;
  readonly config: BookingConfig;
  /** Gives a fresh `urn:uuid:` for each resource that the transaction creates. */
  readonly newId: () => string;
  /** The limits of the installation that the requestor has reached. */
  readonly reached?: ReadonlySet<RequestorLimit> | undefined;
  /** What the request is for; by default a booking. */
  readonly purpose?: Purpose | undefined;
  /** What the offer says that the service makes, if it is one. */
  readonly offer?: Offer | undefined;
}
