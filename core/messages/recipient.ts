import type { Appointment, ContactPoint, Extension, Patient, RelatedPerson, Resource } from '@medplum/fhirtypes';
import { type BookingConfig, type MessageLanguage, messageLanguages } from '../config/config.ts';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { emailAddress, mailboxOf } from '../fhir/mailbox.ts';
import { idIn } from '../fhir/reference.ts';
import { isResource, isSameJson } from '../fhir/resource.ts';
import { isByService, ownerOf } from '../fhir/tags.ts';
import { dateRange } from '../time/local-day.ts';

export type Medium = 'email' | 'sms';

/** A person to notify about an appointment. */
export interface Recipient {
  /** `Patient/id` or `RelatedPerson/id`. */
  readonly reference: string;
  readonly medium: Medium;
  /** An e-mail address, or a telephone number such as `+49301234567`. */
  readonly address: string;
  readonly language: MessageLanguage;
  readonly telecom?: ContactPoint;
  /** Id of the portal that submitted the person; `undefined` for the clinic. */
  readonly owner?: string | undefined;
}

function saidIn({ extension }: { readonly extension?: Extension[] }, config: PublicConfig): boolean | undefined {
  const url = artefactUri(config, 'LocalMessages');
  return extension?.find((one) => one.url === url)?.valueBoolean;
}

/** Whether the clinic notifies about an appointment. By default, a portal notifies its own patients. */
export const isOfClinic = (appointment: Appointment, config: PublicConfig): boolean =>
  saidIn(appointment, config) ?? ownerOf(appointment, config) === undefined;

const telephone = /^(?:\+|00)?[0-9][0-9 ()/.-]{4,24}$/;

/** Premium-rate numbers. */
const premium = /^(?:(?:0|\+49)(?:900|901|118|137|180|190)|\+43(?:9[03]\d|118)|\+41(?:90[016]|18))/;

/** The address in a ContactPoint: e-mail or number for SMS; `undefined` if it is neither. */
function addressIn({ system, value = '' }: ContactPoint): Pick<Recipient, 'medium' | 'address'> | undefined {
  const text = value.trim();
  const email = system === 'email' ? emailAddress(text) : undefined;
  if (email) {
    return { medium: 'email', address: email };
  }
  const isPhone = (system === 'phone' || system === 'sms') && telephone.test(text);
  const number = text.replace(/[^+0-9]/g, '').replace(/^00/, '+');
  return isPhone ? { medium: 'sms', address: number.replace(/^(\+49|\+43|\+41)0+/, '$1') } : undefined;
}

/** Whether an address is no longer, or not yet, in use. The last day or month of a period belongs to it. */
function isOld({ use, period }: ContactPoint, now: number, timeZone: string): boolean {
  const [from, to] = [dateRange(period?.start ?? '', timeZone), dateRange(period?.end ?? '', timeZone)];
  return use === 'old' || (from !== undefined && from.start > now) || (to !== undefined && to.end <= now);
}

/** The addresses of a person by rank, then e-mail before telephone. */
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

/** The language that a person prefers among `messageLanguages`. */
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

const isThere = (person: Patient | RelatedPerson): boolean =>
  person.active !== false &&
  !(isResource(person, 'Patient') && (person.deceasedBoolean === true || person.deceasedDateTime !== undefined));

/** Whether a patient wants messages and has an address for one of the clinic's media. */
export const canBeAsked = (patient: Patient, media: readonly Medium[], now: number, config: BookingConfig): boolean =>
  isThere(patient) &&
  saidIn(patient, config) !== false &&
  addressesIn(patient.telecom ?? [], media, now, config).length > 0;

/**
 * The people to notify about an appointment, in order: RelatedPersons who take part, then the patient. People who
 * refuse messages are left out, and so are their addresses. `media` are those of the clinic.
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
 * Whether the clinic has entered or confirmed an address of a person whom a portal submitted. A change of the
 * ContactPoint, such as its rank, confirms it. The author of the version that has it first is then neither the portal
 * nor the service. `versions` come with authors, the newest first.
 */
export function isEnteredByClinic(
  { telecom, owner }: Recipient,
  versions: readonly Resource[],
  config: BookingConfig,
): boolean {
  const has = (resource: Resource): boolean =>
    (isResource(resource, 'Patient') || isResource(resource, 'RelatedPerson')) &&
    (resource.telecom ?? []).some((contact) => isSameJson(contact, telecom));
  // An address in every version was submitted with the person.
  const without = versions.findIndex((resource) => !has(resource));
  const since = without < 0 ? undefined : versions[without - 1];
  const author = since?.meta?.author?.reference?.split('/')[1];
  return author !== undefined && author !== owner && !isByService(since?.meta, config);
}
