import type { Extension } from '@medplum/fhirtypes';
import { isObject } from '../../core/fhir/resource.ts';

/** The objects of a list; none if the stored value is not a list. */
export const listOf = <T>(value: readonly T[] | undefined): readonly T[] =>
  Array.isArray(value) ? value.filter((one) => one !== null && typeof one === 'object') : [];

/** A text that is not empty. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const TRANSLATION = 'http://hl7.org/fhir/StructureDefinition/translation';

/** An element with its translations, to be spread into a resource: `name` and `_name`. */
export const translatable = (element: string, text: string, translations: Readonly<Record<string, string>>) => ({
  [element]: text,
  [`_${element}`]: {
    extension: Object.entries(translations).map(([lang, content]) => ({
      url: TRANSLATION,
      extension: [
        { url: 'lang', valueCode: lang },
        { url: 'content', valueString: content },
      ],
    })),
  },
});

/** The text of an element in a language, by FHIR's extension `translation`; else as it is written. */
export function textIn(language: string | undefined, holder: object | undefined, element: string): string | undefined {
  const own: unknown = holder && Reflect.get(holder, `_${element}`);
  const extensions: readonly Extension[] = isObject(own) ? listOf(own.extension as Extension[]) : [];
  const translations = extensions.filter(({ url }) => url === TRANSLATION).map(({ extension }) => listOf(extension));
  const partOf = (parts: readonly Extension[], name: string) => parts.find(({ url }) => url === name);
  const inLanguage = (wanted: string | undefined): string | undefined =>
    wanted === undefined
      ? undefined
      : translations
          .filter((parts) => partOf(parts, 'lang')?.valueCode === wanted)
          .flatMap((parts) => textOf(partOf(parts, 'content')?.valueString) ?? [])[0];
  const plain = holder && textOf(Reflect.get(holder, element));
  return inLanguage(language) ?? inLanguage(language?.split('-')[0]) ?? plain;
}

/** The first extension with a URL. */
export const extensionIn = (all: readonly Extension[] | undefined, url: string | undefined): Extension | undefined =>
  listOf(all).find((extension) => url !== undefined && extension.url === url);

/** The parts of the first extension with a URL. */
export const partsOf = (all: readonly Extension[] | undefined, url: string | undefined): readonly Extension[] =>
  listOf(extensionIn(all, url)?.extension);
