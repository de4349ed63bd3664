import type { Language } from '../../../packages/web/language.ts';
import { german } from './de.ts';
import { english, type Texts } from './en.ts';

/** The words of the front desk in each language. */
export const textsOf: Readonly<Record<Language, Texts>> = { en: english, de: german };
