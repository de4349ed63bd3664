import type { Resource } from '@medplum/fhirtypes';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { ownerOf } from '../fhir/tags.ts';

const error = (display: string) => ({ severity: 'error', display }) as const;
const warning = (display: string) => ({ severity: 'warning', display }) as const;

/** The kinds of inconsistencies in stored bookings. A warning may have a harmless reason. */
export const rules = {
  'slot-missing': error('An open appointment has no slot, or its slot does not exist'),
  'slot-status': error('The status of a slot does not match the status of its appointment'),
  'slot-time': error('The slots of an open appointment do not cover its time exactly'),
  'slot-held-twice': error('Two appointments hold the same slot, and neither says that it is an overbooking'),
  'slot-without-appointment': error('A slot that the service marked as taken belongs to no appointment'),
  'fragments-overlap': error('Fragments of a split slot overlap'),
  'time-taken-twice': error('Two slots of one schedule take the same time for appointments'),
  'booking-blocked': warning('A block lies over a booked slot: staff must move one of them'),
  'free-over-taken': warning('A slot is free although something takes its time'),
  'published-differs': warning('The published slots of a schedule do not match its opening hours'),
  'buffer-left-over': error('The buffer of a slot is left although no appointment holds the slot'),
  'reference-missing': error('A referenced resource does not exist'),
  'job-left-over': error('An accepted asynchronous booking has not been carried out'),
  'answers-left-over': warning('No appointment refers to answers that came with a booking'),
  'patient-left-over': warning('No appointment refers to a patient that came with a booking'),
} as const;

export type Rule = keyof typeof rules;

/** An inconsistency of stored resources. */
export interface Finding {
  readonly rule: Rule;
  readonly severity: 'error' | 'warning';
  /** The resource at fault, as `Type/id`. */
  readonly resource: string;
  /** The problem, as a whole sentence. */
  readonly diagnostics: string;
}

/** The inputs of the check besides the stored resources. */
export interface ConsistencyContext {
  /** The moment of the check, in milliseconds since 1970 UTC. */
  readonly now: number;
  readonly config: PublicConfig;
  /**
   * References to the Bots of the service, and to the gateway's client. If they are not known, every Bot counts as one
   * of them.
   */
  readonly bots?: ReadonlySet<string>;
}

export function finding(rule: Rule, resource: string, diagnostics: string): Finding {
  return { rule, severity: rules[rule].severity, resource, diagnostics };
}

/** `Type/id` of a resource. */
export const keyOf = ({ resourceType, id }: Resource): string => `${resourceType}/${id}`;

/** Whether a requestor submitted a resource: if so, it has a requestor's tag. */
export function isSubmitted(resource: Resource, { config }: ConsistencyContext): boolean {
  return ownerOf(resource, config) !== undefined;
}

/**
 * Whether the service wrote this version; `undefined` if Medplum does not show the author. It shows it to
 * administrators, with `X-Medplum: extended`.
 */
export function isByService({ meta }: Resource, { bots }: Pick<ConsistencyContext, 'bots'>): boolean | undefined {
  const author = meta?.author?.reference;
  return author === undefined ? undefined : bots ? bots.has(author) : author.startsWith('Bot/');
}
