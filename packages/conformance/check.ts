import { presets } from '../../core/config/presets.ts';
import type { Expectation } from './expectation.ts';
import type { Need } from './preparation/needs.ts';
import { isObject } from './resource.ts';

/** What a service claims to implement: the specification alone (`default`), or a stage of ISiK as well. */
export type Stage = keyof typeof presets;

/** Every stage of ISiK; `isik` is the newest. */
export const isikStages: readonly Stage[] = ['isik3', 'isik4', 'isik5', 'isik'];

/** The stages of ISiK from the fifth on. */
export const fromStage5: readonly Stage[] = ['isik5', 'isik'];

/** The newest stage. */
export const fromStage6: readonly Stage[] = ['isik'];

/** How binding a rule is. A rule that a service need not follow cannot fail it. */
type Level = 'MUST' | 'SHOULD' | 'MAY';

/** Who sends a request: the requestor (the default), the clinic's staff at their own address, or an anonymous client. */
export type Sender = 'requestor' | 'staff' | 'nobody';

/** A request and what is expected of its answer. Texts have placeholders ({@link Data}). */
export interface RequestStep {
  /** Method and path below the service's base address: `GET /Slot?schedule={schedule}`; or an absolute address. */
  readonly request: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} ${string}`;
  readonly by?: Sender;
  /** Representation that is sent and asked for; by default JSON. */
  readonly format?: 'xml';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Name under which later steps find the resource in the answer, and its headers as `{name.header.location}`. */
  readonly keep?: string;
  readonly expect: readonly Expectation[];
  /** The step is left out if earlier answers have no such value: `job.header.content-location`. */
  readonly ifKept?: string;
  /** Ask again until the answer is as expected, for at most this many seconds. */
  readonly within?: number;
}

/** A notification that has to arrive, and what is expected of it. */
export interface NotificationStep {
  readonly notification: string;
  readonly expect: readonly Expectation[];
  readonly within: number;
}

/** One step of a check. */
export type Step = RequestStep | NotificationStep;

/** A scenario of gematik's public test suite that a check covers. */
interface Scenario {
  /** Tag of the feature, as stage 5 names it. */
  readonly feature: string;
  readonly scenario: string;
}

/** A rule of the specification or of a stage of ISiK, and how it is tested. */
export interface Check {
  /** Unique, in kebab case; checks that belong together begin alike. */
  readonly name: string;
  /** By default MUST. */
  readonly level?: Level;
  /** What a service that follows the rule does. */
  readonly rule: string;
  /** Where the rule is stated. */
  readonly section: string;
  /** The stages that have the rule; by default all of them and the specification. */
  readonly stages?: readonly Stage[];
  /** What has to exist beforehand. */
  readonly needs?: readonly Need[];
  readonly steps: readonly Step[];
  /** Name of a check that stands for this one: one of the two must pass. */
  readonly orElse?: string;
  readonly covers?: readonly Scenario[];
}

/** A check that sends one request. */
export type Asking = Omit<Check, 'steps'> &
  Pick<RequestStep, 'request' | 'by' | 'format' | 'headers' | 'body' | 'expect' | 'within'>;

/** Makes the check of one request. */
export const asking = ({ request, by, format, headers, body, within, expect, ...check }: Asking): Check => ({
  ...check,
  steps: [{ request, by, format, headers, body, within, expect }],
});

/** How binding the rule of a check is. */
export const levelOf = ({ level = 'MUST' }: Check): Level => level;

/** Whether a step waits for a notification. */
export function isNotification(step: Step): step is NotificationStep {
  return 'notification' in step;
}

const isStage = (value: unknown): value is Stage => typeof value === 'string' && Object.hasOwn(presets, value);

/**
 * What an installation of this project claims: its preset.
 *
 * @param settings - its configuration, as it is in the file
 */
export function stageOf(settings: unknown): Stage {
  const preset = isObject(settings) ? settings.preset : undefined;
  return isStage(preset) ? preset : 'default';
}
