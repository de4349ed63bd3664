import type { Appointment, CodeableConcept, Parameters, ParametersParameter } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant } from '../fhir/instant.ts';
import { isId } from '../fhir/reference.ts';
import { isObject, parametersIn } from '../fhir/resource.ts';
import { ahead, type Known, knowledgeOf, type Thread } from './thread.ts';

/** The possible replies: confirm attendance, cancel, choose another time, stop messages, start them again. */
const answers = ['come', 'cancel', 'move', 'stop', 'start'] as const;

export type MessageReply = (typeof answers)[number];

/** The input of `$answer`. */
export interface ReplyRequest {
  readonly row: string;
  readonly key: string;
  /** The reply; `undefined` to read the message's subject first. */
  readonly answer: MessageReply | undefined;
  /** The new time, as submitted: a Slot or a part of it. */
  readonly to: Pick<Appointment, 'slot' | 'start' | 'end'> | undefined;
}

/** Reads Parameters with `token`, `answer` and the new time; `undefined` if they are invalid. */
export function parseReply(input: unknown): ReplyRequest | undefined {
  const valueNamed = (name: string, type: `value${'String' | 'Code' | 'Reference' | 'Instant'}`): unknown =>
    parametersIn(input).find((one) => one.name === name)?.[type];
  const [token, said] = [valueNamed('token', 'valueString'), valueNamed('answer', 'valueCode')];
  const [row, key = ''] = typeof token === 'string' ? token.split('.', 2) : [];
  const answer = answers.find((one) => one === said);
  const slot = valueNamed('slot', 'valueReference');
  const time = { start: valueNamed('start', 'valueInstant'), end: valueNamed('end', 'valueInstant') };
  const to = isObject(slot) && answer === 'move' ? { slot: [slot], ...time } : undefined;
  const isKnown = said === undefined || answer !== undefined;
  // The booking checks whether `to` is a time.
  return isId(row) && /^[0-9a-f]{32}$/.test(key) && isKnown
    ? { row, key, answer, to: to as ReplyRequest['to'] }
    : undefined;
}

/** Whether every step of a link has begun. The link then can only stop messages or start them again. */
export const isOver = ({ known }: Thread, now: number): boolean =>
  known === undefined || ahead(known, now).steps.length === 0;

/** Whether a link is valid: it has the current secret, and its appointment has not begun if the reply concerns that. */
export const isGood = ({ key, answer }: ReplyRequest, thread: Thread, now: number): boolean =>
  key === thread.key && (answer === undefined || isAboutMessages(answer) || !isOver(thread, now));

export const isAboutMessages = (answer: MessageReply | undefined): boolean => answer === 'stop' || answer === 'start';

/** Whether the appointments ahead are still as the person knows them, booked or offered. */
function isUnchanged(
  known: Known | undefined,
  appointments: readonly Appointment[],
  now: number,
  config: PublicConfig,
): boolean {
  const current = knowledgeOf(appointments, config, known);
  return (
    (known?.status === 'booked' || known?.status === 'offered') &&
    current !== undefined &&
    JSON.stringify(ahead(current, now)) === JSON.stringify(ahead(known, now))
  );
}

/**
 * The replies that are possible now.
 * @param isAlone - `false` for a visit, which cannot be moved: a person would have to choose all its times again
 * @param isClosed - whether it is too late to cancel
 * @param isRefused - whether the address was unsubscribed
 */
export function possibleReplies(
  { known }: Thread,
  appointments: readonly Appointment[],
  { isAlone, isClosed, isRefused }: Readonly<Record<'isAlone' | 'isClosed' | 'isRefused', boolean>>,
  now: number,
  config: PublicConfig,
): MessageReply[] {
  const open: MessageReply[] = [
    'come',
    ...(isClosed ? [] : (['cancel', ...(isAlone && known?.status === 'booked' ? ['move' as const] : [])] as const)),
  ];
  return [...(isUnchanged(known, appointments, now, config) ? open : []), isRefused ? 'start' : 'stop'];
}

/** The input for a search for another time: the service and the payer. */
const wantedPart = ({ serviceType, extension }: Appointment, config: PublicConfig): ParametersParameter[] => [
  ...(serviceType ?? []).slice(0, 1).map((valueCodeableConcept) => ({ name: 'serviceType', valueCodeableConcept })),
  ...(extension ?? []).flatMap(({ url, valueCoding }) =>
    url === artefactUri(config, 'LocalPayerKind') && valueCoding ? [{ name: 'payer-kind', valueCoding }] : [],
  ),
];

/** The result of `$answer`: the message's subject and the possible replies; only for a move, service and payer, too. */
export function replyParameters(
  thread: Thread,
  appointments: readonly Appointment[],
  possible: readonly MessageReply[],
  config: PublicConfig,
  moving?: { readonly appointment: Appointment; readonly isOwn: boolean },
): Parameters {
  const now =
    knowledgeOf(appointments, config, thread.known) ??
    (thread.known && { ...thread.known, status: 'cancelled' as const });
  return {
    resourceType: 'Parameters',
    parameter: [
      ...(moving?.isOwn
        ? [{ name: 'appointment', valueReference: { reference: `Appointment/${thread.appointment}` } }]
        : []),
      ...(moving ? wantedPart(moving.appointment, config) : []),
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

export const byPatient: CodeableConcept = {
  coding: [
    {
      system: 'http://terminology.hl7.org/CodeSystem/appointment-cancellation-reason',
      code: 'pat',
      display: 'Patient',
    },
  ],
};
