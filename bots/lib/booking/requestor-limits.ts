import type { MedplumClient } from '@medplum/core';
import type { BundleEntry } from '@medplum/fhirtypes';
import {
  answeredYes,
  furtherQuestions,
  type LimitQuestion,
  markEntry,
  questionsFor,
  type RequestorLimit,
  requestorLimitReads,
} from '../../../core/booking/policy/requestor-limits.ts';
import { config } from '../config.ts';
import { lasts, sendBundle, sendTransaction } from '../medplum.ts';
import { ReadError } from '../read.ts';
import { createLimitMemory } from './limit-memory.ts';

const memory = createLimitMemory(config);

/** The limits of a requestor, to be checked in the batch that a booking reads. */
export interface LimitCheck {
  readonly entry: readonly BundleEntry[];
  /**
   * Which limits are reached, according to the answers to the entries.
   *
   * @throws ReadError when the server could not be read
   */
  readonly conclude: (answers: readonly BundleEntry[]) => Promise<ReadonlySet<LimitQuestion>>;
}

/** Whose limits are checked, and with which credentials. */
export interface LimitContext {
  readonly id: string;
  readonly authorization?: string | undefined;
  readonly now: number;
  /** Whether nothing may be written. */
  readonly isDry: boolean;
}

/** Where the process outlives a booking, it remembers for a moment who is below a limit. */
function checkByMemory(limits: readonly RequestorLimit[], { id, now }: LimitContext): LimitCheck {
  const asked = memory.toAsk(limits, id, now);
  return {
    entry: requestorLimitReads(asked, id, now, config),
    conclude: async (answers) => {
      assertAnswered(asked, answers);
      const reached = answeredYes(asked, answers);
      const below = asked.filter((limit) => !reached.has(limit));
      memory.below(below, id, now);
      return reached;
    },
  };
}

/** Medplum answers 403 to a search for what a caller may not see; any other failure leaves a question open. */
function assertAnswered(questions: readonly LimitQuestion[], answers: readonly BundleEntry[]): void {
  const isAnswered = ({ response }: BundleEntry): boolean => response?.status === '200' || response?.status === '403';
  if (answers.length !== questions.length || !answers.every(isAnswered)) {
    throw new ReadError('The limits of a requestor could not be read.');
  }
}

async function readFurther(
  medplum: MedplumClient,
  questions: readonly LimitQuestion[],
  { id, authorization, now }: LimitContext,
): Promise<BundleEntry[]> {
  if (questions.length === 0) {
    return [];
  }
  const entry = requestorLimitReads(questions, id, now, config);
  const answer = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry }, { authorization });
  const answers = answer.kind === 'done' ? (answer.bundle.entry ?? []) : [];
  assertAnswered(questions, answers);
  return answers;
}

/** Where no memory outlives a run, a mark in Medplum remembers who is near a limit. */
function checkByMark(medplum: MedplumClient, limits: readonly RequestorLimit[], context: LimitContext): LimitCheck {
  const { id, now, isDry } = context;
  const first = questionsFor(limits, Math.random(), config);
  return {
    entry: requestorLimitReads(first, id, now, config),
    conclude: async (found) => {
      assertAnswered(first, found);
      const further = furtherQuestions(limits, first, answeredYes(first, found), config);
      const [asked, answers] = [
        [...first, ...further],
        [...found, ...(await readFurther(medplum, further, context))],
      ];
      const mark = isDry ? undefined : markEntry(asked, answers, id, config);
      // A mark that could not be written is written the next time the appointments are counted.
      await (mark && sendTransaction(medplum, [mark]));
      return answeredYes(asked, answers);
    },
  };
}

/** Asks which limits of the installation a requestor has reached. */
export const checkLimits = (
  medplum: MedplumClient,
  limits: readonly RequestorLimit[],
  context: LimitContext,
): LimitCheck => (lasts(medplum) ? checkByMemory(limits, context) : checkByMark(medplum, limits, context));
