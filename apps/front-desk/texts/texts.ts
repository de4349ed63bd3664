import type { Language } from '../../../packages/web/language.ts';
import { german } from './de.ts';
import { english, type Texts } from './en.ts';

/** The texts of the front desk by language. */
export const textsOf: Readonly<Record<Language, Texts>> = { en: english, de: german };
