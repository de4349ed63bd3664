import arabic from './ar.json' with { type: 'json' };
import german from './de.json' with { type: 'json' };
import plainGerman from './de-simple.json' with { type: 'json' };
import { english } from './en.ts';
import russian from './ru.json' with { type: 'json' };
import turkish from './tr.json' with { type: 'json' };
import ukrainian from './uk.json' with { type: 'json' };

/** A text for each plural form of a language. */
type Plural = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string };

type Translation<T> = T extends string
  ? string
  : T extends { readonly one: string; readonly other: string }
    ? Plural
    : { readonly [K in keyof T]: Translation<T[K]> };

/** The words of the portal. */
export type Texts = Translation<typeof english>;

/** What is wrong with a field. */
export type FieldProblem = keyof Texts['problems'];

/** Why a booking was refused, as far as patients can do something about it. */
export type RefusalReason = keyof Texts['refusals'];

/** How an appointment stands, as patients read it. */
export type State = keyof Texts['states'];

/** The words of the portal, by language. */
export const textsOf = {
  de: german,
  'de-simple': plainGerman,
  en: english,
  tr: turkish,
  ar: arabic,
  uk: ukrainian,
  ru: russian,
} satisfies Readonly<Record<string, Texts>>;

/** A language of the portal. */
export type Language = keyof typeof textsOf;

/** Whether a text names a language of the portal. */
export const isLanguage = (text: string): text is Language => Object.hasOwn(textsOf, text);

/** The languages of the portal. */
export const languages = Object.keys(textsOf).filter(isLanguage);

/** Fills in what stands in braces in a text; `number` decides between plural forms. */
export type Say = (text: string | Plural, values: Readonly<Record<string, string | number>>) => string;

/** How texts are filled in, in the language of a locale. */
export function sayIn(locale: string): Say {
  const [plural, digits] = [new Intl.PluralRules(locale), new Intl.NumberFormat(locale)];
  return (text, values) => {
    const form = typeof text === 'string' ? text : (text[plural.select(Number(values.number))] ?? text.other);
    return form.replace(/\{(\w+)\}(\.?)/g, (braces, name: string, stop: string) => {
      const value = values[name];
      const said = typeof value === 'number' ? digits.format(value) : (value ?? braces.slice(0, name.length + 2));
      // A date may end with the stop of an abbreviation, which ends the sentence, too.
      return said.endsWith('.') ? said : said + stop;
    });
  };
}
