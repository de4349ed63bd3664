import { z } from 'zod';
import { type Artefact, artefacts } from '../fhir/artefacts.ts';
import { isTimeZone } from '../time/time-zone.ts';
import { type BookingConfig, messageLanguages } from './config.ts';
import { neutralBase, type Preset, presets, publishedUri } from './presets.ts';

const uri = z.string().regex(/^[a-z][a-z0-9+.-]*:[^\s/].*[^/]$|^[a-z][a-z0-9+.-]*:\/\/\S*[^/\s]$/i, {
  error: 'must be an absolute URI without a trailing slash',
});

/** The base address of further paths. */
const address = uri.refine((text) => /^https?:\/\/[^?#]+$/.test(text) && URL.canParse(text), {
  error: 'must be an address that begins with https:// or http://, without a query',
});

const artefactNames = Object.keys(artefacts) as [Artefact, ...Artefact[]];

const notificationsSchema = z.strictObject({
  allowedNetworks: z.array(z.union([z.cidrv4(), z.cidrv6()])).default([]),
  maxAttempts: z.int().min(1).max(50).default(18),
  retryAfter: z.int().min(1).max(3600).default(20),
  maxSubscriptions: z.int().min(1).max(900).default(20),
  keepEventsDays: z.int().min(1).max(3650).default(30),
});

const calendarSchema = z.strictObject({
  horizonWeeks: z.int().min(1).max(104).default(12),
});

const holdsSchema = z.strictObject({
  maxPerRequestor: z.int().min(1).max(200).default(50),
});

/** The largest offset of a search in Medplum (`maxSearchOffset`), and so the largest count. */
const MAX_COUNTED = 10_000;

const requestorsSchema = z.strictObject({
  maxOpenAppointments: z.int().min(1).max(MAX_COUNTED).default(5_000),
  maxBookingsPerMinute: z.int().min(1).max(MAX_COUNTED).default(600),
});

const messagesSchema = z.strictObject({
  from: z
    .string()
    .regex(/^(?:[^<>"\p{C}]{1,80} <[^\s@<>,;:"]+@[^\s@<>,;:"]+>|[^\s@<>,;:"]+@[^\s@<>,;:"]+)$/u, {
      error: 'must be an e-mail address, or a name and an address: Clinic <appointments@clinic.example>',
    })
    .optional(),
  page: address.optional(),
  language: z.enum(messageLanguages).default('en'),
  details: z.boolean().default(false),
  smsPrefixes: z
    .array(
      z
        .string()
        .regex(/^(?:\+[1-9][0-9]{0,6}|0[0-9]{0,6})$/, { error: 'must be the beginning of numbers, such as +49 or 0' }),
    )
    .max(250)
    .default(['+49', '+43', '+41', '0']),
  smsPerPortalAndDay: z.int().min(1).max(MAX_COUNTED).default(500),
});

const fileSchema = z.strictObject({
  $schema: z.string().optional(),
  preset: z.enum(Object.keys(presets) as [keyof typeof presets]).default('default'),
  baseUrl: address,
  profileBase: uri.optional(),
  localBase: uri.optional(),
  metaTagSystem: uri.optional(),
  contextTypeSystem: uri.optional(),
  resourceTypesSystem: uri.optional(),
  terminologySystem: uri.optional(),
  names: z
    .partialRecord(z.enum(artefactNames), z.string().regex(/^[A-Za-z][A-Za-z0-9-]*$/))
    .refine(
      (names) =>
        artefactNames.every((one) => artefacts[one] !== 'SubscriptionTopic' || !/^[A-Z]/.test(names[one] ?? '')),
      {
        error: 'the name of a topic must begin with a small letter: Medplum would take a resource type for a search',
      },
    )
    .default({}),
  confirmation: z.enum(['automatic', 'manual']).default('automatic'),
  smallestBooking: z.int().min(1).max(1440).default(5),
  timeZone: z.string().refine(isTimeZone, { error: 'must be the IANA name of a time zone' }).optional(),
  handling: z.enum(['strict', 'lenient']).optional(),
  timeout: z.int().min(5).max(600).default(15),
  bots: z.enum(['medplum', 'gateway']).default('medplum'),
  botRuntime: z.enum(['vmcontext', 'awslambda']).default('vmcontext'),
  holds: holdsSchema.default(holdsSchema.parse({})),
  requestors: requestorsSchema.default(requestorsSchema.parse({})),
  notifications: notificationsSchema.default(notificationsSchema.parse({})),
  messages: messagesSchema.default(messagesSchema.parse({})),
  calendar: calendarSchema.default(calendarSchema.parse({})),
});

const defaults: Pick<BookingConfig, 'timeZone' | 'handling'> = { timeZone: 'UTC', handling: 'strict' };

type Addresses = Pick<Preset, 'published' | 'profileBase'> &
  Pick<BookingConfig, 'localBase'> & { readonly names: Partial<Record<Artefact, string>> };

/** A publisher's artefacts are below `profileBase`, the service's own below `localBase`. `names` renames both. */
function urisOf({ published = {}, profileBase, localBase, names }: Addresses): BookingConfig['uris'] {
  const uriOf = (artefact: Artefact): string => {
    const path = published[artefact];
    const uri = path ? publishedUri(path, profileBase) : `${localBase}/${artefacts[artefact]}/${artefact}`;
    return uri.replace(/(?<![^/])[^/]*$/, (name) => names[artefact] ?? name);
  };
  return Object.fromEntries(artefactNames.map((artefact) => [artefact, uriOf(artefact)])) as Record<Artefact, string>;
}

/**
 * Checks the content of `booking.config.json` and adds values from its preset and the defaults.
 * @throws Error that names every faulty field and its possible values
 */
export function resolveConfig(input: unknown): BookingConfig {
  const parsed = fileSchema.safeParse(input);
  if (!parsed.success) {
    throw new Error(`The configuration is invalid:\n${z.prettifyError(parsed.error)}`);
  }
  const { preset, names, localBase, $schema: _, ...given } = parsed.data;
  const {
    published,
    instantiates = [],
    supportedProfiles = {},
    searchDefinitions = {},
    ...ofPreset
  }: Preset = presets[preset];
  const merged = { ...defaults, ...ofPreset, ...given };
  const publishers = (path: string): string => publishedUri(path, merged.profileBase);
  const eachOf = (paths: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(paths).map(([key, path]) => [key, publishers(path)]));
  const ownBase = localBase ?? (published ? given.profileBase : merged.profileBase) ?? neutralBase;
  return {
    ...merged,
    localBase: ownBase,
    instantiates: instantiates.map(publishers),
    supportedProfiles: eachOf(supportedProfiles),
    searchDefinitions: eachOf(searchDefinitions),
    uris: urisOf({ published, names, ...merged, localBase: ownBase }),
  };
}
