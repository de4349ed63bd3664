import type { Appointment, CodeableConcept, Parameters } from '@medplum/fhirtypes';
import type { ArtefactConfig } from '../config/config.ts';
import { formatInstant } from '../fhir/instant.ts';
import { isId } from '../fhir/reference/reference.ts';
import { isObject, isResource } from '../fhir/resource.ts';
import { ahead, type Known, knowledgeOf, type Thread } from './thread.ts';

/** What a person can answer to a message: they come, they cannot, they need another time, they want no more messages. */
const answers = ['come', 'cancel', 'move', 'stop'] as const;

/** What a person can answer to a message. */
export type MessageAnswer = (typeof answers)[number];

/** What is sent to `$answer`. */
export interface AnswerRequest {
  /** Id of the row that the link in a message names. */
  readonly row: string;
  /** The secret of the link. */
  readonly key: string;
  /** What the person has answered; `undefined` to see first what it is about. */
  readonly answer: MessageAnswer | undefined;
}

/** Reads Parameters with `token` and, perhaps, `answer`; `undefined` if they are something else. */
export function parseAnswer(input: unknown): AnswerRequest | undefined {
  const parameter: unknown = isResource(input, 'Parameters') ? input.parameter : undefined;
  const valueNamed = (name: string, type: 'valueString' | 'valueCode'): unknown =>
    (Array.isArray(parameter) ? parameter.filter(isObject) : []).find((one) => one.name === name)?.[type];
  const [token, said] = [valueNamed('token', 'valueString'), valueNamed('answer', 'valueCode')];
  const [row, key = ''] = typeof token === 'string' ? token.split('.', 2) : [];
  const answer = answers.find((one) => one === said);
  return isId(row) && /^[0-9a-f]{32}$/.test(key) && (said === undefined || answer) ? { row, key, answer } : undefined;
}

/** Whether a link is good: its secret is that of the last news, and the appointment, or a step of the visit, has not begun. */
export const isGood = ({ key: sent }: AnswerRequest, { key, known }: Thread, now: number): boolean =>
  key === sent && known !== undefined && ahead(known, now).steps.length > 0;

/** Whether the appointment is still as the message says. */
function isStill(known: Known | undefined, appointments: readonly Appointment[], config: ArtefactConfig): boolean {
  const [now, current] = [Date.now(), knowledgeOf(appointments, config, known)];
  return (
    (known?.status === 'booked' || known?.status === 'offered') &&
    current !== undefined &&
    JSON.stringify(ahead(current, now)) === JSON.stringify(ahead(known, now))
  );
}

/**
 * What can be answered now.
 *
 * @param appointments - as they are stored: one, or those of a visit
 * @param isOwn - whether it is one alone, and that of the portal that asks: there it can be moved
 * @param isClosed - whether it is too late to cancel
 */
export function possibleAnswers(
  { known }: Thread,
  appointments: readonly Appointment[],
  { isOwn, isClosed }: { readonly isOwn: boolean; readonly isClosed: boolean },
  config: ArtefactConfig,
): MessageAnswer[] {
  const open: MessageAnswer[] = [
    'come',
    ...(isClosed ? [] : (['cancel', ...(isOwn && known?.status === 'booked' ? ['move' as const] : [])] as const)),
  ];
  return [...(isStill(known, appointments, config) ? open : []), 'stop'];
}

/** What `$answer` returns: what the message is about, and what can be answered. */
export function answerParameters(
  thread: Thread,
  appointments: readonly Appointment[],
  possible: readonly MessageAnswer[],
  config: ArtefactConfig,
): Parameters {
  const now =
    knowledgeOf(appointments, config, thread.known) ??
    (thread.known && { ...thread.known, status: 'cancelled' as const });
  return {
    resourceType: 'Parameters',
    parameter: [
      ...(possible.includes('move')
        ? [{ name: 'appointment', valueReference: { reference: `Appointment/${thread.appointment}` } }]
        : []),
      ...(now
        ? [
            { name: 'status', valueCode: now.status === 'offered' ? 'proposed' : now.status },
            { name: 'start', valueInstant: formatInstant(now.steps[0]?.start ?? 0) },
            { name: 'end', valueInstant: formatInstant(Math.max(...now.steps.map(({ end }) => end))) },
          ]
        : []),
      ...possible.map((answer) => ({ name: 'answer', valueCode: answer })),
    ],
  };
}

/** The reason for a cancellation by the patient. */
export const byPatient: CodeableConcept = {
  coding: [
    {
      system: 'http://terminology.hl7.org/CodeSystem/appointment-cancellation-reason',
      code: 'pat',
      display: 'Patient',
    },
  ],
};
