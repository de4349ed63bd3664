import type { DeskSettings } from '../settings.ts';

/** What the server has told the page. */
export const settings: DeskSettings = JSON.parse(document.documentElement.dataset.settings ?? '{}');

/** The part of the configuration that the page knows. */
export const { config } = settings;
