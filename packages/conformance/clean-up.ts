import { setTimeout } from 'node:timers/promises';
import { evalFhirPath } from '@medplum/core';
import type { ResourceType } from '@medplum/fhirtypes';
import { type Client, entriesOf, isNamed, type KitResponse, nameOf, retrying, waitOf } from './client.ts';
import { cancellation } from './preparation/bodies.ts';
import { isResource } from './resource.ts';

/** References to what was created while the checks ran, by type. */
export interface Ledger {
  readonly made: Map<string, Set<string>>;
}

/** What the checks create, in the order of removal: a resource goes before those that it refers to. */
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

/** What belongs to something that was created. */
interface Part {
  readonly of: ResourceType;
  /** The search parameter that finds it. */
  readonly query: string;
  /** The element that says so (FHIRPath): a server that ignores the parameter finds what belongs to others. */
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

/** The patient that was passed in a booking, and created with it. */
function patientIn(body: unknown, resource: unknown): unknown {
  const isHandedOver =
    isResource(body, 'Parameters') && body.parameter?.some(({ name, resource: one }) => name === 'patient' && one);
  const { participant = [] } = isHandedOver && isResource(resource, 'Appointment') ? resource : {};
  const reference = participant.flatMap(
    ({ actor }) => /(?:^|\/)Patient\/([^/]+)/.exec(actor?.reference ?? '')?.[1] ?? [],
  )[0];
  return reference && { resourceType: 'Patient', id: reference };
}

/** Whether an answer shows something that the checks have created: the result of a POST, and what becomes of a booking. */
function isMade(method: string, path: string, resource: unknown): boolean {
  return method === 'POST' ? !path.includes('/_search') : /^https?:/.test(path) && isResource(resource, 'Appointment');
}

/** A client that records what it creates. */
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

/** How many resources are cleaned up at once. */
const CONCURRENCY = 8;

/** Something that could not be cleaned up. */
export interface Left {
  readonly reference: string;
  /** The status and the beginning of what the server answered, or that it did not answer. */
  readonly reason: string;
}

/** A busy server, or a write by someone else at the same moment: the same request may succeed later. */
const TEMPORARY = [408, 409, 412, 429, 502, 503, 504];
const ATTEMPTS = 6;

/** What Medplum answers staff if a Bot that it asks before a deletion fails or refuses. */
const REFUSED_BY_BOT = 400;

/**
 * Carries out an action until it is done or refused for good. A server may close a connection at the moment it is reused: a
 * request without an answer is sent a second time.
 *
 * @param temporary - the statuses after which the action may succeed later
 * @returns the last answer; `undefined` if the server cannot be reached
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

/**
 * Carries out an action for each reference, several at once, and returns those for which it was refused. If the server
 * cannot be reached, the others are not tried either.
 */
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

/** How much belongs to one resource at most. */
const MAX_PARTS = 2_000;

/** Whether an element (FHIRPath) refers to a resource, whatever the address of the server and the version. */
const refersTo = (resource: object, element: string, reference: string): boolean =>
  evalFhirPath(`${element}.reference`, resource).some((one) =>
    `/${one}`.replace(/\/_history\/.*$/, '').endsWith(`/${reference}`),
  );

/**
 * Notes what belongs to what was created, also where no answer has told of it.
 *
 * @returns the searches that failed, and why
 */
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

/** How a requestor cleans something up, by type; what is already over is only read. */
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

/** Cleans up what a requestor can. */
async function asRequestor(requestor: Client, ledger: Ledger): Promise<Left[]> {
  const left = await noteParts('Appointment', requestor, ledger);
  for (const [type, takeBack] of Object.entries(takenBack)) {
    left.push(...(await refusedOf(ledger.made.get(type) ?? [], (reference) => takeBack(requestor, reference))));
  }
  return left;
}

/** Deletes what was created, as staff. */
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
 * Cleans up what the checks have created: ends Subscriptions, cancels appointments, sets patients inactive, and deletes
 * everything if there is access as staff.
 *
 * @returns what could not be cleaned up, and why
 */
export async function cleanUp(requestor: Client, staff: Client | undefined, ledger: Ledger): Promise<Left[]> {
  const left = await asRequestor(requestor, ledger);
  if (!staff) {
    return left;
  }
  const kept = await asStaff(staff, ledger);
  return [...left.filter((one) => !isRemovedByStaff(one)), ...kept];
}
