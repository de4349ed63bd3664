import { createHash } from 'node:crypto';
import type { Appointment, Identifier, Parameters, Schedule } from '@medplum/fhirtypes';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { formatInstant, parseInstant } from '../../core/fhir/instant.ts';
import { isId } from '../../core/fhir/reference.ts';
import { instantAt } from '../../core/time/local-day.ts';
import { DAY, offsetAt } from '../../core/time/time-zone.ts';
import { extensionIn, partsOf } from '../../packages/web/elements.ts';
import type { ExtensionUrls } from '../../packages/web/refusal.ts';
import { type Client, isRefusal, type Refusal, type Service } from './client.ts';
import { type createQuestions, identifierOf, patientOf, personSchema } from './person.ts';
import { actorIn, type FoundTime, MAX_TOKEN_LENGTH, servesService, type Tokens, timesIn, typeOf } from './times.ts';

/** The clinic's service. */
export interface Clinic {
  readonly baseUrl: string;
  readonly timeZone: string;
  /** Languages of the clinic's messages. */
  readonly languages: readonly string[];
  /** URLs of the service's extensions, from the clinic's metadata. */
  readonly extensions: Required<Pick<ExtensionUrls, 'heldUntil' | 'alternative' | 'offer'>>;
  /** URL of the extension with which a booking leaves messages to the clinic. */
  readonly messages: string;
}

/** The context of a request. */
export interface ToolContext {
  readonly client: Client;
  readonly service: Service;
  readonly clinic: Clinic;
  readonly tokens: Tokens;
  readonly question: ReturnType<typeof createQuestions>;
  /** Returns milliseconds since 1970 UTC. */
  readonly now: () => number;
}

/** The result of a tool, or the reasons of a refusal with times that could be held instead. */
export type ToolResult =
  | { readonly done: Readonly<Record<string, unknown>> }
  | {
      /** The service's error codes, or FHIR's issue type. */
      readonly refused: readonly { readonly code: string; readonly text: string }[];
      readonly alternatives?: readonly object[];
    };

interface Tool<Input extends z.ZodObject = z.ZodObject> {
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  readonly isReading: boolean;
  readonly run: (input: z.infer<Input>, context: ToolContext) => Promise<ToolResult>;
}

const [MAX_SCHEDULES, MAX_TIMES, MAX_DAYS] = [200, 50, 31];

const originOf = ({ baseUrl }: Clinic): string => new URL(baseUrl).origin;

const refusal = (code: string, text: string): ToolResult => ({ refused: [{ code, text }] });

/** Formats an instant in the clinic's local time with its offset, because assistants quote it to people. */
function local(instant: string | undefined, { clinic }: ToolContext): string | undefined {
  const time = parseInstant(instant);
  const offset = time === undefined ? 0 : offsetAt(clinic.timeZone, time);
  const size = formatInstant(Math.abs(offset)).slice(11, 16);
  return time === undefined ? instant : `${formatInstant(time + offset).slice(0, 19)}${offset < 0 ? '-' : '+'}${size}`;
}

const shown = (time: FoundTime, context: ToolContext) => ({
  offer: context.tokens.sealTime(time, context.client.name),
  start: local(formatInstant(time.start), context),
  end: local(formatInstant(time.end), context),
});

/** The alternative times of a refusal become time tokens. */
function refused({ refused: problems }: Refusal, service: string, context: ToolContext): ToolResult {
  const alternatives = problems
    .flatMap((problem) => problem.alternatives)
    .filter(({ slots }) => slots.length > 0)
    .map((alternative) => shown({ ...alternative, service }, context));
  return {
    refused: problems.map(({ code, type = '', text = '' }) => ({ code: code ?? type, text })),
    ...(alternatives.length > 0 && { alternatives }),
  };
}

const listServices: Tool = {
  title: 'List services',
  description: 'Lists what can be booked at the clinic.',
  input: z.strictObject({}),
  isReading: true,
  run: async (_input, context) => {
    const found = await context.service.search('HealthcareService');
    if (isRefusal(found)) {
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
  days: z.int().min(1).max(MAX_DAYS).default(7),
  with: z.string().max(100).optional().describe('A part of the name of the person to see'),
  count: z.int().min(1).max(MAX_TIMES).default(20),
});

const findTimes: Tool<typeof timesInput> = {
  title: 'Find times',
  description:
    'Finds free times of a service. Each has an offer, good for half an hour, which hold_time takes. Nothing is kept by it.',
  input: timesInput,
  isReading: true,
  run: async ({ service: id, from, days, with: wanted, count }, context) => {
    const { clinic, now } = context;
    const service = await context.service.read('HealthcareService', id);
    if (isRefusal(service)) {
      return refused(service, id, context);
    }
    const schedules = await context.service.search('Schedule');
    if (isRefusal(schedules)) {
      return refused(schedules, id, context);
    }
    const named = { ...service, id };
    const isWanted = (schedule: Schedule) =>
      servesService(schedule, named) &&
      (!wanted || actorIn(schedule)?.toLowerCase().includes(wanted.toLowerCase()) === true);
    const offering = schedules.filter(isWanted).slice(0, MAX_SCHEDULES);
    const own = new Map(offering.map((one) => [`Schedule/${one.id}`, one]));
    const first = Math.max(now(), from === undefined ? 0 : instantAt(from, '00:00', clinic.timeZone));
    const query = [
      ['schedule', [...own.keys()].join(',')],
      ['status', 'free'],
      ['start', `ge${formatInstant(first)}`],
      ['start', `lt${formatInstant(first + days * DAY)}`],
      ['_sort', 'start'],
      ['_total', 'none'],
    ] as const;
    const slots = own.size === 0 ? [] : await context.service.search('Slot', query);
    if (isRefusal(slots)) {
      return refused(slots, id, context);
    }
    const times = slots.flatMap((slot) => {
      const schedule = own.get(slot.schedule.reference ?? '');
      return schedule ? timesIn(slot, schedule, named).map((time) => ({ time, name: actorIn(schedule) })) : [];
    });
    const sorted = times.toSorted((one, other) => one.time.start - other.time.start).slice(0, count);
    return {
      done: { times: sorted.map(({ time, name }) => ({ ...shown(time, context), ...(name && { with: name }) })) },
    };
  },
};

const token = z.string().min(1).max(MAX_TOKEN_LENGTH);

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
    const { client, clinic, tokens } = context;
    const time = tokens.openTime(offer, client.name);
    if (!time) {
      return unknownOffer;
    }
    const service = await context.service.read('HealthcareService', time.service);
    if (isRefusal(service)) {
      return refused(service, time.service, context);
    }
    const body = {
      resourceType: 'Appointment',
      status: 'proposed',
      identifier: [
        { system: `${originOf(clinic)}/mcp/offer`, value: createHash('sha256').update(offer).digest('base64url') },
      ],
      serviceType: [typeOf(service)],
      start: formatInstant(time.start),
      end: formatInstant(time.end),
      slot: time.slots.map((id) => ({ reference: `Slot/${id}` })),
    };
    const held = await context.service.hold(body);
    return isRefusal(held)
      ? refused(held, time.service, context)
      : {
          done: {
            hold: tokens.sealHold({ appointment: held.id ?? '', service: time.service }, client.name),
            until: local(extensionIn(held.extension, clinic.extensions.heldUntil)?.valueInstant, context),
            start: local(held.start, context),
            end: local(held.end, context),
          },
        };
  },
};

const bookInput = (languages: readonly string[]) =>
  z.strictObject({
    hold: token.describe('The hold of hold_time'),
    person: personSchema(languages),
    note: z.string().trim().max(500).optional().describe('What the person wants the clinic to know'),
  });

type BookInput = ReturnType<typeof bookInput>;

/** The states that assistants read, by FHIR status. */
const states: Readonly<Partial<Record<Appointment['status'], string>>> = { booked: 'booked', pending: 'requested' };

/** End of the personal offer that an assistant requested. */
function offeredUntil({ extension }: Appointment, { clinic: { extensions } }: ToolContext): number | undefined {
  const reason = extensionIn(partsOf(extension, extensions.offer), 'reason')?.valueCode;
  return reason === 'assistant' ? parseInstant(extensionIn(extension, extensions.heldUntil)?.valueInstant) : undefined;
}

function stateOf(appointment: Appointment, context: ToolContext): ToolResult {
  const { status, extension } = appointment;
  const [start, end] = [appointment.start, appointment.end].map((one) => local(one, context));
  const until = offeredUntil(appointment, context);
  if (states[status] !== undefined) {
    return { done: { state: states[status], start, end } };
  }
  return status === 'proposed' && until !== undefined && until > context.now()
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
        status === 'proposed' || extensionIn(extension, context.clinic.extensions.heldUntil)
          ? 'hold-expired'
          : 'appointment-closed',
        'The person did not agree in time or has declined, or the appointment is over: call find_times for another time.',
      );
}

function bodyFor(
  stored: Appointment,
  { person, note }: z.infer<BookInput>,
  own: Identifier,
  messages: string,
): Parameters {
  const { id, identifier = [], serviceType, start, end, slot } = stored;
  const actor = { reference: '#patient', display: `${person.given} ${person.family}` };
  const resource: Appointment = {
    ...{ resourceType: 'Appointment', id, status: 'proposed', serviceType, start, end, slot, comment: note },
    identifier: [...identifier, own],
    extension: [{ url: messages, valueBoolean: true }],
    participant: [{ actor, status: 'accepted' }],
  };
  const parameter = [
    { name: 'appt-resource', resource },
    { name: 'patient', resource: { ...patientOf(person, own), id: 'patient' } },
    { name: 'personal-offer', valueBoolean: true },
  ];
  return { resourceType: 'Parameters', parameter };
}

const bookTime = (languages: readonly string[]): Tool<BookInput> => ({
  title: 'Book a time',
  description:
    'Books a held time for a person, once they agree: the clinic sends them a link, and nothing is booked before they use it. Call it again, with the same input, to see the state: asked, booked, or requested (the clinic confirms it).',
  input: bookInput(languages),
  isReading: false,
  run: async (input, context) => {
    const { client, clinic, service, tokens, question } = context;
    const hold = tokens.openHold(input.hold, client.name);
    if (!hold) {
      return refusal('hold-expired', 'This is no hold of yours: call hold_time, and use its hold as it is.');
    }
    const stored = await service.read('Appointment', hold.appointment);
    if (isRefusal(stored)) {
      return refused(stored, hold.service, context);
    }
    const own = identifierOf(input.person, client.name, originOf(clinic));
    const named = stored.identifier?.find((identifier) => identifier.system === own.system);
    if (named && named.value !== own.value) {
      return refusal('patient-mismatch', 'This hold is for another person: hold a time for this one.');
    }
    if (named || stored.status !== 'proposed') {
      return stateOf(stored, context);
    }
    const takeBack = question(input.person);
    if (!takeBack) {
      return refusal('too-many-bookings', 'This person was asked often in the last hour: let them call the clinic.');
    }
    const asked = await service.hold(bodyFor(stored, input, own, clinic.messages));
    if (!isRefusal(asked)) {
      return stateOf(asked, context);
    }
    takeBack();
    return refused(asked, hold.service, context);
  },
});

type Carry = (run: (context: ToolContext) => Promise<ToolResult>) => Promise<CallToolResult>;

function addTool<Input extends z.ZodObject>(name: string, tool: Tool<Input>, carry: Carry, server: McpServer): void {
  const { title, description, input, isReading, run } = tool;
  const hints = { readOnlyHint: isReading, destructiveHint: false, idempotentHint: true, openWorldHint: false };
  const act = (given: unknown) => carry((context) => run(input.parse(given), context));
  server.registerTool<z.ZodRawShape, z.ZodObject>(
    name,
    { title, description, inputSchema: input, annotations: { title, ...hints } },
    act,
  );
}

export function addTools(carry: Carry, server: McpServer, languages: readonly string[]): void {
  addTool('list_services', listServices, carry, server);
  addTool('find_times', findTimes, carry, server);
  addTool('hold_time', holdTime, carry, server);
  addTool('book_time', bookTime(languages), carry, server);
}
