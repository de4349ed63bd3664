import type { Address, Attachment, Extension, Organization } from '@medplum/fhirtypes';
import { listOf, partsOf, textOf } from '../../../packages/web/elements.ts';

/** How the clinic presents itself to patients, as it is typed: all of it texts, empty where there is nothing. */
export interface Presentation {
  readonly name: string;
  /** `data:` with type and content of a picture. */
  readonly logo: string;
  /** `#rrggbb`. */
  readonly colour: string;
  readonly line: string;
  readonly postalCode: string;
  readonly city: string;
  readonly phone: string;
  readonly imprint: string;
  readonly privacy: string;
  readonly consent: string;
}

/** The most characters of each text that is typed; `bring` is what patients should bring, of one service. */
export const maxLength: Readonly<Record<keyof Presentation | 'bring', number>> = {
  name: 200,
  logo: 280_000,
  colour: 7,
  line: 200,
  postalCode: 20,
  city: 100,
  phone: 50,
  imprint: 500,
  privacy: 500,
  consent: 2_000,
  bring: 2_000,
};

/** The portal's own colour. */
const USUAL_COLOUR = '#0a5c8f';

/** What is typed when there is no clinic yet. */
export const emptyPresentation: Presentation = {
  name: '',
  logo: '',
  colour: USUAL_COLOUR,
  line: '',
  postalCode: '',
  city: '',
  phone: '',
  imprint: '',
  privacy: '',
  consent: '',
};

/** A picture as an address that holds it. */
export const dataUrl = ({ contentType, data }: Attachment): string =>
  contentType && data ? `data:${contentType};base64,${data}` : '';

/**
 * The id of the Binary that holds a picture, as Medplum's app uploads it: the address names it, whether it is a reference or
 * was signed for whoever reads it.
 */
export const uploadIn = ({ data, url }: Attachment): string | undefined =>
  data ? undefined : /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/i.exec(textOf(url) ?? '')?.[0];

/** The picture that such an address holds. */
export function attachmentOf(url: string): Attachment | undefined {
  const [, contentType, data] = /^data:(image\/(?:png|jpeg|webp));base64,([\w+/=]+)$/.exec(url) ?? [];
  return contentType && data ? { contentType, data } : undefined;
}

/** The logo of an Organization. */
export const logoIn = (organization: Organization, url: string): Attachment =>
  partsOf(organization.extension, url).find((extension) => extension.url === 'logo')?.valueAttachment ?? {};

/**
 * How an Organization presents the clinic.
 *
 * @param url - of the extension that says so
 */
export function presentationOf(organization: Organization, url: string): Presentation {
  const parts = partsOf(organization.extension, url);
  const part = (name: string): Partial<Extension> => parts.find((extension) => extension.url === name) ?? {};
  const { line, postalCode, city, text }: Address = listOf(organization.address)[0] ?? {};
  const lines = Array.isArray(line) ? line : [];
  const isSplit = lines.length > 0 || postalCode || city;
  return {
    name: textOf(organization.name) ?? '',
    logo: dataUrl(logoIn(organization, url)),
    colour: textOf(part('colour').valueString)?.toLowerCase() ?? USUAL_COLOUR,
    line: isSplit ? lines.join(', ') : (textOf(text) ?? ''),
    postalCode: textOf(postalCode) ?? '',
    city: textOf(city) ?? '',
    phone: listOf(organization.telecom).find(({ system }) => system === 'phone')?.value ?? '',
    imprint: textOf(part('imprint').valueUrl) ?? '',
    privacy: textOf(part('privacy').valueUrl) ?? '',
    consent: textOf(part('consent').valueString) ?? '',
  };
}

/** A list whose first element of a kind is another one, or gone. */
function replaced<T>(list: readonly T[] | undefined, isIt: (one: T) => boolean, by: T | undefined): T[] {
  const all = listOf(list);
  const at = all.findIndex(isIt);
  return [...(at < 0 ? all : all.slice(0, at)), ...(by ? [by] : []), ...(at < 0 ? [] : all.slice(at + 1))];
}

/** The Organization with another presentation; what a form does not show of it stays. */
export function withPresentation(organization: Organization, typed: Presentation, url: string): Organization {
  const { name, phone, line, postalCode, city, colour, imprint, privacy, consent } = typed;
  const known = ['logo', 'colour', 'imprint', 'privacy', 'consent'];
  const logo = attachmentOf(typed.logo);
  const parts: Extension[] = [
    ...partsOf(organization.extension, url).filter((extension) => !known.includes(extension.url ?? '')),
    ...(logo ? [{ url: 'logo', valueAttachment: logo }] : []),
    { url: 'colour', valueString: colour },
    ...(imprint ? [{ url: 'imprint', valueUrl: imprint }] : []),
    ...(privacy ? [{ url: 'privacy', valueUrl: privacy }] : []),
    ...(consent ? [{ url: 'consent', valueString: consent }] : []),
  ];
  const address: Address = {
    ...(line && { line: [line] }),
    ...(postalCode && { postalCode }),
    ...(city && { city }),
  };
  const { address: before, telecom, ...rest } = organization;
  const addresses = replaced(
    before,
    (one) => one === listOf(before)[0],
    line || postalCode || city ? address : undefined,
  );
  const contacts = replaced(
    telecom,
    ({ system }) => system === 'phone',
    phone ? { system: 'phone', value: phone } : undefined,
  );
  return {
    ...rest,
    name,
    ...(addresses.length > 0 && { address: addresses }),
    ...(contacts.length > 0 && { telecom: contacts }),
    extension: replaced(organization.extension, (extension) => extension.url === url, { url, extension: parts }),
  };
}

/** What cannot be stored as it is typed. */
export function wrongIn({ name, colour, imprint, privacy }: Presentation): (keyof Presentation)[] {
  const isPage = (text: string): boolean => text === '' || (/^https?:\/\//.test(text) && URL.canParse(text));
  return [
    ...(name.trim() === '' ? ['name' as const] : []),
    ...(/^#[0-9a-f]{6}$/.test(colour) ? [] : ['colour' as const]),
    ...(isPage(imprint) ? [] : ['imprint' as const]),
    ...(isPage(privacy) ? [] : ['privacy' as const]),
  ];
}
