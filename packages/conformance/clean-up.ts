import { setTimeout } from 'node:timers/promises';
import { evalFhirPath } from '@medplum/core';
import type { ResourceType } from '@medplum/fhirtypes';
import { type Client, entriesOf, isNamed, type KitResponse, nameOf, retrying, waitOf } from './client.ts';
import { cancellation } from './preparation/bodies.ts';
import { isResource } from './resource.ts';

/** References of the resources that the checks have created, by type. */
export interface Ledger {
  readonly made: Map<string, Set<string>>;
}

/** The created types in the order of deletion: a resource is deleted before those that it refers to. */
const removed: readonly ResourceType[] = [
  'Encounter',
  'Appointment',
  'QuestionnaireResponse',
  'Slot',
  'Schedule',
  'HealthcareService',
  'Practitioner',
  'Patient',
];

/** A search for resources that depend on a created one. */
interface Part {
  readonly of: ResourceType;
  readonly query: string;
  /** The referring element (FHIRPath): a server that ignores the parameter also finds resources of others. */
  readonly element: string;
}

const parts: Readonly<Partial<Record<ResourceType, Part>>> = {
  Appointment: { of: 'Patient', query: 'patient', element: 'participant.actor' },
  Slot: { of: 'Schedule', query: 'schedule', element: 'schedule' },
  QuestionnaireResponse: { of: 'Patient', query: 'subject', element: 'subject' },
};

function note(ledger: Ledger, resource: unknown): void {
  const { made } = ledger;
  if (isResource(resource, 'Bundle')) {
    for (const entry of resource.entry ?? []) {
      note(ledger, entry.resource);
    }
  } else if (isNamed(resource)) {
    const references = made.get(resource.resourceType) ?? new Set();
    made.set(resource.resourceType, references.add(nameOf(resource)));
  }
}

function patientIn(body: unknown, resource: unknown): unknown {
  const isHandedOver =
    isResource(body, 'Parameters') && body.parameter?.some(({ name, resource: one }) => name === 'patient' && one);
  const { participant = [] } = isHandedOver && isResource(resource, 'Appointment') ? resource : {};
  const reference = participant.flatMap(
    ({ actor }) => /(?:^|\/)Patient\/([^/]+)/.exec(actor?.reference ?? '')?.[1] ?? [],
  )[0];
  return reference && { resourceType: 'Patient', id: reference };
}

/** Whether a response contains a created resource: the result of a POST, or of an asynchronous booking. */
function isMade(method: string, path: string, resource: unknown): boolean {
  return method === 'POST' ? !path.includes('/_search') : /^https?:/.test(path) && isResource(resource, 'Appointment');
}

/** Wraps a client so that the resources that it creates are recorded. */
export function noting(client: Client, ledger: Ledger): Client {
  return {
    ...client,
    async send(request) {
      const response = await client.send(request);
      if (response.status < 300 && isMade(request.method, request.path, response.resource)) {
        note(ledger, response.resource);
        note(ledger, patientIn(request.body, response.resource));
      }
      return response;
    },
  };
}

const isOpen = (resource: unknown): boolean =>
  isResource(resource, 'Appointment') && ['proposed', 'pending', 'booked'].includes(resource.status);

const CONCURRENCY = 8;

export interface Left {
  readonly reference: string;
  /** Status and beginning of the response, or that there was none. */
  readonly reason: string;
}

/** Statuses of a busy server or a concurrent write: the same request may succeed later. */
const TEMPORARY = [408, 409, 412, 429, 502, 503, 504];
const ATTEMPTS = 6;

/** Medplum's status if a Bot before the deletion fails or refuses. */
const REFUSED_BY_BOT = 400;

/**
 * Repeats an action until it succeeds or is refused permanently. A request without a response is sent a second time,
 * because a server may close a connection that is being reused.
 *
 * @param temporary - statuses after which the action may succeed later
 * @returns the last response; `undefined` if the server cannot be reached
 */
async function persist(
  action: () => Promise<KitResponse>,
  temporary: readonly number[],
): Promise<KitResponse | undefined> {
  for (let attempt = 1, unanswered = 0; ; attempt++) {
    const response = await action().catch(() => undefined);
    unanswered += response ? 0 : 1;
    if (unanswered > 1 || attempt === ATTEMPTS || (response && !temporary.includes(response.status))) {
      return response;
    }
    await setTimeout(1000 * waitOf(response));
  }
}

/** Returns the references whose action was refused. If the server cannot be reached, the remaining are skipped. */
async function refusedOf(
  references: Iterable<string>,
  action: (reference: string) => Promise<KitResponse>,
  temporary: readonly number[] = TEMPORARY,
): Promise<Left[]> {
  const waiting = [...references].values();
  const left: Left[] = [];
  const work = async (): Promise<void> => {
    for (const reference of waiting) {
      const response = await persist(() => action(reference), temporary);
      if (!response) {
        left.push(...[reference, ...waiting].map((one) => ({ reference: one, reason: 'no answer' })));
      } else if (response.status >= 300 && ![404, 410].includes(response.status)) {
        left.push({ reference, reason: `${response.status} ${response.text.slice(0, 400)}`.trim() });
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return left;
}

const MAX_PARTS = 2_000;

/** Whether an element (FHIRPath) refers to a resource, ignoring the server's address and the version. */
const refersTo = (resource: object, element: string, reference: string): boolean =>
  evalFhirPath(`${element}.reference`, resource).some((one) =>
    `/${one}`.replace(/\/_history\/.*$/, '').endsWith(`/${reference}`),
  );

/** Records dependent resources, even if no response contained them. Returns the failed searches with reasons. */
async function noteParts(type: ResourceType, client: Client, { made }: Ledger): Promise<Left[]> {
  const part = parts[type];
  if (!part) {
    return [];
  }
  const references = made.get(type) ?? new Set();
  made.set(type, references);
  const search = async (whole: string): Promise<KitResponse> => {
    const path = `/${type}?${part.query}=${whole}&_count=100`;
    const searched = await entriesOf(retrying(client), path, MAX_PARTS);
    for (const { resource } of 'status' in searched ? [] : searched.entries) {
      if (isResource(resource, type) && refersTo(resource, part.element, whole)) {
        references.add(`${type}/${resource.id}`);
      }
    }
    return 'status' in searched ? searched : { status: 200, header: {}, text: '', resource: undefined };
  };
  const left = await refusedOf(made.get(part.of) ?? [], search, []);
  return left.map(({ reference, reason }) => ({ reference: `${type}?${part.query}=${reference}`, reason }));
}

/** The clean-up of a requestor, by type; resources that need none are only read. */
const takenBack: Readonly<Record<string, (requestor: Client, reference: string) => Promise<KitResponse>>> = {
  async Subscription(requestor, reference) {
    return requestor.send({ method: 'DELETE', path: `/${reference}` });
  },
  async Appointment(requestor, reference) {
    const current = await requestor.send({ method: 'GET', path: `/${reference}` });
    return isOpen(current.resource)
      ? requestor.send({ method: 'PATCH', path: `/${reference}`, body: cancellation })
      : current;
  },
  async Patient(requestor, reference) {
    const current = await requestor.send({ method: 'GET', path: `/${reference}` });
    const { resource } = current;
    return isResource(resource, 'Patient') && resource.active !== false
      ? requestor.send({ method: 'PUT', path: `/${reference}`, body: { ...resource, active: false } })
      : current;
  },
};

async function asRequestor(requestor: Client, ledger: Ledger): Promise<Left[]> {
  const left = await noteParts('Appointment', requestor, ledger);
  for (const [type, takeBack] of Object.entries(takenBack)) {
    left.push(...(await refusedOf(ledger.made.get(type) ?? [], (reference) => takeBack(requestor, reference))));
  }
  return left;
}

async function asStaff(staff: Client, ledger: Ledger): Promise<Left[]> {
  const left: Left[] = [];
  for (const type of removed) {
    const remove = (reference: string) => staff.send({ method: 'DELETE', path: `/${reference}` });
    left.push(...(await noteParts(type, staff, ledger)));
    left.push(...(await refusedOf(ledger.made.get(type) ?? [], remove, [...TEMPORARY, REFUSED_BY_BOT])));
  }
  return left;
}

const isRemovedByStaff = ({ reference }: Left): boolean => removed.some((type) => type === reference.split(/[/?]/)[0]);

/**
 * Cleans up the created resources: deletes Subscriptions, cancels appointments and deactivates patients. With staff
 * access, all of them are deleted.
 *
 * @returns the resources that could not be cleaned up, and why
 */
export async function cleanUp(requestor: Client, staff: Client | undefined, ledger: Ledger): Promise<Left[]> {
  const left = await asRequestor(requestor, ledger);
  if (!staff) {
    return left;
  }
  const kept = await asStaff(staff, ledger);
  return [...left.filter((one) => !isRemovedByStaff(one)), ...kept];
}
