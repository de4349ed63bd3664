import { presets } from '../../core/config/presets.ts';
import type { Expectation } from './expectation.ts';
import type { Need } from './preparation/needs.ts';
import { isObject } from './resource.ts';

/** The claim of a service: the specification alone (`default`), or also a stage of ISiK. */
export type Stage = keyof typeof presets;

/** All stages of ISiK; `isik` is the newest. */
export const isikStages: readonly Stage[] = ['isik3', 'isik4', 'isik5', 'isik'];

export const fromStage5: readonly Stage[] = ['isik5', 'isik'];

export const fromStage6: readonly Stage[] = ['isik'];

/** Only a violated MUST fails a service. */
type Level = 'MUST' | 'SHOULD' | 'MAY';

/** The sender: the requestor (default), staff at the server with the clinic's resources, or an anonymous client. */
export type Sender = 'requestor' | 'staff' | 'nobody';

/** A request and the expectations of its response. Texts have placeholders ({@link Data}). */
export interface RequestStep {
  /** Method and path below the service's base URL: `GET /Slot?schedule={schedule}`; or an absolute URL. */
  readonly request: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} ${string}`;
  readonly by?: Sender;
  /** Format of request and response; default: JSON. */
  readonly format?: 'xml';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Name of the response's resource in later placeholders; its headers are `{name.header.location}`. */
  readonly keep?: string;
  readonly expect: readonly Expectation[];
  /** The step is skipped if earlier responses lack this value: `job.header.content-location`. */
  readonly ifKept?: string;
  /** Repeat until the expectations are met, for at most this many seconds. */
  readonly within?: number;
}

/** A notification that must arrive, and its expectations. */
export interface NotificationStep {
  readonly notification: string;
  readonly expect: readonly Expectation[];
  readonly within: number;
}

export type Step = RequestStep | NotificationStep;

/** A scenario of gematik's public test suite that a check covers. */
interface Scenario {
  /** Tag of stage 5. */
  readonly feature: string;
  readonly scenario: string;
}

/** A rule of the specification or of a stage of ISiK, with its test. */
export interface Check {
  /** Unique, in kebab case; related checks have the same prefix. */
  readonly name: string;
  readonly level?: Level;
  readonly rule: string;
  readonly section: string;
  /** The stages with the rule; default: all, and the specification. */
  readonly stages?: readonly Stage[];
  readonly needs?: readonly Need[];
  readonly steps: readonly Step[];
  /** Name of an alternative check: one of the two must pass. */
  readonly orElse?: string;
  readonly covers?: readonly Scenario[];
}

/** A check with one request. */
export type Asking = Omit<Check, 'steps'> &
  Pick<RequestStep, 'request' | 'by' | 'format' | 'headers' | 'body' | 'expect' | 'within'>;

export const asking = ({ request, by, format, headers, body, within, expect, ...check }: Asking): Check => ({
  ...check,
  steps: [{ request, by, format, headers, body, within, expect }],
});

export const levelOf = ({ level = 'MUST' }: Check): Level => level;

export function isNotification(step: Step): step is NotificationStep {
  return 'notification' in step;
}

const isStage = (value: unknown): value is Stage => typeof value === 'string' && Object.hasOwn(presets, value);

/** The stage that an installation of this project claims by its preset. `settings` is the parsed configuration file. */
export function stageOf(settings: unknown): Stage {
  const preset = isObject(settings) ? settings.preset : undefined;
  return isStage(preset) ? preset : 'default';
}
