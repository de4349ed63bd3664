import { createHash } from 'node:crypto';
import type { Appointment, ExtractResource, Parameters, ResourceType, Schedule } from '@medplum/fhirtypes';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { endOf, isForAssistant, isHold } from '../../core/booking/appointment/expiry.ts';
import { artefactUri } from '../../core/config/config.ts';
import { formatInstant, parseInstant } from '../../core/fhir/instant.ts';
import { isId } from '../../core/fhir/reference.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { instantAt } from '../../core/time/local-day.ts';
import { offsetAt } from '../../core/time/time-zone.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest, Handler } from '../handler.ts';
import type { FhirResponse } from '../http/response.ts';
import { hold as holdOperation } from '../interactions/book.ts';
import { limitingChanges } from '../interactions/limiting-changes.ts';
import { read } from '../interactions/read.ts';
import { nameOf } from '../medplum/current-profile.ts';
import { MAX_COUNT } from '../search/result/result-parameters.ts';
import { searchByGet } from '../search/search.ts';
import type { ServedTypeName } from '../served-types.ts';
import { actorIn, LONGEST_TOKEN, type OfferedTime, type Offers, offersService, timesIn, typeOf } from './offers.ts';
import { identifierOf, patientOf, personSchema, type Questions } from './person.ts';
import { refusedBy, type ToolAnswer } from './refusal.ts';

/** What the tools of one request work with. */
export interface ToolContext {
  readonly exchange: FhirRequest;
  readonly gateway: GatewayContext;
  readonly offers: Offers;
  readonly questions: Questions;
  /** Keeps an answer of the interface for the record of accesses. */
  readonly note: (answer: FhirResponse) => void;
}

/** A tool: what it says of itself, what it takes, and what it does. */
interface Tool<Input extends z.ZodObject = z.ZodObject> {
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  /** Whether it changes nothing. */
  readonly isReading: boolean;
  readonly run: (input: z.infer<Input>, context: ToolContext) => Promise<ToolAnswer>;
}

const [MOST_SCHEDULES, MOST_TIMES] = [200, 50];

/** The longest span in which times are looked for, in days. */
const MOST_DAYS = 31;

const DAY = 86_400_000;

const refusal = (code: string, text: string): ToolAnswer => ({ refused: [{ code, text }] });

/** Calls the interface as the assistant's client: with its rights, and by the rules of every portal. */
async function call(handler: Handler, { exchange, gateway, note }: ToolContext, more: Partial<FhirRequest>) {
  const own: FhirRequest = {
    ...exchange,
    handling: undefined,
    returnPreference: undefined,
    prefersAsync: false,
    query: '',
    params: {},
    body: undefined,
    header: () => undefined,
    ...more,
  };
  const answer = await handler(own, gateway);
  note(answer);
  return answer;
}

async function searchFor<T extends ServedTypeName & ResourceType>(
  type: T,
  query: readonly (readonly [string, string])[],
  context: ToolContext,
): Promise<(ExtractResource<T> & { readonly id: string })[] | FhirResponse> {
  const params = new URLSearchParams(query.map(([name, value]) => [name, value]));
  const found = await call(searchByGet(type), context, { query: params.toString() });
  return isResource(found.resource, 'Bundle')
    ? (found.resource.entry ?? []).flatMap(({ resource }) =>
        resource?.resourceType === type && resource.id ? [resource as ExtractResource<T> & { id: string }] : [],
      )
    : found;
}

const clientOf = ({ exchange: { caller } }: ToolContext): string => nameOf(caller);

/** An instant as the clocks of the clinic show it, with their offset: an assistant tells a person what it reads. */
function local(instant: string | undefined, { gateway: { config } }: ToolContext): string | undefined {
  const time = parseInstant(instant);
  const offset = time === undefined ? 0 : offsetAt(config.timeZone, time);
  const size = formatInstant(Math.abs(offset)).slice(11, 16);
  return time === undefined ? instant : `${formatInstant(time + offset).slice(0, 19)}${offset < 0 ? '-' : '+'}${size}`;
}

/** A time as an assistant sees it. */
const shown = (time: OfferedTime, context: ToolContext) => ({
  offer: context.offers.seal(time, clientOf(context)),
  start: local(formatInstant(time.start), context),
  end: local(formatInstant(time.end), context),
});

/** A refusal, with the times that are named instead as offers. */
function refused(answer: FhirResponse, service: string, context: ToolContext): ToolAnswer {
  const { refused, times } = refusedBy(answer, context.gateway.config);
  const alternatives = times.map((one) => shown({ ...one, service }, context));
  return { refused, ...(alternatives.length > 0 && { alternatives }) };
}

const listServices: Tool = {
  title: 'List services',
  description: 'Lists what can be booked at the clinic.',
  input: z.strictObject({}),
  isReading: true,
  run: async (_input, context) => {
    const found = await searchFor('HealthcareService', [['_count', String(MAX_COUNT)]], context);
    if ('status' in found) {
      return refused(found, '', context);
    }
    const services = found.filter(({ active }) => active !== false);
    return {
      done: {
        services: services.map(({ id, name, comment }) => ({
          service: id,
          name: name?.slice(0, 200),
          ...(comment && { about: comment.slice(0, 500) }),
        })),
      },
    };
  },
};

const timesInput = z.strictObject({
  service: z.string().refine(isId, { error: 'must be the service of list_services' }),
  from: z.iso.date().describe('The first day, YYYY-MM-DD').optional(),
  days: z.int().min(1).max(MOST_DAYS).default(7),
  with: z.string().max(100).optional().describe('A part of the name of the person to see'),
  count: z.int().min(1).max(MOST_TIMES).default(20),
});

const findTimes: Tool<typeof timesInput> = {
  title: 'Find times',
  description:
    'Finds free times of a service. Each has an offer, good for half an hour, which hold_time takes. Nothing is kept by it.',
  input: timesInput,
  isReading: true,
  run: async ({ service: id, from, days, with: wanted, count }, context) => {
    const { config, now } = context.gateway;
    const service = await call(read('HealthcareService'), context, { params: { id } });
    const schedules = await searchFor('Schedule', [['_count', String(MAX_COUNT)]], context);
    if (!isResource(service.resource, 'HealthcareService') || service.resource.id === undefined) {
      return refused(service, id, context);
    }
    if ('status' in schedules) {
      return refused(schedules, id, context);
    }
    const named = { ...service.resource, id };
    const isWanted = (one: Schedule) =>
      offersService(one, named) && (!wanted || actorIn(one)?.toLowerCase().includes(wanted.toLowerCase()) === true);
    const offering = schedules.filter(isWanted).slice(0, MOST_SCHEDULES);
    const own = new Map(offering.map((one) => [`Schedule/${one.id}`, one]));
    const first = Math.max(now(), from === undefined ? 0 : instantAt(from, '00:00', config.timeZone));
    const slots =
      own.size === 0
        ? []
        : await searchFor(
            'Slot',
            [
              ['schedule', [...own.keys()].join(',')],
              ['status', 'free'],
              ['start', `ge${formatInstant(first)}`],
              ['start', `lt${formatInstant(first + days * DAY)}`],
              ['_sort', 'start'],
              ['_total', 'none'],
              ['_count', String(MAX_COUNT)],
            ],
            context,
          );
    if ('status' in slots) {
      return refused(slots, id, context);
    }
    const times = slots.flatMap((slot) => {
      const schedule = own.get(slot.schedule.reference ?? '');
      return schedule ? timesIn(slot, schedule, named, config).map((time) => ({ time, name: actorIn(schedule) })) : [];
    });
    const sorted = times.toSorted((one, other) => one.time.start - other.time.start).slice(0, count);
    return {
      done: { times: sorted.map(({ time, name }) => ({ ...shown(time, context), ...(name && { with: name }) })) },
    };
  },
};

const token = z.string().min(1).max(LONGEST_TOKEN);

const unknownOffer = refusal(
  'slot-not-found',
  'This is no offer of yours, or it is older than half an hour: call find_times and use one of its offers as it is.',
);

const holdInput = z.strictObject({ offer: token.describe('An offer of find_times, or of a refusal') });

const holdTime: Tool<typeof holdInput> = {
  title: 'Hold a time',
  description:
    'Keeps an offered time for some minutes, so that the person can decide. The same offer again is the same hold.',
  input: holdInput,
  isReading: false,
  run: async ({ offer }, context) => {
    const { config, addresses } = context.gateway;
    const time = context.offers.open(offer, clientOf(context));
    if (!time) {
      return unknownOffer;
    }
    const service = await call(read('HealthcareService'), context, { params: { id: time.service } });
    if (!isResource(service.resource, 'HealthcareService')) {
      return refused(service, time.service, context);
    }
    const body = {
      resourceType: 'Appointment',
      status: 'proposed',
      identifier: [
        { system: `${addresses.origin}/mcp/offer`, value: createHash('sha256').update(offer).digest('base64url') },
      ],
      serviceType: [typeOf(service.resource)],
      start: formatInstant(time.start),
      end: formatInstant(time.end),
      slot: time.slots.map((id) => ({ reference: `Slot/${id}` })),
    };
    const answer = await call(limitingChanges(holdOperation), context, { body });
    const { resource } = answer;
    const until = isResource(resource, 'Appointment') ? endOf('hold', resource, config) : undefined;
    return isResource(resource, 'Appointment') && until !== undefined
      ? {
          done: {
            hold: context.offers.sealHold({ appointment: resource.id ?? '', service: time.service }, clientOf(context)),
            until: local(formatInstant(until), context),
            start: local(resource.start, context),
            end: local(resource.end, context),
          },
        }
      : refused(answer, time.service, context);
  },
};

const bookInput = z.strictObject({
  hold: token.describe('The hold of hold_time'),
  person: personSchema,
  note: z.string().trim().max(500).optional().describe('What the person wants the clinic to know'),
});

type Book = z.infer<typeof bookInput>;

/** The states in which an assistant finds an appointment. */
const states: Readonly<Partial<Record<Appointment['status'], string>>> = { booked: 'booked', pending: 'requested' };

const isKnownState = ({ status }: Appointment): boolean => states[status] !== undefined;

/** What has become of an appointment, as far as its assistant is concerned. */
function stateOf(appointment: Appointment, context: ToolContext): ToolAnswer {
  const { config, now } = context.gateway;
  const { status } = appointment;
  const [start, end] = [appointment.start, appointment.end].map((one) => local(one, context));
  const until = isForAssistant(appointment, config) ? endOf('offer', appointment, config) : undefined;
  if (isKnownState(appointment)) {
    return { done: { state: states[status], start, end } };
  }
  return status === 'proposed' && until !== undefined && until > now()
    ? {
        done: {
          state: 'asked',
          until: local(formatInstant(until), context),
          start,
          end,
          next: 'The person has been sent a link. Nothing is booked before they agree. Call book_time again to see whether they have.',
        },
      }
    : refusal(
        status === 'proposed' || isHold(appointment, config) ? 'hold-expired' : 'appointment-closed',
        'The person did not agree in time or has declined, or the appointment is over: call find_times for another time.',
      );
}

function bodyFor(stored: Appointment, { person, note }: Book, context: ToolContext): Parameters {
  const { config, addresses } = context.gateway;
  const own = identifierOf(person, clientOf(context), addresses.origin);
  const display = `${person.given} ${person.family}`;
  const resource: Appointment = {
    resourceType: 'Appointment',
    ...(stored.id !== undefined && { id: stored.id }),
    status: 'proposed',
    identifier: [...(stored.identifier ?? []), own],
    extension: [{ url: artefactUri(config, 'LocalMessages'), valueBoolean: true }],
    ...(stored.serviceType && { serviceType: stored.serviceType }),
    ...(stored.start && { start: stored.start }),
    ...(stored.end && { end: stored.end }),
    ...(stored.slot && { slot: stored.slot }),
    ...(note && { comment: note }),
    participant: [{ actor: { reference: '#patient', display }, status: 'accepted' }],
  };
  const patient = { ...patientOf(person, own), id: 'patient' };
  return {
    resourceType: 'Parameters',
    parameter: [
      { name: 'appt-resource', resource },
      { name: 'patient', resource: patient },
      { name: 'personal-offer', valueBoolean: true },
    ],
  };
}

const bookTime: Tool<typeof bookInput> = {
  title: 'Book a time',
  description:
    'Books a held time for a person, once they agree: the clinic sends them a link, and nothing is booked before they use it. Call it again, with the same input, to see the state: asked, booked, or requested (the clinic confirms it).',
  input: bookInput,
  isReading: false,
  run: async (input, context) => {
    const { gateway, offers, questions } = context;
    const hold = offers.openHold(input.hold, clientOf(context));
    if (!hold) {
      return refusal('hold-expired', 'This is no hold of yours: call hold_time, and use its hold as it is.');
    }
    const found = await call(read('Appointment'), context, { params: { id: hold.appointment } });
    const stored = found.resource;
    if (!isResource(stored, 'Appointment')) {
      return refused(found, hold.service, context);
    }
    const { system, value } = identifierOf(input.person, clientOf(context), gateway.addresses.origin);
    const named = stored.identifier?.find((one) => one.system === system);
    if (named && named.value !== value) {
      return refusal('patient-mismatch', 'This hold is for another person: hold a time for this one.');
    }
    if (named || stored.status !== 'proposed') {
      return stateOf(stored, context);
    }
    const takeBack = questions.take(input.person);
    if (!takeBack) {
      return refusal('too-many-bookings', 'This person was asked often in the last hour: let them call the clinic.');
    }
    const body = bodyFor(stored, input, context);
    const answer = await call(limitingChanges(holdOperation), context, { body });
    const { resource } = answer;
    if (isResource(resource, 'Appointment')) {
      return stateOf(resource, context);
    }
    takeBack();
    return refused(answer, hold.service, context);
  },
};

/** Carries out a call of a tool. */
type Carry = (run: (context: ToolContext) => Promise<ToolAnswer>) => Promise<CallToolResult>;

function addTool<Input extends z.ZodObject>(name: string, tool: Tool<Input>, carry: Carry, server: McpServer): void {
  const { title, description, input, isReading, run } = tool;
  const annotations = {
    title,
    readOnlyHint: isReading,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  };
  const act = (given: unknown) => carry((context) => run(input.parse(given), context));
  server.registerTool<z.ZodRawShape, z.ZodObject>(name, { title, description, inputSchema: input, annotations }, act);
}

/** Adds the tools to a server. */
export function addTools(carry: Carry, server: McpServer): void {
  addTool('list_services', listServices, carry, server);
  addTool('find_times', findTimes, carry, server);
  addTool('hold_time', holdTime, carry, server);
  addTool('book_time', bookTime, carry, server);
}
