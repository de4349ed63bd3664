import { evalFhirPath } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { type Client, isNamed, type KitResponse, type Named } from '../client.ts';
import { isObject, isResource } from '../resource.ts';
import { type Data, fill, fillRequest } from '../template.ts';
import type { Act, Adapter, Answers, Step } from './adapters.ts';
import { appointmentIn, type BookableItem } from './calendar.ts';

/** A portal or a member of staff in an attack. */
export interface Party {
  readonly name: string;
  readonly adapter: Adapter;
  readonly client: Client;
  /** Reference of the Patient of its bookings. */
  readonly patient: string;
  /** Its Subscription to changes of its appointments. */
  readonly subscription?: Named;
}

/** The outcome of an act. `nothing`: it was refused for a reason other than the time, or could not begin. */
export interface Outcome {
  readonly kind: 'done' | 'refused' | 'unknown' | 'nothing';
  readonly notifiedCount: string;
  readonly made?: Named;
}

function holds(expression: string, resource: unknown): boolean {
  return isObject(resource) && evalFhirPath(expression, resource)[0] === true;
}

const fits = ({ status, that }: Answers, response: KitResponse): boolean =>
  status.includes(response.status) && (that === undefined || holds(that, response.resource));

function inShort({ status, resource }: KitResponse): string {
  const issue = isResource(resource, 'OperationOutcome') ? resource.issue?.[0] : undefined;
  const why = issue?.details?.coding?.[0]?.code ?? issue?.details?.text ?? issue?.diagnostics ?? '';
  return `${status} ${why.slice(0, 80)}`.trim();
}

const isIn = (step: Step, response: KitResponse): Outcome['kind'] => {
  if (fits(step.done, response)) {
    return 'done';
  }
  if (step.refused?.some((answers) => fits(answers, response))) {
    return 'refused';
  }
  return response.status >= 400 && response.status < 500 ? 'nothing' : 'unknown';
};

function proposalOf({ resource }: BookableItem, patient: string, mark: string): object {
  const participant = resource.resourceType === 'Appointment' ? resource.participant : [];
  return {
    ...resource,
    comment: mark,
    participant: [...participant, { actor: { reference: patient }, status: 'accepted' }],
  };
}

interface About {
  readonly data: Data;
  readonly mark: string;
  readonly offer?: BookableItem;
  readonly start?: string;
  readonly end?: string;
  readonly appointment?: Named;
}

function dataFor({ data, offer, appointment, ...about }: About, patient: string): Data {
  return {
    ...data,
    ...about,
    patient,
    ...(appointment && { appointment, cancelled: { ...appointment, status: 'cancelled' } }),
    ...(offer && { offer: offer.resource, proposed: proposalOf(offer, patient, about.mark) }),
  };
}

function madeBy({ resource }: KitResponse): Outcome['made'] {
  const made = appointmentIn(resource) ?? resource;
  return isNamed(made) ? made : undefined;
}

/** Carries out the steps of an act until one is not done. */
export async function perform({ adapter, client, patient }: Party, act: Act, about: About): Promise<Outcome> {
  let data = dataFor(about, patient);
  let outcome: Outcome = { kind: 'nothing', notifiedCount: `${act} is not known` };
  let hasWritten = false;
  for (const step of adapter.acts[act] ?? []) {
    const { method, path } = fillRequest(step.request, data);
    const lost = (notified: string): Outcome => ({
      kind: method === 'GET' && !hasWritten ? 'nothing' : 'unknown',
      notifiedCount: notified,
    });
    const headers = fill(step.headers ?? {}, data) as Record<string, string>;
    const request = { method, path, headers, body: fill(step.body, data) };
    let response: KitResponse;
    try {
      response = await client.send(request);
    } catch (error) {
      return lost(error instanceof Error ? error.message.slice(0, 80) : 'no answer');
    }
    const kind = isIn(step, response);
    const made = step.keep ? madeBy(response) : undefined;
    outcome = { ...outcome, kind, notifiedCount: inShort(response), ...(made && { made }) };
    if (kind !== 'done') {
      return hasWritten || kind === 'unknown' ? { ...outcome, ...lost(outcome.notifiedCount) } : outcome;
    }
    if (step.keep && !made) {
      return { kind: 'unknown', notifiedCount: `${outcome.notifiedCount}, but no resource` };
    }
    hasWritten ||= method !== 'GET';
    data = { ...data, ...(step.keep && { [step.keep]: { ...made, header: response.header } }) };
  }
  return outcome;
}

/** Whether a FHIRPath expression of an adapter holds for an Appointment. */
export const isSo = (expression: string | undefined, appointment: Appointment): boolean =>
  expression !== undefined && holds(expression, appointment);
