import type { DeskSettings } from '../settings.ts';

/** The settings that the server put into the page. */
export const settings: DeskSettings = JSON.parse(document.documentElement.dataset.settings ?? '{}');

/** The public part of the configuration. */
export const { config } = settings;
