import { artefactUri, type PublicConfig } from '../../core/fhir/artefacts.ts';
import { parseInstant } from '../../core/fhir/instant.ts';
import { isObject } from '../../core/fhir/resource.ts';

/** An appointment of a visit that can be chosen; milliseconds since 1970 UTC. */
export interface ChosenStep {
  /** The name of the step; in a series `1`, `2` … */
  readonly name: string;
  readonly slots: readonly string[];
  readonly start: number;
  readonly end: number;
}

/** A time that the service proposes in place of a refused one; milliseconds since 1970 UTC. */
export interface Alternative {
  /** Reference to the first Slot. */
  readonly slot: string;
  /** Ids of all Slots of a single appointment. */
  readonly slots: readonly string[];
  readonly start: number;
  readonly end: number;
  readonly steps?: readonly ChosenStep[];
}

/** A problem in a response. */
export interface Problem {
  /** Code of the booking service (docs/errors.md). */
  readonly code: string | undefined;
  readonly type?: string;
  readonly text?: string;
  readonly alternatives: readonly Alternative[];
}

/** The URLs of the extensions that the portal reads. */
export interface ExtensionUrls {
  readonly heldUntil: string;
  readonly alternative: string;
  readonly confirmation: string;
  /** Deadline for the clinic to confirm a request. Without it the page names no deadline. */
  readonly deadline?: string;
  /** Payer kinds of a service. Without it nobody is asked. */
  readonly payerKind?: string;
  /** Presentation of the clinic. Without it the page shows only the elements of the Organization. */
  readonly clinic?: string;
  /** Booking policy. Without it the page does not say how long an appointment can be cancelled. */
  readonly policy?: string;
  /** Mark of a personal offer. Without it personal offers are not shown. */
  readonly offer?: string;
  /** System of the identifier that the appointments of a visit share. Without it each is shown by itself. */
  readonly visitGroup?: string;
  /** Requirements of a visit, and the step of an appointment. Without them no visit is shown. */
  readonly visit?: string;
  readonly visitStep?: string;
  /** Position on the waitlist. Without it the page names no position. */
  readonly position?: string;
}

/** The URLs of the extensions in an installation. */
export const extensionUrls = (config: PublicConfig): Required<ExtensionUrls> => ({
  heldUntil: artefactUri(config, 'LocalHeldUntil'),
  alternative: artefactUri(config, 'LocalAlternative'),
  confirmation: artefactUri(config, 'LocalConfirmation'),
  deadline: artefactUri(config, 'LocalConfirmationDeadline'),
  policy: artefactUri(config, 'LocalBookingPolicy'),
  clinic: artefactUri(config, 'LocalPortal'),
  payerKind: artefactUri(config, 'LocalPayerKind'),
  offer: artefactUri(config, 'LocalOffer'),
  visitGroup: artefactUri(config, 'LocalVisitGroup'),
  visit: artefactUri(config, 'LocalVisit'),
  visitStep: artefactUri(config, 'LocalVisitStep'),
  position: artefactUri(config, 'LocalPosition'),
});

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function stepIn(extension: unknown): ChosenStep | undefined {
  const parts = list(extension).filter(isObject);
  const part = (name: string) => parts.find((one) => one.url === name);
  const [start, end] = [parseInstant(part('start')?.valueInstant), parseInstant(part('end')?.valueInstant)];
  const references = parts.flatMap(({ valueReference: one }) => (isObject(one) ? (text(one.reference) ?? []) : []));
  const slots = references.map((reference) => reference.replace('Slot/', ''));
  return start === undefined || end === undefined
    ? undefined
    : { name: text(part('name')?.valueString) ?? '', slots, start, end };
}

/** The time of a whole visit: from the start of its first appointment to the last end. */
export function visitTime(steps: readonly ChosenStep[]): Alternative | undefined {
  const [first] = steps;
  const slot = first?.slots[0];
  return first && slot !== undefined
    ? { slot: `Slot/${slot}`, slots: [], start: first.start, end: Math.max(...steps.map(({ end }) => end)), steps }
    : undefined;
}

function alternativeIn(extension: unknown, url: string): Alternative | undefined {
  const found = isObject(extension) && extension.url === url ? stepIn(extension.extension) : undefined;
  const [slot] = found?.slots ?? [];
  if (!isObject(extension) || !found) {
    return undefined;
  }
  const steps = list(extension.extension).flatMap((one) =>
    isObject(one) && one.url === 'step' ? (stepIn(one.extension) ?? []) : [],
  );
  const { start, end } = found;
  return slot === undefined ? visitTime(steps) : { slot: `Slot/${slot}`, slots: found.slots, start, end };
}

function problemIn(issue: unknown, { alternative }: Pick<ExtensionUrls, 'alternative'>): Problem {
  const { details, extension, code: type, diagnostics } = isObject(issue) ? issue : {};
  const codings = isObject(details) ? list(details.coding) : [];
  return {
    code: codings
      .filter(isObject)
      .map(({ code }) => text(code))
      .find((code) => code),
    type: text(type) ?? 'exception',
    text: text(diagnostics) || (isObject(details) ? text(details.text) : undefined) || '',
    alternatives: list(extension)
      .map((one) => alternativeIn(one, alternative))
      .filter((one) => one !== undefined),
  };
}

/** The problems in an OperationOutcome. Any other body has none. */
export function problemsIn(body: unknown, urls: Pick<ExtensionUrls, 'alternative'>): Problem[] {
  return isObject(body) && body.resourceType === 'OperationOutcome'
    ? list(body.issue).map((issue) => problemIn(issue, urls))
    : [];
}
