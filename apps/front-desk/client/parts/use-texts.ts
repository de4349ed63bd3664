import { createContext, useContext } from 'react';
import { isLanguage, type Language } from '../../../../packages/web/language.ts';
import type { Texts } from '../../texts/en.ts';
import { textsOf } from '../../texts/texts.ts';

const CHOICE = 'front-desk-language';

/** The language that was chosen in this browser, or else the browser's own. */
export function initialLanguage(): Language {
  const [own] = navigator.language.split('-');
  return [localStorage.getItem(CHOICE), own].find(isLanguage) ?? 'en';
}

/** Remembers the language in this browser. */
export const rememberLanguage = (language: Language): void => localStorage.setItem(CHOICE, language);

/** The texts of the page. */
export const TextsContext = createContext<Texts>(textsOf.en);

/** The texts of the page. */
export const useTexts = (): Texts => useContext(TextsContext);
