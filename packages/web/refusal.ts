import { artefactUri, type PublicConfig } from '../../core/fhir/artefacts.ts';
import { parseInstant } from '../../core/fhir/instant.ts';
import { isObject } from '../../core/fhir/resource.ts';

/** An appointment of a visit that can be chosen; milliseconds since 1970 UTC. */
export interface ChosenStep {
  /** The name of the step; in a series `1`, `2` … */
  readonly name: string;
  /** Ids of the Slots that it takes. */
  readonly slots: readonly string[];
  readonly start: number;
  readonly end: number;
}

/** A time that the service names in place of one that it refuses; milliseconds since 1970 UTC. */
export interface Alternative {
  /** The first Slot that it takes. */
  readonly slot: string;
  /** Ids of all Slots of a single appointment. */
  readonly slots: readonly string[];
  readonly start: number;
  readonly end: number;
  /** The appointments of a whole visit. */
  readonly steps?: readonly ChosenStep[];
}

/** One problem of an answer. */
export interface Problem {
  /** The code of the booking service (docs/errors.md), if the problem has one. */
  readonly code: string | undefined;
  /** FHIR's issue type. */
  readonly type?: string;
  readonly text?: string;
  readonly alternatives: readonly Alternative[];
}

/** The addresses of the extensions that the portal reads. */
export interface ExtensionUrls {
  readonly heldUntil: string;
  readonly alternative: string;
  readonly confirmation: string;
  /** Until when the clinic has to answer a request; without it the page does not name that time. */
  readonly deadline?: string;
  /** The payer kinds that are served; without it nobody is asked. */
  readonly payerKind?: string;
  /** How the portal presents the clinic; without it there are only the elements of its Organization. */
  readonly clinic?: string;
  /** The booking policy; without it the page does not name how long an appointment can be cancelled. */
  readonly policy?: string;
  /** What makes an appointment an offer to one person; without it offers are not shown. */
  readonly offer?: string;
  /** The system of the identifier that all appointments of a visit have; without it each is shown by itself. */
  readonly visitGroup?: string;
  /** What a service needs that takes several appointments, and which step of it one is; without them none is offered. */
  readonly visit?: string;
  readonly visitStep?: string;
  /** The place on the waitlist; without it the page does not name it. */
  readonly place?: string;
}

/** The addresses of the extensions in an installation. */
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
  place: artefactUri(config, 'LocalPosition'),
});

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** A time in the parts of an extension, and the ids of its Slots. */
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

/** The time of a whole visit: from its first appointment to its last. */
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

/**
 * The problems that an OperationOutcome names. Something else has none.
 *
 * @param body - the body of an answer, whatever it is
 */
export function problemsIn(body: unknown, urls: Pick<ExtensionUrls, 'alternative'>): Problem[] {
  return isObject(body) && body.resourceType === 'OperationOutcome'
    ? list(body.issue).map((issue) => problemIn(issue, urls))
    : [];
}
