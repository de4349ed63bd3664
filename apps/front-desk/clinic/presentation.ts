import type { Address, Attachment, Extension, Organization } from '@medplum/fhirtypes';
import { listOf, partsOf, textOf } from '../../../packages/web/elements.ts';

/** The clinic's presentation to patients, as typed; missing texts are empty. */
export interface Presentation {
  readonly name: string;
  /** `data:` URL of a picture. */
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

/** The maximum number of characters of each typed text. `bring` is the text about what to bring, of one service. */
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

const USUAL_COLOUR = '#0a5c8f';

/** The presentation of a clinic without an Organization. */
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

/** A picture as a `data:` URL; empty if there is none. */
export const dataUrl = ({ contentType, data }: Attachment): string =>
  contentType && data ? `data:${contentType};base64,${data}` : '';

/** The id of the Binary of a picture that Medplum's app uploaded. A reference and a signed URL both contain it. */
export const uploadIn = ({ data, url }: Attachment): string | undefined =>
  data ? undefined : /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/i.exec(textOf(url) ?? '')?.[0];

/** The picture in a `data:` URL: PNG, JPEG or WebP. */
export function attachmentOf(url: string): Attachment | undefined {
  const [, contentType, data] = /^data:(image\/(?:png|jpeg|webp));base64,([\w+/=]+)$/.exec(url) ?? [];
  return contentType && data ? { contentType, data } : undefined;
}

/** The logo of an Organization. */
export const logoIn = (organization: Organization, url: string): Attachment =>
  partsOf(organization.extension, url).find((extension) => extension.url === 'logo')?.valueAttachment ?? {};

/** The presentation in an Organization; `url` of the extension LocalPortal. */
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

/** Replaces or removes the first element that matches. Without a match, the new element is appended. */
function replaced<T>(list: readonly T[] | undefined, isIt: (one: T) => boolean, by: T | undefined): T[] {
  const all = listOf(list);
  const at = all.findIndex(isIt);
  return [...(at < 0 ? all : all.slice(0, at)), ...(by ? [by] : []), ...(at < 0 ? [] : all.slice(at + 1))];
}

/** The Organization with another presentation. Parts that the form does not show stay. */
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

/** The fields that cannot be stored as typed. */
export function wrongIn({ name, colour, imprint, privacy }: Presentation): (keyof Presentation)[] {
  const isPage = (text: string): boolean => text === '' || (/^https?:\/\//.test(text) && URL.canParse(text));
  return [
    ...(name.trim() === '' ? ['name' as const] : []),
    ...(/^#[0-9a-f]{6}$/.test(colour) ? [] : ['colour' as const]),
    ...(isPage(imprint) ? [] : ['imprint' as const]),
    ...(isPage(privacy) ? [] : ['privacy' as const]),
  ];
}
