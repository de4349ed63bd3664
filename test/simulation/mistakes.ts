import type { BundleEntry, Resource } from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { config } from './config.ts';
import type { Occasion, Request } from './medplum.ts';
import type { Mistake } from './world.ts';

type Method = 'PUT' | 'POST' | 'DELETE';
type Type = 'Slot' | 'Appointment' | 'Task' | 'Communication';

/** Which entries of the transactions of Bots a mistake is about; `code`: of a Task. */
interface Entries {
  readonly code?: string;
  readonly by: Occasion;
  readonly type?: Type;
  readonly methods?: readonly Method[];
  readonly status?: string;
}

function isMeant({ request, resource }: BundleEntry, { type = 'Slot', methods, status, code }: Entries): boolean {
  const [of] = (request?.url ?? '').split(/[/?]/);
  const is = resource && 'status' in resource ? resource.status : undefined;
  return (
    of === type &&
    request?.method !== 'GET' &&
    (methods === undefined || methods.some((method) => method === request?.method)) &&
    (status === undefined || status === is) &&
    (code === undefined || (isResource(resource, 'Task') && resource.code?.coding?.[0]?.code === code))
  );
}

/** Changes the entries that are meant. */
const changing =
  (entries: Entries, change: (entry: BundleEntry) => BundleEntry): Mistake['spoilt'] =>
  (occasion, request): Request => {
    const { body } = request;
    return occasion === entries.by && isResource(body, 'Bundle')
      ? {
          ...request,
          body: { ...body, entry: body.entry?.map((entry) => (isMeant(entry, entries) ? change(entry) : entry)) },
        }
      : request;
  };

/** An entry that does nothing, in the place of one that is left out. */
const nothing: BundleEntry = { request: { method: 'GET', url: 'Slot?_count=1' } };

export const leavesOut = (entries: Entries): Mistake => ({ spoilt: changing(entries, () => nothing) });

/** Leaves out the one at a place, if there are several. */
const leavesOneOut = (place: number, entries: Entries): Mistake => ({
  spoilt(occasion, request) {
    const { body } = request;
    const all = isResource(body, 'Bundle') ? (body.entry ?? []) : [];
    const meant = all.filter((entry) => isMeant(entry, entries));
    return occasion === entries.by && isResource(body, 'Bundle') && meant.length > 1
      ? { ...request, body: { ...body, entry: all.map((entry) => (entry === meant.at(place) ? nothing : entry)) } }
      : request;
  },
});

const forgetsVersion = (entries: Entries): Mistake => ({
  spoilt: changing(entries, ({ request, ...entry }) => {
    const { ifMatch: _, ...rest } = request ?? { method: 'GET', url: '' };
    return { ...entry, request: rest };
  }),
});

export const writes = (entries: Entries, change: (resource: Resource) => Resource): Mistake => ({
  spoilt: changing(entries, (entry) => (entry.resource ? { ...entry, resource: change(entry.resource) } : entry)),
});

const shifted = (instant: string | undefined, minutes: number): string =>
  new Date(Date.parse(instant ?? '') + minutes * 60_000).toISOString();

const ends =
  (minutes: number) =>
  (resource: Resource): Resource =>
    resource.resourceType === 'Slot' ? { ...resource, end: shifted(resource.end, minutes) } : resource;

const begins =
  (minutes: number) =>
  (resource: Resource): Resource =>
    resource.resourceType === 'Slot' ? { ...resource, start: shifted(resource.start, minutes) } : resource;

const inBatch =
  (by: Occasion): Mistake['spoilt'] =>
  (occasion, request) =>
    occasion === by && isResource(request.body, 'Bundle') && request.body.type === 'transaction'
      ? { ...request, body: { ...request.body, type: 'batch' } }
      : request;

/** Overlooks, in what searches find, the Slots of a status. */
const overlooks = (by: Occasion, status: string): Mistake => ({
  misread(occasion, text) {
    if (occasion !== by) {
      return text;
    }
    return JSON.stringify(JSON.parse(text), (_, value: unknown) =>
      Array.isArray(value)
        ? value.filter((one) => !(isResource(one?.resource, 'Slot') && one.resource.status === status))
        : value,
    );
  },
});

const isAbout = (input: unknown, type: Type): boolean =>
  isResource(input, type) ||
  (typeof input === 'object' &&
    input !== null &&
    'deletedResource' in input &&
    isResource(input.deletedResource, type));

const idle = (by: Occasion, type?: Type): Mistake => ({
  isIdle: (occasion, input) => occasion === by && (type === undefined || isAbout(input, type)),
});

/** The guard of a type sees creations alone. */
const allowsChange = (type: 'Slot' | 'Appointment'): Mistake => ({
  isIdle: (occasion, input) => occasion === 'guard' && isResource(input, type) && input.meta?.versionId !== undefined,
});

/** Two mistakes at once: what one Bot forgets, another may mend. */
const all = (mistake: Mistake, other: Mistake): Mistake => ({
  isIdle: (...about) => Boolean(mistake.isIdle?.(...about) || other.isIdle?.(...about)),
  spoilt(occasion, request) {
    const first = mistake.spoilt?.(occasion, request) ?? request;
    return other.spoilt?.(occasion, first) ?? first;
  },
});

const withoutEnd = writes({ by: 'call', type: 'Appointment', status: 'proposed' }, (resource) =>
  resource.resourceType === 'Appointment'
    ? {
        ...resource,
        extension: resource.extension?.filter(({ url }) => url !== artefactUri(config, 'LocalHeldUntil')),
      }
    : resource,
);

/** Reservations that count for longer than an act can take. */
const lasting = (resource: Resource): Resource =>
  resource.resourceType === 'Task'
    ? {
        ...resource,
        extension: resource.extension?.map((extension) => ({
          ...extension,
          extension: extension.extension?.map((part) =>
            part.url === 'until' ? { ...part, valueInstant: shifted(part.valueInstant, 5) } : part,
          ),
        })),
      }
    : resource;

const put = ['PUT'] as const;
const post = ['POST'] as const;

/**
 * Mistakes that the simulation must notice: what the Bots for portals (`call`), the guards, and the Bots that follow
 * changes (`job`) may forget. They are put into the requests, so that they are the same whatever the sources look like.
 */
export const mistakes: Readonly<Record<string, Mistake>> = {
  'a booking forgets the versions of Slots': forgetsVersion({ by: 'call' }),
  'a booking forgets the versions of what it takes': forgetsVersion({ by: 'call', status: 'busy' }),
  'a hold forgets the versions of what it takes': forgetsVersion({ by: 'call', status: 'busy-tentative' }),
  'a change forgets all versions': all(
    forgetsVersion({ by: 'call' }),
    forgetsVersion({ by: 'call', type: 'Appointment' }),
  ),
  'what follows a change forgets all versions': all(
    forgetsVersion({ by: 'job' }),
    forgetsVersion({ by: 'job', type: 'Appointment' }),
  ),
  'nothing follows the change of an appointment, and the clock does nothing': all(
    idle('job', 'Appointment'),
    idle('clock'),
  ),
  'a guard forgets versions': forgetsVersion({ by: 'guard' }),
  'what follows a change forgets the versions of Slots': forgetsVersion({ by: 'job' }),
  'a booking leaves out the time around it': leavesOut({ by: 'call', methods: post, status: 'busy-unavailable' }),
  'a booking leaves its neighbours on offer': leavesOut({ by: 'call', methods: put, status: 'entered-in-error' }),
  'a booking leaves out the rest of a Slot': leavesOut({ by: 'call', methods: post, status: 'free' }),
  'a booking leaves its Slot free': leavesOut({ by: 'call', methods: put, status: 'busy' }),
  'a hold leaves its Slot free': leavesOut({ by: 'call', methods: put, status: 'busy-tentative' }),
  'a cancellation keeps its Slot': leavesOut({ by: 'call', methods: put, status: 'free' }),
  'a cancellation keeps the time around it': leavesOut({ by: 'call', methods: ['DELETE'] }),
  'a replacement keeps the old appointment': leavesOut({
    by: 'call',
    type: 'Appointment',
    methods: put,
    status: 'cancelled',
  }),
  'a cancellation of a visit leaves a step': leavesOneOut(1, {
    by: 'call',
    type: 'Appointment',
    methods: put,
    status: 'cancelled',
  }),
  'a booking of a visit forgets its last step': leavesOneOut(-1, { by: 'call', type: 'Appointment', methods: post }),
  'an offer of an absence is written without its row': leavesOut({
    by: 'call',
    type: 'Task',
    code: 'affected',
    methods: put,
    status: 'in-progress',
  }),
  'a row of an absence ends without its offer': {
    spoilt: (occasion, request) => {
      const { body } = request;
      const isEnd =
        isResource(body, 'Bundle') &&
        body.entry?.some((entry) =>
          isMeant(entry, { by: occasion, type: 'Task', code: 'affected', status: 'cancelled' }),
        );
      const isLeft = (entry: BundleEntry): boolean =>
        isMeant(entry, { by: occasion, type: 'Appointment', methods: put }) ||
        isMeant(entry, { by: occasion, type: 'Slot', methods: put });
      return isEnd && isResource(body, 'Bundle')
        ? { ...request, body: { ...body, entry: body.entry?.map((entry) => (isLeft(entry) ? nothing : entry)) } }
        : request;
    },
  },
  'a job never answers those who lose': all(
    leavesOut({ by: 'job', type: 'Task', status: 'failed' }),
    leavesOut({ by: 'clock', type: 'Task', status: 'failed' }),
  ),
  'a booking is no transaction': { spoilt: inBatch('call') },
  'a booking takes too little': writes({ by: 'call', status: 'busy' }, ends(-5)),
  'the rest of a Slot begins too early': writes({ by: 'call', methods: post, status: 'free' }, begins(-5)),
  'the time around a booking is too short': writes({ by: 'call', status: 'busy-unavailable' }, ends(-5)),
  'a hold has no end': withoutEnd,
  'a booking overlooks blocks and buffers': overlooks('call', 'busy-unavailable'),
  'a guard overlooks what is booked': overlooks('guard', 'busy'),
  'a guard overlooks what is free': overlooks('guard', 'free'),
  'the guard of Slots allows everything': idle('guard', 'Slot'),
  'the guard of appointments allows everything': idle('guard', 'Appointment'),
  'a guard writes nothing': leavesOut({ by: 'guard' }),
  'nothing follows the change of a Slot': idle('job', 'Slot'),
  'what follows a change never offers again': leavesOut({ by: 'job', status: 'free' }),
  'what follows a change never withdraws': leavesOut({ by: 'job', status: 'entered-in-error' }),
  'nothing takes what staff book, and the clock does nothing': all(
    leavesOut({ by: 'job', status: 'busy' }),
    idle('clock'),
  ),
  'what follows a change deletes nothing': leavesOut({ by: 'job', methods: ['DELETE'] }),
  'publishing overlooks what is booked': overlooks('job', 'busy'),
  'publishing overlooks blocks and buffers': overlooks('job', 'busy-unavailable'),
  'the clock does nothing': idle('clock'),
  'what follows leaves the old Slots in it: staff move what a portal has booked': all(
    leavesOut({ by: 'job', type: 'Appointment', methods: put }),
    idle('clock'),
  ),
  'the guard of appointments allows a move over another appointment': allowsChange('Appointment'),
  'the guard of Slots allows a move over another appointment': allowsChange('Slot'),
  'a reservation counts for minutes: what is rolled back keeps no time closed': writes(
    { by: 'guard', type: 'Task', code: 'publish' },
    lasting,
  ),
  'a release leaves nothing for those who wait': leavesOut({
    by: 'call',
    type: 'Task',
    methods: post,
    status: 'requested',
  }),
};
