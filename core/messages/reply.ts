import type { Appointment, CodeableConcept, Parameters, ParametersParameter } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant } from '../fhir/instant.ts';
import { isId } from '../fhir/reference.ts';
import { isObject, parametersIn } from '../fhir/resource.ts';
import { ahead, type Known, knowledgeOf, type Thread } from './thread.ts';

/** What a person can answer to a message: they come, they cannot, they need another time, they want no more messages, or again. */
const answers = ['come', 'cancel', 'move', 'stop', 'start'] as const;

/** What a person can answer to a message. */
export type MessageReply = (typeof answers)[number];

/** What is sent to `$answer`. */
export interface ReplyRequest {
  /** Id of the row that the link in a message names. */
  readonly row: string;
  /** The secret of the link. */
  readonly key: string;
  /** What the person has answered; `undefined` to see first what it is about. */
  readonly answer: MessageReply | undefined;
  /** The time to which the person moves, as it was sent: a Slot or a part of it. */
  readonly to: Pick<Appointment, 'slot' | 'start' | 'end'> | undefined;
}

/** Reads Parameters with `token` and, perhaps, `answer`, and to where; `undefined` if they are something else. */
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
  // Whether it is a time at all is seen where it is booked.
  return isId(row) && /^[0-9a-f]{32}$/.test(key) && isKnown
    ? { row, key, answer, to: to as ReplyRequest['to'] }
    : undefined;
}

/** Whether the appointment of a link, or each step of its visit, has begun: then it only ends messages, or begins them again. */
export const isOver = ({ known }: Thread, now: number): boolean =>
  known === undefined || ahead(known, now).steps.length === 0;

/** Whether a link is good: its secret is that of the last news, and it is not too late for what is answered. */
export const isGood = ({ key, answer }: ReplyRequest, thread: Thread, now: number): boolean =>
  key === thread.key && (answer === undefined || isAboutMessages(answer) || !isOver(thread, now));

/** Whether an answer is about messages, not about the appointment. */
export const isAboutMessages = (answer: MessageReply | undefined): boolean => answer === 'stop' || answer === 'start';

/** Whether the appointment is still as the message says. */
function isStill(
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
 * What can be answered now.
 *
 * @param appointments - as they are stored: one, or those of a visit
 * @param isAlone - whether it is no visit, all of whose steps would have to be chosen anew
 * @param isClosed - whether it is too late to cancel
 * @param isRefused - whether the owner of the address wants no messages
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
  return [...(isStill(known, appointments, now, config) ? open : []), isRefused ? 'start' : 'stop'];
}

/** What a portal needs to look for another time: for what, and who pays. */
const wantedPart = ({ serviceType, extension }: Appointment, config: PublicConfig): ParametersParameter[] => [
  ...(serviceType ?? []).slice(0, 1).map((valueCodeableConcept) => ({ name: 'serviceType', valueCodeableConcept })),
  ...(extension ?? []).flatMap(({ url, valueCoding }) =>
    url === artefactUri(config, 'LocalPayerKind') && valueCoding ? [{ name: 'payer-kind', valueCoding }] : [],
  ),
];

/**
 * What `$answer` returns: what the message is about, and what can be answered.
 *
 * @param moving - whoever asks for another time learns for what; nobody else does
 */
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
