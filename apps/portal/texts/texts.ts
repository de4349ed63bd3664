import arabic from './ar.json' with { type: 'json' };
import german from './de.json' with { type: 'json' };
import plainGerman from './de-simple.json' with { type: 'json' };
import { english } from './en.ts';
import russian from './ru.json' with { type: 'json' };
import turkish from './tr.json' with { type: 'json' };
import ukrainian from './uk.json' with { type: 'json' };

type Plural = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string };

type Translation<T> = T extends string
  ? string
  : T extends { readonly one: string; readonly other: string }
    ? Plural
    : { readonly [K in keyof T]: Translation<T[K]> };

/** The texts of one language. */
export type Texts = Translation<typeof english>;

export type FieldProblem = keyof Texts['problems'];

/** The reason of a refusal, as patients read it. */
export type RefusalReason = keyof Texts['refusals'];

/** The state of an appointment, as patients read it. */
export type State = keyof Texts['states'];

/** The texts by language. */
export const textsOf = {
  de: german,
  'de-simple': plainGerman,
  en: english,
  tr: turkish,
  ar: arabic,
  uk: ukrainian,
  ru: russian,
} satisfies Readonly<Record<string, Texts>>;

export type Language = keyof typeof textsOf;

export const isLanguage = (text: string): text is Language => Object.hasOwn(textsOf, text);

export const languages = Object.keys(textsOf).filter(isLanguage);

/** Replaces the `{placeholders}` of a text; `number` selects the plural form. */
export type Say = (text: string | Plural, values: Readonly<Record<string, string | number>>) => string;

/** Returns `Say` with the plural rules and digits of a locale. */
export function sayIn(locale: string): Say {
  const [plural, digits] = [new Intl.PluralRules(locale), new Intl.NumberFormat(locale)];
  return (text, values) => {
    const form = typeof text === 'string' ? text : (text[plural.select(Number(values.number))] ?? text.other);
    return form.replace(/\{(\w+)\}(\.?)/g, (braces, name: string, stop: string) => {
      const value = values[name];
      const said = typeof value === 'number' ? digits.format(value) : (value ?? braces.slice(0, name.length + 2));
      // A date may end with the full stop of an abbreviation; the sentence gets no second one.
      return said.endsWith('.') ? said : said + stop;
    });
  };
}
