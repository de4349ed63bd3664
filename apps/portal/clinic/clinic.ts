import type { Address, Location, Organization } from '@medplum/fhirtypes';
import { listOf, partsOf, textOf } from '../../../packages/web/elements.ts';
import { type Picture, pictureIn } from './pictures.ts';

/** The clinic, as it presents itself to patients. Elements that its Organization lacks are `undefined`. */
export interface Clinic {
  readonly id: string;
  readonly name: string | undefined;
  readonly logo: Picture | undefined;
  /** Six hexadecimal digits. */
  readonly colour: string | undefined;
  readonly address: string | undefined;
  readonly map: string | undefined;
  readonly phone: string | undefined;
  readonly imprint: string | undefined;
  readonly privacy: string | undefined;
  readonly consent: string | undefined;
}

/** Formats an address in one line. */
export function addressText(address: Address | undefined): string | undefined {
  const { line, postalCode, city, text } = address ?? {};
  const town = [postalCode, city].filter((part) => part).join(' ');
  const lines = Array.isArray(line) ? line : [];
  return [...(lines.length > 0 || town ? [...lines, town] : [text])].filter((part) => part).join(', ') || undefined;
}

/** Returns the URL of a map for a Location: by its position, else by its address. */
export function mapOf({ address, position }: Pick<Location, 'address' | 'position'>): string | undefined {
  const { latitude, longitude } = position ?? {};
  const text = addressText(address);
  const site = 'https://www.openstreetmap.org';
  return typeof latitude === 'number' && typeof longitude === 'number'
    ? `${site}/?mlat=${latitude}&mlon=${longitude}`
    : text && `${site}/search?${new URLSearchParams({ query: text }).toString()}`;
}

/** Only `http` and `https` URLs: others could run a script. */
const pageIn = (value: unknown): string | undefined => {
  const text = textOf(value);
  return text !== undefined && /^https?:\/\//.test(text) && URL.canParse(text) ? new URL(text).href : undefined;
};

export const logoOf = ({ extension }: Organization, url: string | undefined): Picture | undefined =>
  pictureIn(partsOf(extension, url).map(({ valueAttachment }) => valueAttachment));

/** Selects the clinic's Organization: the first with the presentation extension `url`, else the first. */
export function clinicOf(organizations: readonly Organization[], url: string | undefined): Clinic | undefined {
  const chosen = organizations.find(({ extension }) => partsOf(extension, url).length > 0);
  const organization = chosen ?? organizations[0];
  if (!organization) {
    return undefined;
  }
  const parts = partsOf(organization.extension, url);
  const part = (name: string) => parts.find((extension) => extension.url === name);
  const address = listOf(organization.address)[0];
  return {
    id: organization.id ?? '',
    name: chosen && textOf(organization.name),
    logo: logoOf(organization, url),
    colour: /^#([0-9a-f]{6})$/.exec(textOf(part('colour')?.valueString)?.toLowerCase() ?? '')?.[1],
    address: addressText(address),
    map: mapOf({ address: address ?? {} }),
    phone: listOf(organization.telecom).find(({ system, value }) => system === 'phone' && value)?.value,
    imprint: pageIn(part('imprint')?.valueUrl),
    privacy: pageIn(part('privacy')?.valueUrl),
    consent: textOf(part('consent')?.valueString)?.slice(0, 2_000),
  };
}

type Colour = readonly number[];

/** WCAG 2.2. */
function luminance(colour: Colour): number {
  const [red = 0, green = 0, blue = 0] = colour.map((part) =>
    part <= 0.03928 * 255 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast of two colours, 1 to 21 (WCAG 2.2). */
export function contrast(one: Colour, other: Colour): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const parse = (hex: string): Colour => [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));

/** Moves a colour towards black or white until its contrast is at least 4.5. */
function readable(colour: Colour, behind: Colour, towards: number): string {
  for (let share = 0; ; share += 0.05) {
    const moved = colour.map((part) => Math.round(part + (towards - part) * Math.min(share, 1)));
    if (contrast(moved, behind) >= 4.5 || share >= 1) {
      return `#${moved.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
    }
  }
}

/** The background of links with the least contrast, for each colour scheme of the style sheet. */
const behind = { light: parse('e7f1f8'), dark: parse('223242') } as const;

/** Returns a style sheet with the clinic's colour, adjusted until it is readable. */
export function colourSheet(hex: string): string {
  const rule = (colour: string): string => `:root{--link:${colour};--strong:${colour}}`;
  const [light, dark] = [readable(parse(hex), behind.light, 0), readable(parse(hex), behind.dark, 255)];
  return `${rule(light)}@media (prefers-color-scheme:dark){${rule(dark)}}`;
}
