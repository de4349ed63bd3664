import type { Language } from '../../server/language.ts';
import { german } from './de.ts';
import { english } from './en.ts';
import type { Texts } from './words.ts';

/** The words of the front desk in each language. */
export const textsOf: Readonly<Record<Language, Texts>> = { en: english, de: german };
