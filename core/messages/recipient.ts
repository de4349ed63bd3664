import type { Appointment, ContactPoint, Extension, Patient, RelatedPerson, Resource } from '@medplum/fhirtypes';
import { type BookingConfig, type MessageLanguage, messageLanguages } from '../config/config.ts';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { isSameJson } from '../fhir/json.ts';
import { mailboxOf } from '../fhir/mailbox.ts';
import { idIn } from '../fhir/reference.ts';
import { isResource } from '../fhir/resource.ts';
import { isByService, ownerOf } from '../fhir/tags.ts';
import { dateRange } from '../time/date-range.ts';

/** How a person is reached. */
export type Medium = 'email' | 'sms';

/** Who is told about an appointment. */
export interface Recipient {
  /** `Patient/id` or `RelatedPerson/id`. */
  readonly reference: string;
  readonly medium: Medium;
  /** An e-mail address, or a telephone number such as `+49301234567`. */
  readonly address: string;
  readonly language: MessageLanguage;
  /** Where the person's record has the address. */
  readonly telecom?: ContactPoint;
  /** Id of the portal that submitted the person; `undefined`: the clinic has. */
  readonly owner?: string | undefined;
}

/** What an appointment or a person says about messages; `undefined` if nothing. */
function saidIn({ extension }: { readonly extension?: Extension[] }, config: PublicConfig): boolean | undefined {
  const url = artefactUri(config, 'LocalMessages');
  return extension?.find((one) => one.url === url)?.valueBoolean;
}

/**
 * Whether the clinic is to write about an appointment: a portal writes to its own patients, unless it leaves it to the
 * clinic.
 */
export const isOfClinic = (appointment: Appointment, config: PublicConfig): boolean =>
  saidIn(appointment, config) ?? ownerOf(appointment, config) === undefined;

/** One mailbox: no list, no name, nothing that ends a header. */
const mailbox = /^[^\s@<>()[\]\\,;:"]{1,64}@[^\s@<>()[\]\\,;:"]{1,180}\.[^\s@<>()[\]\\,;:".]{2,63}$/u;

/** The characters of a telephone number, as people write it. */
const telephone = /^(?:\+|00)?[0-9][0-9 ()/.-]{4,24}$/;

/** Numbers that cost more than others: services, games and votes. */
const premium = /^(?:0|\+49|\+43|\+41)(?:900|901|118|137|180|190)/;

/** The address in a telecom, as it is sent to; `undefined` if it is none. */
function addressIn({ system, value = '' }: ContactPoint): Pick<Recipient, 'medium' | 'address'> | undefined {
  const text = value.trim();
  if (system === 'email' && mailbox.test(text)) {
    return { medium: 'email', address: text };
  }
  const isPhone = (system === 'phone' || system === 'sms') && telephone.test(text);
  return isPhone ? { medium: 'sms', address: text.replace(/^00/, '+').replace(/[^+0-9]/g, '') } : undefined;
}

/** Whether an address is no longer that of its person, or not yet: the last day of a period, or month, belongs to it. */
function isOld({ use, period }: ContactPoint, now: number, timeZone: string): boolean {
  const [from, to] = [dateRange(period?.start ?? '', timeZone), dateRange(period?.end ?? '', timeZone)];
  return use === 'old' || (from !== undefined && from.start > now) || (to !== undefined && to.end <= now);
}

/** The addresses of a person in the order of preference: by rank, then e-mail before telephone. */
function addressesIn(
  telecom: readonly ContactPoint[],
  media: readonly Medium[],
  now: number,
  { timeZone, messages: { smsPrefixes } }: BookingConfig,
) {
  const isAllowed = (number: string): boolean =>
    smsPrefixes.some((prefix) => number.startsWith(prefix)) && !premium.test(number);
  return telecom
    .filter((contact) => !isOld(contact, now, timeZone))
    .flatMap((contact) => {
      const found = addressIn(contact);
      const canReach = found && media.includes(found.medium) && (found.medium === 'email' || isAllowed(found.address));
      return canReach ? [{ ...found, telecom: contact }] : [];
    })
    .sort(
      (one, other) =>
        (one.telecom.rank ?? 1_000) - (other.telecom.rank ?? 1_000) ||
        Number(other.medium === 'email') - Number(one.medium === 'email'),
    );
}

const isLanguage = (text: string | undefined): text is MessageLanguage => messageLanguages.some((one) => one === text);

/** The language that a person prefers among those of messages. */
function languageOf(
  { communication = [] }: Pick<Patient | RelatedPerson, 'communication'>,
  { messages }: BookingConfig,
): MessageLanguage {
  const inOrder = [...communication].sort(
    (one, other) => Number(other.preferred ?? false) - Number(one.preferred ?? false),
  );
  const codes = inOrder
    .flatMap(({ language }) => language?.coding ?? [])
    .flatMap(({ code }) => [code?.toLowerCase(), code?.toLowerCase().split('-')[0]]);
  return codes.find(isLanguage) ?? messages.language;
}

/** Whether messages to a person have a sense. */
const isThere = (person: Patient | RelatedPerson): boolean =>
  person.active !== false &&
  !(isResource(person, 'Patient') && (person.deceasedBoolean === true || person.deceasedDateTime !== undefined));

/**
 * Whether a patient can be asked something: wants messages, and has an address.
 *
 * @param media - what the clinic has
 */
export const canBeAsked = (patient: Patient, media: readonly Medium[], now: number, config: BookingConfig): boolean =>
  isThere(patient) &&
  saidIn(patient, config) !== false &&
  addressesIn(patient.telecom ?? [], media, now, config).length > 0;

/**
 * Who can be told about an appointment, in this order: who takes part for the patient, then the patient; those who want to be,
 * at no address of somebody who does not.
 *
 * @param people - the Patient and the RelatedPersons who take part, as far as they exist
 * @param media - what the clinic has
 */
export function recipientsOf(
  { participant }: Appointment,
  people: readonly Resource[],
  media: readonly Medium[],
  now: number,
  config: BookingConfig,
): Recipient[] {
  const patient = people.find((resource) => isResource(resource, 'Patient'));
  if (!patient || !isThere(patient) || saidIn(patient, config) === false) {
    return [];
  }
  const related = people.filter((resource) => isResource(resource, 'RelatedPerson'));
  const refusing = related
    .filter((relatedPerson) => saidIn(relatedPerson, config) === false)
    .flatMap(({ telecom = [] }) => telecom);
  const refused = new Set(refusing.map((contact) => mailboxOf(addressIn(contact)?.address ?? '')));
  return [...related, patient]
    .filter(
      (person) =>
        isThere(person) &&
        saidIn(person, config) !== false &&
        participant.some(({ actor }) => idIn(actor, person.resourceType) === person.id),
    )
    .flatMap((person) =>
      addressesIn(person.telecom ?? [], media, now, config)
        .filter(({ address }) => !refused.has(mailboxOf(address)))
        .map((one) => ({
          ...one,
          reference: `${person.resourceType}/${person.id}`,
          language: languageOf(person, config),
          owner: ownerOf(person, config),
        })),
    );
}

/**
 * Whether the clinic has entered an address of a person whom a portal submitted, or has confirmed it by a change of its own to
 * it, such as a rank: the version since which the record has it as it is was written by neither the portal nor the service.
 *
 * @param versions - of the person's record with their authors, the newest first
 */
export function isEnteredByClinic(
  { telecom, owner }: Recipient,
  versions: readonly Resource[],
  config: BookingConfig,
): boolean {
  const has = (resource: Resource): boolean =>
    (isResource(resource, 'Patient') || isResource(resource, 'RelatedPerson')) &&
    (resource.telecom ?? []).some((contact) => isSameJson(contact, telecom));
  // One that has it from the first was submitted with it.
  const without = versions.findIndex((resource) => !has(resource));
  const since = without < 0 ? undefined : versions[without - 1];
  const author = since?.meta?.author?.reference?.split('/')[1];
  return author !== undefined && author !== owner && !isByService(since?.meta, config);
}
