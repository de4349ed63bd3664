import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Task } from '@medplum/fhirtypes';
import { openAffected, withStatus } from '../../../core/absence/rows.ts';
import { endOf, isForAssistant, isOpenOffer, offeredFor, reasonOf } from '../../../core/booking/appointment/expiry.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { updateEntry } from '../../../core/fhir/resource.ts';
import { endedCommunication, numberSearch } from '../../../core/messages/message.ts';
import { threadOf, threadSearch, threadTask } from '../../../core/messages/thread.ts';
import { creation, newRow } from '../../../core/rows/row.ts';
import { cancelEntries } from '../booking/cancel.ts';
import { readReaches } from '../booking/reach.ts';
import { readRelatedAppointment } from '../booking/related-reads.ts';
import { config } from '../config.ts';
import { retryOvertaken, writeUnlessOvertaken } from '../medplum.ts';
import { ofType, readInTransaction } from '../read.ts';

export interface Undelivered {
  readonly appointment: string;
  readonly patient: string | undefined;
  readonly kind: string;
  /** The reason of the failure, as sentences. */
  readonly reason: string;
  /** Whether the message is about other appointments of a series, too. */
  readonly isSeries?: boolean;
  /** When staff need not call any more, in milliseconds since 1970 UTC. */
  readonly until?: readonly number[];
}

/** The task for staff to call a person whose message probably has not arrived. */
export function undelivered({ appointment, patient, kind, reason, isSeries, until = [] }: Undelivered): BundleEntry {
  const more: Partial<Task> & Pick<Task, 'status'> = {
    status: 'requested',
    description: `Tell the patient: the message (${kind}) about this appointment${isSeries ? ' and others of its series' : ''} has not arrived, as far as is known. ${reason}`,
    focus: { reference: `Appointment/${appointment}` },
    ...(patient && { for: { reference: patient } }),
    authoredOn: formatInstant(Date.now()),
    ...(until.length > 0 && { restriction: { period: { end: formatInstant(Math.min(...until)) } } }),
  };
  return creation(newRow('undelivered', more, config));
}

/** When the offers among some appointments end: nobody is to be called about one that is over. */
export const offersEnd = (appointments: readonly Appointment[]): number[] =>
  appointments.flatMap((appointment) => endOf('offer', appointment, config) ?? []);

/**
 * The entries after a message that certainly did not arrive. They end an open personal offer: its time goes to the next
 * waitlist entry, or staff call in an absence. An offer that its portal knows, or of an assistant, stays open.
 */
export async function undeliveredOffers(medplum: MedplumClient, message: Undelivered): Promise<BundleEntry[]> {
  const found = await readRelatedAppointment(medplum, message.appointment);
  const { appointment } = found;
  if (!appointment || !isOpenOffer(appointment, Date.now(), config) || isForAssistant(appointment, config)) {
    return [undelivered(message)];
  }
  if ((await readReaches(medplum, [appointment], {})).includes('portal')) {
    return [undelivered({ ...message, until: offersEnd([appointment]) })];
  }
  const replaced = offeredFor(appointment, config).map((id) => `Appointment/${id}`);
  const [rows] = await readInTransaction(medplum, [`${openAffected(config)}&focus=${replaced.join(',')}`]);
  const called = ofType('Task', rows).map((row) => updateEntry(row, withStatus(row, 'call')));
  const reason = reasonOf('hold-expired', 'The message with the offer did not arrive.', config);
  const ended = await cancelEntries(medplum, found, appointment, reason);
  return [...(called.length > 0 ? called : [undelivered({ ...message, until: [] })]), ...ended];
}

/**
 * Stores that a message which counted as sent came back (`undeliveredOffers`).
 * @param number - `messageNumber`
 * @param status - the reason, as a code (RFC 3463)
 * @returns `false` if no sent message has this number
 * @throws Error when others were faster at each attempt
 */
export async function messageReturned(medplum: MedplumClient, number: string, status: string): Promise<boolean> {
  const reason = `A mail server returned it with status ${status}.`;
  const attempt = async (): Promise<boolean | 'overtaken'> => {
    const [found] = await readInTransaction(medplum, [numberSearch(number, config)]);
    const [sent] = ofType('Communication', found).filter((communication) => communication.status === 'completed');
    if (!sent) {
      return false;
    }
    const [appointment = ''] = number.split('/');
    const [rows] = await readInTransaction(medplum, [threadSearch(appointment, config)]);
    // A person without the message need not reply. The message being sent now may arrive.
    const asked = ofType('Task', rows).filter((row) => row.status === 'ready' && threadOf(row).answerBy !== undefined);
    const { subject, topic } = sent;
    const message = { appointment, patient: subject?.reference, kind: topic?.text ?? '', reason };
    const returned = endedCommunication(sent, 'given-up', Date.now(), reason);
    const entry = [
      updateEntry(sent, returned),
      ...asked.map((row) => updateEntry(row, threadTask({ ...threadOf(row), answerBy: undefined }, config, row))),
      ...(await undeliveredOffers(medplum, message)),
    ];
    return (await writeUnlessOvertaken(medplum, entry, `The message ${number}`)) ? true : 'overtaken';
  };
  const isKnown = await retryOvertaken(attempt, (result) => result === 'overtaken');
  if (isKnown === 'overtaken') {
    throw new Error(`The message ${number} could not be written: others were faster at each attempt.`);
  }
  return isKnown;
}
